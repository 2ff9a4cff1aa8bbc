"""BPE training (Sennrich, Haddow and Birch, 2016), from scratch or on top of a vocabulary."""

import json
from collections.abc import Mapping
from itertools import groupby

from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, trainers

from dhyan.special_tokens import NAMES, UNK
from dhyan.text.pretokenization import (
    FIXED_TOKENS,
    WORD_SPLIT,
    frequent_characters,
    new_characters,
    with_word_mark,
)

Merge = tuple[str, str]
_FIRST_REPLACEMENT = 0x10000  # replaces piece 0; no code point from here on is white space


def train_bpe(texts: list[str], counts: Mapping[str, int], room: int) -> models.BPE:
    """A BPE model with the fixed tokens, which no text can match, and `room` more pieces."""
    characters = frequent_characters(counts, max(room // 2, 1))
    backend = Backend(models.BPE())
    backend.pre_tokenizer = with_word_mark(WORD_SPLIT)
    trainer = trainers.BpeTrainer(
        vocab_size=room,
        min_frequency=2,
        initial_alphabet=characters,
        limit_alphabet=len(characters),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    pieces, merges = read_bpe(backend)
    return _model([*FIXED_TOKENS, *pieces], merges)


def read_bpe(backend: Backend) -> tuple[list[str], list[Merge]]:
    """The pieces by their ids, and the merges in their order."""
    model = json.loads(backend.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return pieces, [(left, right) for left, right in model["merges"]]


def extend_bpe(backend: Backend, counts: Mapping[str, int], room: int) -> models.BPE:
    """Extend a BPE model: new characters, at most half of `room`, then merges after the old ones.

    The library cannot continue from a vocabulary, but it can train on words in which each piece of
    that vocabulary is replaced by one character: the merges found there are the new merges.
    """
    pieces, merges = read_bpe(backend)
    vocabulary, old = set(pieces), set(merges)
    characters = new_characters(counts, vocabulary, room // 2)
    pieces += characters
    for merge in _next_merges(pieces, merges, counts, room - len(characters)):
        if merge not in old:
            merges.append(merge)
        if (
            merged := "".join(merge)
        ) not in vocabulary:  # otherwise an old piece, merged in another way
            vocabulary.add(merged)
            pieces.append(merged)
    return _model(pieces, merges)


def _next_merges(
    pieces: list[str], merges: list[Merge], counts: Mapping[str, int], room: int
) -> list[Merge]:
    """The next merges of the words; none contains a byte token."""
    segmenter = Backend(_model(pieces, merges))
    used: set[str] = set()
    texts = []
    for encoding, count in zip(
        segmenter.encode_batch_fast(list(counts)), counts.values(), strict=True
    ):
        runs = groupby(encoding.ids, key=lambda id: id >= len(FIXED_TOKENS))
        words = [
            "".join(chr(_FIRST_REPLACEMENT + id) for id in run) for merged, run in runs if merged
        ]
        used.update(*words)
        texts += [f"{word} " * count for word in words]
    trained = Backend(models.BPE())
    trained.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=len(used) + room, min_frequency=2, show_progress=False)
    trained.train_from_iterator(texts, trainer)
    return [
        (_original(left, pieces), _original(right, pieces)) for left, right in read_bpe(trained)[1]
    ]


def _original(replaced: str, pieces: list[str]) -> str:
    return "".join(pieces[ord(character) - _FIRST_REPLACEMENT] for character in replaced)


def _model(pieces: list[str], merges: list[Merge]) -> models.BPE:
    ids = {piece: id for id, piece in enumerate(pieces)}
    return models.BPE(ids, merges, unk_token=NAMES[UNK], byte_fallback=True)
