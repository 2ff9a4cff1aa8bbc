"""Paragraphs for two readers: facts, summaries in other words, and what is held out."""

import itertools
import random

from dhyan.data.perspectives import (
    READERS,
    TransformerFacts,
    draw_facts,
    is_held_out_paragraph,
    perspective_pair,
    perspective_pairs,
    reader_of,
)


def words(text):
    return {*text.lower().replace(".", " ").replace(":", " ").split()}


def test_summaries_follow_from_the_facts():
    facts = TransformerFacts(ratio=2, heat=0, price=1, noise=5)
    assert facts.summary("engineer") == "Lowers voltage efficiently."
    assert facts.summary("shopper") == "Affordable but noisy: hesitate."
    other = TransformerFacts(ratio=3, heat=4, price=3, noise=4)
    assert other.summary("engineer") == "Raises voltage wastefully."
    assert other.summary("shopper") == "Expensive and noisy: avoid."
    assert TransformerFacts(0, 0, 0, 0).summary("shopper") == "Affordable and quiet: buy."
    assert TransformerFacts(0, 0, 4, 0).summary("shopper") == "Expensive but quiet: hesitate."


def test_no_word_of_a_summary_is_in_its_paragraph():
    rng = random.Random(1)
    for _ in range(300):
        facts = draw_facts(rng)
        paragraph = " ".join(facts.sentences(rng))
        for reader in READERS:
            assert not words(facts.summary(reader)) & words(paragraph)


def test_every_reader_depends_on_sentences_of_its_own():
    rng = random.Random(2)
    for _ in range(50):
        needed = [reader_of(sentence) for sentence in draw_facts(rng).sentences(rng)]
        assert sorted(map(str, needed)) == ["None", "None", *["engineer"] * 2, *["shopper"] * 2]


def test_pairs_come_for_both_readers_and_none_is_held_out():
    pairs = list(itertools.islice(perspective_pairs(seed=3), 2000))
    assert pairs == list(itertools.islice(perspective_pairs(seed=3), 2000))
    for first, second in zip(pairs[::2], pairs[1::2], strict=True):
        assert first.source.removeprefix("engineer: ") == second.source.removeprefix("shopper: ")
    for pair in pairs:
        reader, paragraph = pair.source.split(": ", 1)
        assert reader in READERS
        assert not is_held_out_paragraph(paragraph)


def test_some_sentences_never_occur_together_in_training():
    pairs = list(itertools.product(range(6), range(6)))
    for reader, make in (
        ("engineer", lambda a, b: TransformerFacts(a, b, 0, 1)),
        ("shopper", lambda a, b: TransformerFacts(0, 1, a, b)),
    ):
        new = [pair for pair in pairs if make(*pair).new_for(reader)]
        assert len(new) == 6
        assert {a for a, _ in new} == {b for _, b in new} == {*range(6)}
    facts = TransformerFacts(0, 1, 0, 1)
    assert perspective_pair("shopper", "A. B.", facts).source == "shopper: A. B."
