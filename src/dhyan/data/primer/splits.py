"""Splits of the primer: training, validation and test sets that share no sentence."""

from collections.abc import Iterable, Iterator
from itertools import count
from typing import NamedTuple
from zlib import crc32

from dhyan.data.pairs import Pair
from dhyan.data.primer.ambiguous_words import disambiguated_sentence
from dhyan.data.primer.dialogue import dialogue_sentence
from dhyan.data.primer.relative_clauses import long_distance_agreement
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.sentence_pair import SentencePair, Word
from dhyan.data.primer.sentences import sentence
from dhyan.data.primer.templates import sample_template
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
HELD_OUT_SPLITS = frozenset(("unseen", "context"))  # by the pairs of words they show
LONGER_FACTOR = 1.5
MAX_ATTEMPTS = 20_000
SEED_STRIDE = 1 << 32


class Bounds(NamedTuple):
    """How many words a sentence has, and what share of the lexicon they come from."""

    shortest: int = 2
    longest: int = 60
    core: float = 1.0


ANY = Bounds()


def generate_sentences(
    split: str, *, seed: int = 1, shortest: int = 2, longest: int = 60, core: float = 1.0
) -> Iterator[SentencePair]:
    """Sentences of so many English words, without end; the n-th follows from the seed alone.

    Whatever the seeds, training shares no sentence, on either side, with any other split. "unseen"
    pairs words that training never pairs, "longer" has up to half as many words again, and
    "context" has ambiguous words in contexts that are held out from training. `core` is
    the share of the words that sentences are made of, those that go with the most others.
    """
    if split not in SPLITS:
        raise UserError(f"the primer has no split {split!r}: choose one of {', '.join(SPLITS)}")
    bounds = Bounds(shortest, longest, core)
    return (generate_sentence(split, seed, index, bounds) for index in count())


def primer_pairs(sentences: Iterable[SentencePair], *, backwards: bool = False) -> Iterator[Pair]:
    """Sentences of the primer as pairs, English to Hindi or backwards."""
    for line, sentence_pair in enumerate(sentences, 1):
        source, target = (
            (sentence_pair.hindi, sentence_pair.english)
            if backwards
            else (sentence_pair.english, sentence_pair.hindi)
        )
        yield Pair(source, target, line)


def generate_sentence(split: str, seed: int, index: int, bounds: Bounds = ANY) -> SentencePair:
    """One sentence of a stream."""
    seed_of_sentence = (seed * SEED_STRIDE + index) * len(SPLITS) + SPLITS.index(split)
    builder = SentenceBuilder(seed_of_sentence, held_out=split in HELD_OUT_SPLITS, core=bounds.core)
    min_words, max_words = bounds.shortest, bounds.longest
    if split == "longer":
        min_words, max_words = max_words + 1, int(LONGER_FACTOR * max_words)
    for _ in range(MAX_ATTEMPTS):
        builder.clear()
        sentence_pair = _sample(builder, split, min_words, max_words)
        if sentence_pair and _in_split(sentence_pair, builder, split, min_words, max_words):
            return sentence_pair
    raise UserError(f"the primer has no '{split}' sentence of {min_words} to {max_words} words")


def _sample(
    builder: SentenceBuilder, split: str, min_words: int, max_words: int
) -> SentencePair | None:
    match split:
        case "context":
            return disambiguated_sentence(builder)
        case "idiom" | "attachment":
            return sample_template(builder, split)
        case "agreement":
            return long_distance_agreement(builder, max_words)
    dice = builder.random()
    if split not in ("unseen", "longer") and dice > 0.85:
        return disambiguated_sentence(builder) if dice > 0.9 else sample_template(builder)
    size = int(
        min_words
        + (max_words - min_words + 1) * builder.random() ** (1 if split == "longer" else 2)
    )
    if dice < 0.1 and size < 20:
        english, hindi, others = dialogue_sentence(builder, size)
    else:
        (english, hindi), others = sentence(builder, size), ()
    return _sentence_pair(builder, english, hindi, others)


def _sentence_pair(
    builder: SentenceBuilder, english: list[Word], hindi: list[Word], others: tuple[str, ...]
) -> SentencePair:
    sides = (tuple(english), tuple(hindi))
    return SentencePair(sides, tuple(builder.parents), others, tuple(builder.checks))


def _in_split(
    sentence_pair: SentencePair,
    builder: SentenceBuilder,
    split: str,
    min_words: int,
    max_words: int,
) -> bool:
    """Whether it has the right length and lies in the split."""
    words = sum(1 for word in sentence_pair.words[0] if word[1] >= 0)
    if not min_words <= words <= max_words:
        return False
    if split in HELD_OUT_SPLITS and not builder.has_held_out_pair:
        return False
    if split == "longer":  # than any of training
        return True
    bucket = crc32(sentence_pair.hindi.encode()) % BUCKETS
    if split == "train":
        return bucket not in (VALID, TEST)
    return bucket == (VALID if split == "valid" else TEST)
