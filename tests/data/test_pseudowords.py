"""Invented words: every one is made of whole clusters, and all letters occur."""

import random

from dhyan.data.pseudowords import (
    CONSONANTS,
    MARKS,
    MOST_CLUSTERS,
    PUNCTUATION,
    SIGNS,
    VIRAMA,
    VOWELS,
    pseudoword,
)
from dhyan.data.rendered_text import hindi_lines
from dhyan.text.grapheme_clusters import grapheme_clusters

WORDS = [pseudoword(random.Random(seed)) for seed in range(3000)]


def test_a_word_is_a_number_or_a_few_clusters_each_with_its_own_letter():
    letters = {consonant[0] for consonant in CONSONANTS} | set(VOWELS)
    for word in WORDS:
        clusters = list(grapheme_clusters(word.rstrip("".join(PUNCTUATION))))
        assert 1 <= len(clusters) <= MOST_CLUSTERS
        assert word.isdecimal() or all(cluster[0] in letters for cluster in clusters)
        assert not any(cluster.endswith(VIRAMA) for cluster in clusters)


def test_every_letter_sign_and_mark_occurs():
    assert {*"".join(CONSONANTS), *VOWELS, *SIGNS, *MARKS, *PUNCTUATION} <= set("".join(WORDS))


def test_lines_keep_their_other_words():
    plain, changed = (hindi_lines(seed=1, pseudowords=share) for share in (0.0, 1.0))
    pairs = [(next(plain).split(), next(changed).split()) for _ in range(60)]
    assert all(len(one) == len(other) for one, other in pairs)
    same = [one == other for pair in pairs for one, other in zip(*pair, strict=True)]
    assert any(same)
    assert not all(same)
