"""Deterministic training of a unigram language model tokenizer (Kudo, 2018)."""

import json
from collections import Counter
from collections.abc import Mapping
from math import inf, log

from tokenizers import Tokenizer as Backend
from tokenizers import models

from dhyan.special_tokens import NAMES, UNK
from dhyan.text.pretokenization import (
    FIXED_TOKENS,
    by_frequency,
    frequent_characters,
    new_characters,
)

MAX_PIECE_LENGTH = 16
MAX_WORDS = 100_000


def train_unigram(counts: Mapping[str, int], room: int) -> models.Unigram:
    """Unigram training (Kudo, 2018) with hard EM: counts of the best segmentations are integers.

    The trainer of the library sums expected counts in an order that changes from run to run.
    """
    scores = _train(counts, frequent_characters(counts, max(room // 2, 1)), room, {})
    return _model(
        [*((name, 0.0) for name in FIXED_TOKENS), *((p, scores[p]) for p in by_frequency(scores))]
    )


def extend_unigram(backend: Backend, counts: Mapping[str, int], room: int) -> models.Unigram:
    """Extend a unigram model: pieces with their scores; the old ones keep theirs.

    New characters take at most half of `room`.
    """
    old = [(piece, score) for piece, score in json.loads(backend.to_str())["model"]["vocab"]]
    fixed_scores = dict(old[len(FIXED_TOKENS) :])
    scores = _train(counts, new_characters(counts, fixed_scores, room // 2), room, fixed_scores)
    return _model([*old, *((piece, scores[piece]) for piece in by_frequency(scores))])


def _train(
    counts: Mapping[str, int], characters: list[str], room: int, fixed_scores: Mapping[str, float]
) -> dict[str, float]:
    """Scores of the characters and of as many longer pieces as fit; `fixed_scores` stay."""
    words = {word: counts[word] for word in by_frequency(counts)[:MAX_WORDS]}
    piece_counts = _substrings(words)
    alphabet = {*characters, *fixed_scores}
    candidates = {
        part: n
        for part, n in piece_counts.items()
        if n > len(part) > 1 and part not in fixed_scores and alphabet.issuperset(part)
    }
    pieces = by_frequency(candidates)[: 4 * room]
    while True:
        scores = {**_log_probs(piece_counts, [*fixed_scores, *characters, *pieces]), **fixed_scores}
        piece_counts = _piece_counts(words, scores)
        pieces = [piece for piece in pieces if piece_counts[piece]]
        if len(characters) + len(pieces) <= room:
            break
        loss = {
            piece: piece_counts[piece] * (scores[piece] - _score_without(piece, scores))
            for piece in pieces
        }
        pieces = by_frequency(loss)[: max(room - len(characters), len(pieces) * 3 // 4)]
    scores = _log_probs(piece_counts, [*fixed_scores, *characters, *pieces])
    return {piece: scores[piece] for piece in (*characters, *pieces)}


def _model(pieces: list[tuple[str, float]]) -> models.Unigram:
    return models.Unigram(pieces, UNK, byte_fallback=True)


def _substrings(words: Mapping[str, int]) -> Counter[str]:
    """How many characters each substring of the words covers."""
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for start in range(len(word)):
            for stop in range(start + 1, min(start + MAX_PIECE_LENGTH, len(word)) + 1):
                parts[word[start:stop]] += count * (stop - start)
    return parts


def _piece_counts(words: Mapping[str, int], scores: Mapping[str, float]) -> Counter[str]:
    """How often each piece occurs in the best segmentation of the words."""
    pieces = [NAMES[UNK], *scores]
    segmenter = Backend(models.Unigram([(piece, scores.get(piece, 0.0)) for piece in pieces], 0))
    used: Counter[str] = Counter()
    for encoding, count in zip(
        segmenter.encode_batch_fast(list(words)), words.values(), strict=True
    ):
        for id in encoding.ids:
            used[pieces[id]] += count
    return used


def _score_without(piece: str, scores: Mapping[str, float]) -> float:
    """The best score of a piece segmented into other pieces."""
    best = [0.0]
    for stop in range(1, len(piece) + 1):
        starts = range(stop == len(piece), stop)
        best.append(max(best[at] + scores.get(piece[at:stop], -inf) for at in starts))
    return best[-1]


def _log_probs(counts: Mapping[str, int], pieces: list[str]) -> dict[str, float]:
    total = log(sum(counts[piece] for piece in pieces) or 1)
    return {piece: round(log(counts[piece] or 0.5) - total, 6) for piece in pieces}
