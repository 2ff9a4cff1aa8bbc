"""The core vocabulary of the primer: a small one whose words combine with many others."""

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


def test_a_share_of_one_is_the_whole_lexicon():
    core, lexicon = core_words(1.0), read_lexicon()
    assert {*lexicon.verbs, *lexicon.adjectives, *lexicon.words.values()} <= core


def test_cores_are_nested():
    assert core_words(0.1) < core_words(0.2) < core_words(0.7)


def test_verbs_of_a_small_core_have_many_objects_in_it():
    core = core_words(0.15)
    verbs = [verb for verb in read_lexicon().verbs if verb.objects and verb in core]
    objects = sum(sum(noun in core for noun in verb.object_nouns) for verb in verbs)
    assert objects > 15 * len(verbs)


def test_a_short_list_has_its_first_words_in_the_core():
    for verb in read_lexicon().verbs:
        choices = core_choices(verb.object_nouns, 0.05)
        assert len(choices) >= min(MIN_WORDS, len(verb.object_nouns))
        assert choices == tuple(noun for noun in verb.object_nouns if noun in choices)


def test_unseen_pairs_are_of_core_words():
    core, lexicon = core_words(0.1), read_lexicon()
    held_out = {
        noun.english[-1]
        for verb in lexicon.verbs
        for noun in held_out_objects(verb)
        if verb in core and noun in core
    }
    assert len(held_out) > 5
    pairs = islice(generate_sentences("unseen", max_words=12, core_share=0.1), 200)
    assert (
        len(held_out & {word for pair in pairs for word in pair.english.rstrip(".?").split()}) > 4
    )


def test_a_small_core_has_few_ambiguous_words():
    assert (
        set(ambiguous_words(0.15))
        < set(ambiguous_words(0.5))
        < set(ambiguous_words())
        == set(read_lexicon().senses)
    )
    assert "bank" in ambiguous_words(0.01)
    pairs = islice(generate_sentences("context", core_share=0.15), 100)
    assert {check.about for pair in pairs for check in pair.checks} == set(ambiguous_words(0.15))
