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
LOWERS, COOL, CHEAP, QUIET = (
    (
        "The output winding has half the turns of the input.",
        "Four thousand turns face only forty.",
        "The second coil is much shorter.",
    ),
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
RAISES, HOT, DEAR, LOUD = (
    (
        "The output winding has twice the turns of the input.",
        "Only forty turns face four thousand.",
        "The second coil is much longer.",
    ),
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
    """What a paragraph tells, by the numbers of four sentences.

    A sentence below 3 is of the first kind (lowers, cool, cheap, quiet), from 3 on of the second.
    """

    ratio: int
    heat: int
    price: int
    noise: int

    def new_for(self, reader: Reader) -> bool:
        """Whether the two sentences that a reader needs never occur together in training."""
        needed = (self.ratio, self.heat) if reader == "engineer" else (self.price, self.noise)
        return sum(needed) % 6 == 0

    def summary(self, reader: Reader) -> str:
        """The summary for a reader."""
        if reader == "engineer":
            change = "Raises" if self.ratio >= 3 else "Lowers"
            return f"{change} voltage {'wastefully' if self.heat >= 3 else 'efficiently'}."
        dear, loud = self.price >= 3, self.noise >= 3
        verdict = "avoid" if dear and loud else "hesitate" if dear or loud else "buy"
        price, noise = "Expensive" if dear else "Affordable", "noisy" if loud else "quiet"
        return f"{price} {'and' if dear == loud else 'but'} {noise}: {verdict}."

    def sentences(self, rng: random.Random) -> list[str]:
        """The sentences of a paragraph, in random order, with two that no summary needs."""
        sentences = [
            (*LOWERS, *RAISES)[self.ratio],
            (*COOL, *HOT)[self.heat],
            (*CHEAP, *DEAR)[self.price],
            (*QUIET, *LOUD)[self.noise],
            *rng.sample(OTHER, 2),
        ]
        rng.shuffle(sentences)
        return sentences


def draw_facts(rng: random.Random) -> TransformerFacts:
    """Random facts; every sentence is as frequent as any other of its kind."""
    return TransformerFacts(*(rng.randrange(6) for _ in range(4)))


def perspective_pairs(*, seed: int) -> Iterator[Pair]:
    """A reader with a paragraph, and the summary for this reader; endless.

    Paragraphs that `is_held_out_paragraph` holds out, and facts that are new for a reader, are left
    out. The source begins with the reader, as in "engineer: The maker …".
    """
    rng = random.Random(seed)
    line = 1
    while True:
        facts = draw_facts(rng)
        paragraph = " ".join(facts.sentences(rng))
        if any(map(facts.new_for, READERS)) or is_held_out_paragraph(paragraph):
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
    if sentence in (*LOWERS, *RAISES, *COOL, *HOT):
        return "engineer"
    return "shopper" if sentence in (*CHEAP, *DEAR, *QUIET, *LOUD) else None
