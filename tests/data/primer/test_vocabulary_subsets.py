"""The core of the primer's words: small, and yet one in which words meet many others."""

from itertools import islice

import pytest

from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.splits import generate_sentences
from dhyan.data.primer.vocabulary_subsets import (
    MIN_WORDS,
    ambiguous_words,
    core_choices,
    core_words,
    held_out_objects,
)


@pytest.mark.parametrize("share", [0.02, 0.15, 0.5])
def test_every_word_class_gives_its_share_to_the_core(share):
    core, lexicon = core_words(share), read_lexicon()
    for words in (lexicon.names, lexicon.adjectives, lexicon.verbs, *lexicon.nouns.values()):
        members = sum(word in core for word in words)
        assert share * len(words) <= members <= share * len(words) + 2


def test_all_of_it_is_all():
    core, lexicon = core_words(1.0), read_lexicon()
    assert {*lexicon.verbs, *lexicon.adjectives, *lexicon.words.values()} <= core


def test_a_smaller_core_is_part_of_a_larger_one():
    assert core_words(0.1) < core_words(0.2) < core_words(0.7)


def test_verbs_of_a_small_core_still_have_many_objects_in_it():
    core = core_words(0.15)
    verbs = [verb for verb in read_lexicon().verbs if verb.objects and verb in core]
    met = sum(sum(noun in core for noun in verb.object_nouns) for verb in verbs)
    assert met > 15 * len(verbs)


def test_a_list_too_small_for_its_core_keeps_its_first_words():
    for verb in read_lexicon().verbs:
        left = core_choices(verb.object_nouns, 0.05)
        assert len(left) >= min(MIN_WORDS, len(verb.object_nouns))
        assert left == tuple(noun for noun in verb.object_nouns if noun in left)


def test_unseen_pairings_are_of_words_of_the_core():
    core, lexicon = core_words(0.1), read_lexicon()
    held = {
        noun.english[-1]
        for verb in lexicon.verbs
        for noun in held_out_objects(verb)
        if verb in core and noun in core
    }
    assert len(held) > 5
    twins = islice(generate_sentences("unseen", max_words=12, core_share=0.1), 200)
    assert len(held & {word for twin in twins for word in twin.english.rstrip(".?").split()}) > 4


def test_a_core_has_few_words_of_several_meanings_and_bank_is_one_of_them():
    assert (
        set(ambiguous_words(0.15))
        < set(ambiguous_words(0.5))
        < set(ambiguous_words())
        == set(read_lexicon().senses)
    )
    assert "bank" in ambiguous_words(0.01)
    twins = islice(generate_sentences("context", core_share=0.15), 100)
    assert {one.about for twin in twins for one in twin.checks} == set(ambiguous_words(0.15))
