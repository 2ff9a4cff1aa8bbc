"""Paragraphs on an electrical transformer and two abstractive summaries, one for each reader.

A paragraph tells facts by example ("Pocket money pays for it."); a summary names what they amount
to ("Affordable but noisy"), in words that the paragraph does not have.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal
from zlib import crc32

from dhyan.data.pairs import Pair

Reader = Literal["engineer", "shopper"]
READERS: tuple[Reader, ...] = ("engineer", "shopper")
TURNS = (50, 100, 200, 300, 400, 600, 800, 900)  # of a winding
COOL, CHEAP, QUIET = (
    (
        "The iron stays cold all day.",
        "One can touch the case after hours of work.",
        "Thin sheets keep the core cool.",
    ),
    (
        "It costs less than a lamp.",
        "Pocket money pays for it.",
        "The shop nearly gives it away.",
    ),
    (
        "A baby sleeps beside it.",
        "One hears nothing at night.",
        "It works as softly as a cat.",
    ),
)
HOT, DEAR, LOUD = (
    (
        "The iron glows under load.",
        "The case burns every hand.",
        "Smoke rises from the core.",
    ),
    (
        "It costs as much as a car.",
        "One saves for years to own it.",
        "Only a bank can pay for it.",
    ),
    (
        "It hums like a plane.",
        "The people next door complain at night.",
        "Windows shake when it starts.",
    ),
)
OTHER = (
    "It is painted green.",
    "It stands behind the school.",
    "A truck brought it on Monday.",
    "The maker lives in Pune.",
    "Two men carried it upstairs.",
    "A lid covers the screws.",
)


@dataclass(frozen=True)
class TransformerFacts:
    """What a paragraph tells: turns of both windings, and the numbers of three sentences.

    A sentence below 3 is of the first kind (cool, cheap, quiet), from 3 on of the second.
    """

    turns: tuple[int, int]
    heat: int
    price: int
    noise: int

    @property
    def new_together(self) -> bool:
        """Whether its turns, or its price and noise, never occur together in training."""
        first, second = (TURNS.index(turns) for turns in self.turns)
        return (first + 3 * second) % 8 == 0 or (self.price + self.noise) % 6 == 0

    def summary(self, reader: Reader) -> str:
        """The summary for a reader."""
        first, second = self.turns
        if reader == "engineer":
            change = "Raises" if second > first else "Lowers" if second < first else "Keeps"
            return f"{change} voltage {'wastefully' if self.heat >= 3 else 'efficiently'}."
        dear, loud = self.price >= 3, self.noise >= 3
        verdict = "avoid" if dear and loud else "hesitate" if dear or loud else "buy"
        price, noise = "Expensive" if dear else "Affordable", "noisy" if loud else "quiet"
        return f"{price} {'and' if dear == loud else 'but'} {noise}: {verdict}."

    def sentences(self, rng: random.Random) -> list[str]:
        """The sentences of a paragraph, in random order, with one that no summary needs."""
        first, second = self.turns
        sentences = [
            f"The input winding has {first} turns.",
            f"The output winding has {second} turns.",
            (*COOL, *HOT)[self.heat],
            (*CHEAP, *DEAR)[self.price],
            (*QUIET, *LOUD)[self.noise],
            rng.choice(OTHER),
        ]
        rng.shuffle(sentences)
        return sentences


def draw_facts(rng: random.Random) -> TransformerFacts:
    """Random facts; each kind is as frequent as the other."""
    turns = rng.choice(TURNS), rng.choice(TURNS)
    return TransformerFacts(turns, rng.randrange(6), rng.randrange(6), rng.randrange(6))


def perspective_pairs(*, seed: int) -> Iterator[Pair]:
    """A reader with a paragraph, and the summary for this reader; endless.

    Paragraphs that `is_held_out_paragraph` holds out, and facts that are `new_together`, are left
    out. The source begins with the reader, as in "engineer: The maker …".
    """
    rng = random.Random(seed)
    line = 1
    while True:
        facts = draw_facts(rng)
        paragraph = " ".join(facts.sentences(rng))
        if facts.new_together or is_held_out_paragraph(paragraph):
            continue
        for reader in READERS:
            yield perspective_pair(reader, paragraph, facts, line)
            line += 1


def perspective_pair(
    reader: Reader, paragraph: str, facts: TransformerFacts, line: int = 1
) -> Pair:
    """A reader with a paragraph, and the summary."""
    return Pair(f"{reader}: {paragraph}", facts.summary(reader), line)


def is_held_out_paragraph(paragraph: str) -> bool:
    """Whether a paragraph is never trained on, for any reader: one in ten by its checksum."""
    return crc32(paragraph.encode()) % 10 == 0


def reader_of(sentence: str) -> Reader | None:
    """The reader whose summary depends on a sentence; None for one that no summary needs."""
    if sentence in (*COOL, *HOT) or " winding has " in sentence:
        return "engineer"
    return "shopper" if sentence in (*CHEAP, *DEAR, *QUIET, *LOUD) else None
