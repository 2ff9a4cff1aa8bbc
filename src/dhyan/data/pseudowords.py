"""Pseudowords of Devanagari: any letter beside any other, so that a reader must look at each."""

import random

CONSONANTS = tuple("कखगघचछजझञटठडढणतथदधनपफबभमयरलवशषसह") + tuple(f"{letter}़" for letter in "कखगजडढफ")
VOWELS = "अआइईउऊऋएऐओऔऑ"
SIGNS = "ािीुूृेैोौॉ"
VIRAMA, MARKS = "्", "ंँः"
PUNCTUATION = ("।", "?", "!", ",", ".", "-", "'", '"')
MOST_CLUSTERS = 6  # of a word


def pseudoword(rng: random.Random) -> str:
    """A word of one to six clusters, at times a number, at times with a punctuation mark after it."""
    if rng.random() < 0.06:
        return "".join(rng.choices("0123456789", k=rng.randint(1, 4)))
    word = "".join(_cluster(rng) for _ in range(rng.randint(1, MOST_CLUSTERS)))
    return word + (rng.choice(PUNCTUATION) if rng.random() < 0.1 else "")


def _cluster(rng: random.Random) -> str:
    """A vowel, or one to three consonants joined by viramas with a vowel sign; at times a mark."""
    mark = rng.choices(MARKS, (6, 2, 1))[0] if rng.random() < 0.12 else ""
    if rng.random() < 0.1:
        return rng.choice(VOWELS) + mark
    [joined] = rng.choices((1, 2, 3), (82, 16, 2))
    consonants = VIRAMA.join(rng.choice(CONSONANTS) for _ in range(joined))
    sign = rng.choice(SIGNS) if rng.random() < 0.65 else ""
    return consonants + sign + mark
