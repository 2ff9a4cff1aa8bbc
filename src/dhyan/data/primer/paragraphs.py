"""Paragraphs of primer sentences: one to three statements about persons, joined by a space."""

import random
from collections.abc import Iterator, Sequence
from functools import cache
from itertools import islice

from dhyan.data.filters import distinct
from dhyan.data.pairs import Pair
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.sentence_pair import SentencePair
from dhyan.data.primer.splits import generate_sentences

MIN_WORDS, MAX_WORDS, CORE_SHARE = 3, 6, 0.1  # of a sentence, and of the primer's words
MAX_SENTENCES = 3  # of a paragraph
PATIENCE = 60  # sentences generated for each that is about a person

Paragraph = tuple[SentencePair, ...]


@cache
def person_sentences(split: str, count: int, *, seed: int) -> tuple[SentencePair, ...]:
    """Distinct statements of a split that begin with a person's name; at most `count`."""
    generated = islice(
        generate_sentences(
            split, seed=seed, min_words=MIN_WORDS, max_words=MAX_WORDS, core_share=CORE_SHARE
        ),
        PATIENCE * count,
    )
    statements = (
        pair for pair in generated if person_of(pair) in person_names() and pair.english[-1] == "."
    )
    return tuple(distinct(statements, lambda pair: pair.english, count))


def make_paragraphs(
    sentences: Sequence[SentencePair], *, seed: int, least: int = 1, most: int = MAX_SENTENCES
) -> Iterator[Paragraph]:
    """Paragraphs of `least` to `most` sentences; endless.

    In half of those with several sentences the last is about the person of the first.
    """
    rng = random.Random(seed)
    by_person: dict[str, list[SentencePair]] = {}
    for pair in sentences:
        by_person.setdefault(person_of(pair), []).append(pair)
    while True:
        paragraph = [rng.choice(sentences) for _ in range(rng.randint(least, most))]
        person, same = person_of(paragraph[0]), rng.random() < 0.5
        while len(paragraph) > 1 and (person_of(paragraph[-1]) == person) != same:
            paragraph[-1] = rng.choice(by_person[person] if same else sentences)
        yield tuple(paragraph)


def paragraph_pair(paragraph: Paragraph, line: int = 1) -> Pair:
    """The paragraph in English and in Hindi."""
    return Pair(
        " ".join(pair.english for pair in paragraph),
        " ".join(pair.hindi for pair in paragraph),
        line,
    )


def person_of(pair: SentencePair) -> str:
    """The first word of the English sentence, the person that a statement here is about."""
    return pair.english.split()[0]


@cache
def person_names() -> frozenset[str]:
    """First names of the lexicon, in English."""
    return frozenset(name.english for name in read_lexicon().names)
