"""Learning a unigram vocabulary (Kudo, 2018) that comes out the same every time."""

import json
from collections import Counter
from collections.abc import Mapping
from math import inf, log

from tokenizers import Tokenizer as Backend
from tokenizers import models

from dhyan.special_tokens import NAMES, UNK
from dhyan.text.vocabulary import GIVEN, alphabet, by_count, new_letters

LONGEST_PIECE = 16
MOST_WORDS = 100_000


def learn_unigram(counts: Mapping[str, int], room: int) -> models.Unigram:
    """Kudo (2018) in whole numbers: each word is counted as it is best cut, not as it might be.

    The library's own trainer adds up fractions in an order that changes from run to run.
    """
    scores = _learned(counts, alphabet(counts, max(room // 2, 1)), room, {})
    return _model([*((name, 0.0) for name in GIVEN), *((p, scores[p]) for p in by_count(scores))])


def extend_unigram(backend: Backend, counts: Mapping[str, int], room: int) -> models.Unigram:
    """Add pieces with their scores; the old ones keep theirs, and are used where they are better.

    New letters take half of the room at most.
    """
    old = [(piece, score) for piece, score in json.loads(backend.to_str())["model"]["vocab"]]
    known = dict(old[len(GIVEN) :])
    scores = _learned(counts, new_letters(counts, known, room // 2), room, known)
    return _model([*old, *((piece, scores[piece]) for piece in by_count(scores))])


def _learned(
    counts: Mapping[str, int], letters: list[str], room: int, known: Mapping[str, float]
) -> dict[str, float]:
    """The letters and as many longer pieces as there is room for, beside those that are known."""
    words = {word: counts[word] for word in by_count(counts)[:MOST_WORDS]}
    used = _parts(words)
    spelt = {*letters, *known}
    often = {
        part: n
        for part, n in used.items()
        if n > len(part) > 1 and part not in known and spelt.issuperset(part)
    }
    longer = by_count(often)[: 4 * room]
    while True:
        scores = {**_logarithms(used, [*known, *letters, *longer]), **known}
        used = _used(words, scores)
        longer = [piece for piece in longer if used[piece]]
        if len(letters) + len(longer) <= room:
            break
        loss = {piece: used[piece] * (scores[piece] - _without(piece, scores)) for piece in longer}
        longer = by_count(loss)[: max(room - len(letters), len(longer) * 3 // 4)]
    scores = _logarithms(used, [*known, *letters, *longer])
    return {piece: scores[piece] for piece in (*letters, *longer)}


def _model(pieces: list[tuple[str, float]]) -> models.Unigram:
    return models.Unigram(pieces, UNK, byte_fallback=True)


def _parts(words: Mapping[str, int]) -> Counter[str]:
    """The letters that every part of a word accounts for."""
    parts: Counter[str] = Counter()
    for word, count in words.items():
        for start in range(len(word)):
            for stop in range(start + 1, min(start + LONGEST_PIECE, len(word)) + 1):
                parts[word[start:stop]] += count * (stop - start)
    return parts


def _used(words: Mapping[str, int], scores: Mapping[str, float]) -> Counter[str]:
    """How often each piece stands in the words when all are cut in the best way."""
    pieces = [NAMES[UNK], *scores]
    cutter = Backend(models.Unigram([(piece, scores.get(piece, 0.0)) for piece in pieces], 0))
    used: Counter[str] = Counter()
    for encoding, count in zip(cutter.encode_batch_fast(list(words)), words.values(), strict=True):
        for id in encoding.ids:
            used[pieces[id]] += count
    return used


def _without(piece: str, scores: Mapping[str, float]) -> float:
    """The best score of a piece written with other pieces."""
    best = [0.0]
    for stop in range(1, len(piece) + 1):
        starts = range(stop == len(piece), stop)
        best.append(max(best[at] + scores.get(piece[at:stop], -inf) for at in starts))
    return best[-1]


def _logarithms(counts: Mapping[str, int], pieces: list[str]) -> dict[str, float]:
    total = log(sum(counts[piece] for piece in pieces) or 1)
    return {piece: round(log(counts[piece] or 0.5) - total, 6) for piece in pieces}
