"""Linked clauses of one topic, and Hindi usage that a reader of the primer asked for."""

from functools import cache
from itertools import islice

import pytest

from dhyan.data.primer import SentencePair, generate_sentences
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.reasons import CONNECTIVES, linked_clauses, topics
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.sentence_pair import ROOT, join_words
from dhyan.data.primer.stative_clauses import predicate_adjectives


@cache
def sample() -> tuple[SentencePair, ...]:
    return tuple(islice(generate_sentences("train", everyday_share=0, seed=5), 4000))


def linked(connective: str, seed: int, time: str = "past") -> tuple[str, str]:
    clause = linked_clauses(SentenceBuilder(seed), 3, time, connective, parent=ROOT)
    return join_words(clause.english), join_words(clause.hindi)


@pytest.mark.parametrize("time", ["past", "present"])
@pytest.mark.parametrize("connective", CONNECTIVES)
def test_linked_clauses_have_their_connective_in_both_languages(connective: str, time: str) -> None:
    for seed in range(100):
        english, hindi = linked(connective, seed, time)
        assert f" {connective} " in f" {english.lower()} "
        assert CONNECTIVES[connective] in hindi.split()


def test_a_contrast_denies_what_a_cause_explains() -> None:
    for seed in range(100):
        negations = [
            linked(connective, seed)[1].split().count("नहीं") for connective in ("so", "but")
        ]
        assert sorted(negations) in ([0, 1], [1, 2]), seed


def test_every_topic_has_an_action_for_each_of_its_causes() -> None:
    for topic in topics():
        for cause in topic.causes:
            objects = [
                adjective.english
                for action in topic.actions
                for noun in action.nouns
                for adjective in predicate_adjectives(noun)
            ]
            assert cause.kind != "it" or (cause.word,) in objects, cause


def test_a_comma_precedes_lekin_and_isliye() -> None:
    words = [(pair, pair.hindi.split()) for pair in sample()]
    found = [
        (pair.hindi, hindi[position - 1])
        for pair, hindi in words
        for position, word in enumerate(hindi)
        if word in ("लेकिन", "इसलिए")
    ]
    assert len(found) > 100
    assert [text for text, before in found if not before.endswith(",")] == []


def test_who_stands_right_before_the_verb() -> None:
    questions = [pair for pair in sample() if pair.english.startswith("Who ")]
    assert len(questions) > 20
    assert not [
        pair.hindi
        for pair in questions
        if pair.hindi.split()[0] == "कौन" and "को" in pair.hindi.split()
    ]


def test_a_negated_object_with_an_article_is_koi() -> None:
    """Not … a: कोई … नहीं; where there is an एक, the article belongs to another noun."""
    pairs = [pair for pair in sample() if " not want a " in pair.english]
    pairs += [pair for pair in sample() if " not want an " in pair.english]
    assert pairs
    for pair in pairs:
        assert "कोई" in pair.hindi.split(), pair.hindi


def test_a_change_of_state_has_its_vector_verb_unless_it_is_negated() -> None:
    rot, lose = read_lexicon().verb("rot"), read_lexicon().verb("lose", read_lexicon().noun("ring"))
    assert rot.perfective(0) == ("सड़", "गया")
    assert rot.perfective(2, auxiliary=True) == ("सड़", "गई")
    assert rot.perfective(0, negated=True) == ("सड़ा",)
    assert lose.perfective(2) == ("खो", "दी")


@pytest.mark.parametrize(
    ("english", "hindi"),
    [
        (("run",), ("दौड़कर",)),
        (("sail", "across"), ("नाव", "से")),
    ],
)
def test_words_of_a_verb_may_precede_its_goal_or_object(
    english: tuple[str, ...], hindi: tuple[str, ...]
) -> None:
    verb = next(verb for verb in read_lexicon().verbs if verb.english.base == english)
    assert verb.hindi.before[: verb.apart] == hindi
