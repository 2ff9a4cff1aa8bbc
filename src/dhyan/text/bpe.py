"""Learning byte pairs (Sennrich, Haddow and Birch, 2016), from nothing or on top of others."""

import json
from collections.abc import Mapping
from itertools import groupby

from tokenizers import Tokenizer as Backend
from tokenizers import models, pre_tokenizers, trainers

from dhyan.special_tokens import NAMES, UNK
from dhyan.text.pretokenize import WORDS, after_marking
from dhyan.text.vocabulary import GIVEN, alphabet, new_letters

Merge = tuple[str, str]
_STAND_IN = 0x10000  # the character that stands for piece 0; none from here on is white space


def learn_byte_pairs(texts: list[str], counts: Mapping[str, int], room: int) -> models.BPE:
    """Specials and bytes are plain entries, which no text can match."""
    letters = alphabet(counts, max(room // 2, 1))
    backend = Backend(models.BPE())
    backend.pre_tokenizer = after_marking(WORDS)
    trainer = trainers.BpeTrainer(
        vocab_size=room,
        min_frequency=2,
        initial_alphabet=letters,
        limit_alphabet=len(letters),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    pieces, merges = read_byte_pairs(backend)
    return _model([*GIVEN, *pieces], merges)


def read_byte_pairs(backend: Backend) -> tuple[list[str], list[Merge]]:
    """The pieces by their ids, and the merges in their order."""
    model = json.loads(backend.to_str())["model"]
    pieces = sorted(model["vocab"], key=model["vocab"].__getitem__)
    return pieces, [(left, right) for left, right in model["merges"]]


def extend_byte_pairs(backend: Backend, counts: Mapping[str, int], room: int) -> models.BPE:
    """Add new letters, in half of the room at most, then merges that come after all the old ones.

    The library cannot learn on from a vocabulary, but it can learn from words in which each piece
    of that vocabulary is one character: what it merges there is merged here.
    """
    pieces, merges = read_byte_pairs(backend)
    known, old = set(pieces), set(merges)
    letters = new_letters(counts, known, room // 2)
    pieces += letters
    for merge in _learned_on(pieces, merges, counts, room - len(letters)):
        if merge not in old:
            merges.append(merge)
        if (whole := "".join(merge)) not in known:  # or else an old piece, put together otherwise
            known.add(whole)
            pieces.append(whole)
    return _model(pieces, merges)


def _learned_on(
    pieces: list[str], merges: list[Merge], counts: Mapping[str, int], room: int
) -> list[Merge]:
    """The merges that the words would have next; none takes up a byte."""
    cutter = Backend(_model(pieces, merges))
    seen: set[str] = set()
    texts = []
    for encoding, count in zip(
        cutter.encode_batch_fast(list(counts)), counts.values(), strict=True
    ):
        runs = groupby(encoding.ids, key=lambda id: id >= len(GIVEN))
        words = ["".join(chr(_STAND_IN + id) for id in run) for whole, run in runs if whole]
        seen.update(*words)
        texts += [f"{word} " * count for word in words]
    learner = Backend(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    trainer = trainers.BpeTrainer(vocab_size=len(seen) + room, min_frequency=2, show_progress=False)
    learner.train_from_iterator(texts, trainer)
    return [
        (_meant(left, pieces), _meant(right, pieces)) for left, right in read_byte_pairs(learner)[1]
    ]


def _meant(standing: str, pieces: list[str]) -> str:
    return "".join(pieces[ord(character) - _STAND_IN] for character in standing)


def _model(pieces: list[str], merges: list[Merge]) -> models.BPE:
    ids = {piece: id for id, piece in enumerate(pieces)}
    return models.BPE(ids, merges, unk_token=NAMES[UNK], byte_fallback=True)
