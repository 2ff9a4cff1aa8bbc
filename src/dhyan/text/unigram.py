"""Learning a unigram vocabulary (Kudo, 2018) that comes out the same every time."""

from collections import Counter
from collections.abc import Mapping
from math import inf, log

from tokenizers import Tokenizer as Backend
from tokenizers import models

from dhyan.special import NAMES, UNK
from dhyan.text.pieces import GIVEN, alphabet, by_count

LONGEST_PIECE = 16
MOST_WORDS = 100_000


def learn_unigram(counts: Mapping[str, int], room: int) -> models.Unigram:
    """Kudo (2018) in whole numbers: each word is counted as it is best cut, not as it might be.

    The library's own trainer adds up fractions in an order that changes from run to run.
    """
    words = {word: counts[word] for word in by_count(counts)[:MOST_WORDS]}
    letters = alphabet(counts, max(room // 2, 1))
    used = _parts(words)
    known = set(letters)
    often = {part: n for part, n in used.items() if n > len(part) > 1 and known.issuperset(part)}
    longer = by_count(often)[: 4 * room]
    while True:
        scores = _logarithms(used, [*letters, *longer])
        used = _used(words, scores)
        longer = [piece for piece in longer if used[piece]]
        if len(letters) + len(longer) <= room:
            break
        loss = {piece: used[piece] * (scores[piece] - _without(piece, scores)) for piece in longer}
        longer = by_count(loss)[: max(room - len(letters), len(longer) * 3 // 4)]
    scores = _logarithms(used, [*letters, *longer])
    pieces = [*((name, 0.0) for name in GIVEN), *((p, scores[p]) for p in by_count(scores))]
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
    total = log(sum(counts[piece] for piece in pieces))
    return {piece: round(log(counts[piece] or 0.5) - total, 6) for piece in pieces}
