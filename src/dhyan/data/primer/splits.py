"""The primer as streams of sentences: one for training, and tests that share none with it."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple
from zlib import crc32

from dhyan.data.pairs import Pair
from dhyan.data.primer.ambiguous_words import in_context
from dhyan.data.primer.dialogue import spoken
from dhyan.data.primer.long_distance_agreement import at_a_distance
from dhyan.data.primer.sentence_builder import Draft
from dhyan.data.primer.sentence_pair import Twin, Word
from dhyan.data.primer.sentences import sentence
from dhyan.data.primer.templates import from_template
from dhyan.errors import UserError

BUCKETS, VALID, TEST = 20, 0, 1  # by its Hindi a sentence is kept for validation, tests or training
SPLITS = (
    "train",
    "valid",
    "random",
    "unseen",
    "longer",
    "context",
    "idiom",
    "attachment",
    "agreement",
)
NOVEL = frozenset(("unseen", "context"))  # by the pairs of words they show
LONGER = 1.5
PATIENCE = 20_000
STEP = 1 << 32


class Bounds(NamedTuple):
    """How many words a sentence has, and what share of the lexicon they come from."""

    shortest: int = 2
    longest: int = 60
    core: float = 1.0


ANY = Bounds()


def primer_twins(
    split: str, *, seed: int = 1, shortest: int = 2, longest: int = 60, core: float = 1.0
) -> Iterator[Twin]:
    """Sentences of so many English words, without end; the n-th follows from the seed alone.

    Whatever the seeds, training shares no sentence, on either side, with any other split. "unseen"
    pairs words that training never pairs, "longer" has up to half as many words again, and
    "context" shows words of several meanings among others they never met in training. `core` is
    the share of the words that sentences are made of, those that go with the most others.
    """
    if split not in SPLITS:
        raise UserError(f"the primer has no split {split!r}: choose one of {', '.join(SPLITS)}")
    bounds = Bounds(shortest, longest, core)
    return (twin_at(split, seed, index, bounds) for index in count())


def primer_pairs(twins: Iterable[Twin], *, backwards: bool = False) -> Iterator[Pair]:
    """Sentences of the primer as pairs, English to Hindi or backwards."""
    for line, twin in enumerate(twins, 1):
        source, target = (twin.hindi, twin.english) if backwards else (twin.english, twin.hindi)
        yield Pair(source, target, line)


def twin_at(split: str, seed: int, index: int, bounds: Bounds = ANY) -> Twin:
    """One sentence of a stream."""
    place = (seed * STEP + index) * len(SPLITS) + SPLITS.index(split)
    draft = Draft(place, novel=split in NOVEL, core=bounds.core)
    least, most = bounds.shortest, bounds.longest
    if split == "longer":
        least, most = most + 1, int(LONGER * most)
    for _ in range(PATIENCE):
        draft.clear()
        found = _drawn(draft, split, least, most)
        if found and _belongs(found, draft, split, least, most):
            return found
    raise UserError(f"the primer has no '{split}' sentence of {least} to {most} words")


def _drawn(draft: Draft, split: str, least: int, most: int) -> Twin | None:
    match split:
        case "context":
            return in_context(draft)
        case "idiom" | "attachment":
            return from_template(draft, split)
        case "agreement":
            return at_a_distance(draft, most)
    dice = draft.random()
    if split not in ("unseen", "longer") and dice > 0.85:
        return in_context(draft) if dice > 0.9 else from_template(draft)
    size = int(least + (most - least + 1) * draft.random() ** (1 if split == "longer" else 2))
    if dice < 0.1 and size < 20:
        english, hindi, others = spoken(draft, size)
    else:
        (english, hindi), others = sentence(draft, size), ()
    return _twin(draft, english, hindi, others)


def _twin(draft: Draft, english: list[Word], hindi: list[Word], others: tuple[str, ...]) -> Twin:
    sides = (tuple(english), tuple(hindi))
    return Twin(sides, tuple(draft.parents), others, tuple(draft.wanted))


def _belongs(twin: Twin, draft: Draft, split: str, least: int, most: int) -> bool:
    """Whether it has the right length and lies in the split."""
    words = sum(1 for word in twin.words[0] if word[1] >= 0)
    if not least <= words <= most:
        return False
    if split in NOVEL and not draft.unseen:
        return False
    if split == "longer":  # than any of training
        return True
    bucket = crc32(twin.hindi.encode()) % BUCKETS
    if split == "train":
        return bucket not in (VALID, TEST)
    return bucket == (VALID if split == "valid" else TEST)
