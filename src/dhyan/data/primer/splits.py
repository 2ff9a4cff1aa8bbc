"""Splits of the primer (generated English–Hindi corpus), disjoint by sentence, and their files."""

import json
import logging
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import NamedTuple
from zlib import crc32

from dhyan.atomic_folder import atomic_folder, check_writable, to_json_bytes
from dhyan.data.filters import distinct
from dhyan.data.pairs import Pair
from dhyan.data.primer.ambiguous_words import disambiguated_sentence
from dhyan.data.primer.dialogue import dialogue_sentence
from dhyan.data.primer.everyday import everyday_sentence
from dhyan.data.primer.relative_clauses import long_distance_agreement
from dhyan.data.primer.sentence_builder import SentenceBuilder
from dhyan.data.primer.sentence_pair import SentencePair, Word
from dhyan.data.primer.sentences import sentence
from dhyan.data.primer.templates import sample_template
from dhyan.errors import UserError
from dhyan.version import __version__

logger = logging.getLogger(__name__)

BUCKETS, VALID, TEST = 20, 0, 1  # the split of a sentence, by a hash of its Hindi
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
HELD_OUT_SPLITS = frozenset(("unseen", "context"))  # with word pairs that training lacks
LONGER_FACTOR = 1.5
MAX_ATTEMPTS = 20_000
MAX_EVERYDAY_ATTEMPTS = 200  # few everyday frames are long
SEED_STRIDE = 1 << 32
MIN_WORDS, MAX_WORDS = 2, 60
EVERYDAY_SHARE = 0.4  # of the sentences, in a corpus of the whole lexicon
EVERYDAY_SPLITS = frozenset(("train", "valid", "random"))
BOUNDED_SPLITS = (
    "train",
    "valid",
    "random",
    "unseen",
)  # the others have sentences of any length from MIN_WORDS on


class Bounds(NamedTuple):
    """English words of a sentence, the share of the lexicon they are sampled from, and the share of
    everyday frames, which a corpus of a part of the lexicon does not have.
    """

    min_words: int = MIN_WORDS
    max_words: int = MAX_WORDS
    core_share: float = 1.0
    everyday_share: float = EVERYDAY_SHARE


NO_BOUNDS = Bounds()


def generate_sentences(
    split: str,
    *,
    seed: int = 1,
    min_words: int = MIN_WORDS,
    max_words: int = MAX_WORDS,
    core_share: float = 1.0,
    everyday_share: float = EVERYDAY_SHARE,
) -> Iterator[SentencePair]:
    """An endless stream of sentences of a split; the n-th follows from the seed alone.

    Whatever the seeds, training shares no sentence, on either side, with any other split. "unseen"
    pairs words that training never pairs, "longer" has up to half as many words again, and
    "context" has ambiguous words in contexts that are held out from training. `core_share` is the
    share of the lexicon that is used: the words that combine with the most others. `everyday_share` is
    the share of everyday frames in a corpus of the whole lexicon; a part of the lexicon has none.
    """
    if split not in SPLITS:
        raise UserError(f"the primer has no split {split!r}: choose one of {', '.join(SPLITS)}")
    bounds = Bounds(min_words, max_words, core_share, everyday_share)
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


def generate_sentence(
    split: str, seed: int, index: int, bounds: Bounds = NO_BOUNDS
) -> SentencePair:
    """The sentence of a stream at an index."""
    sentence_seed = (seed * SEED_STRIDE + index) * len(SPLITS) + SPLITS.index(split)
    builder = SentenceBuilder(
        sentence_seed, held_out=split in HELD_OUT_SPLITS, core_share=bounds.core_share
    )
    min_words, max_words = bounds.min_words, bounds.max_words
    everyday = split in EVERYDAY_SPLITS and bounds.core_share == 1 and bounds.everyday_share > 0
    if everyday and builder.flip(bounds.everyday_share):
        for _ in range(MAX_EVERYDAY_ATTEMPTS):
            builder.clear()
            sentence_pair = everyday_sentence(builder)
            if _in_split(sentence_pair, builder, split, min_words, max_words):
                return sentence_pair
    if split == "longer":
        min_words, max_words = max_words + 1, int(LONGER_FACTOR * max_words)
    for _ in range(MAX_ATTEMPTS):
        builder.clear()
        pair = _sample(builder, split, min_words, max_words)
        if pair and _in_split(pair, builder, split, min_words, max_words):
            return pair
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
    """Whether a sentence has the right length and lies in the split."""
    words = sum(1 for word in sentence_pair.words[0] if word[1] >= 0)
    if not min_words <= words <= max_words:
        return False
    if split in HELD_OUT_SPLITS and not builder.has_held_out_pair:
        return False
    if split == "longer":  # no sentence of training is as long
        return True
    bucket = crc32(sentence_pair.hindi.encode()) % BUCKETS
    if split == "train":
        return bucket not in (VALID, TEST)
    return bucket == (VALID if split == "valid" else TEST)


def write_primer(
    out: Path,
    *,
    pairs: int,
    tests: int = 1000,
    seed: int = 1,
    min_words: int = MIN_WORDS,
    max_words: int = MAX_WORDS,
) -> dict[str, int]:
    """Write every split into a new folder; returns how many pairs each split has.

    Each split has its two texts and its alignment, line by line; all but the first have a table
    that also holds heads, other correct translations, and translation checks.
    """
    if out.exists():
        raise UserError(f"{out} is there already: name another folder")
    if min_words > max_words:
        raise UserError(
            f"no sentence has {min_words} to {max_words} words: give the smaller number first"
        )
    check_writable(out)
    counts = {}
    with atomic_folder(out) as folder:
        for split in SPLITS:
            target_count = pairs if split == "train" else tests
            sentences = generate_sentences(
                split,
                seed=seed,
                min_words=min_words if split in BOUNDED_SPLITS else MIN_WORDS,
                max_words=max_words,
            )
            distinct_sentences = distinct(
                sentences, lambda sentence_pair: sentence_pair.english, target_count
            )
            counts[split] = _write(folder, split, distinct_sentences)
            shortfall = f" of {target_count:,}" if counts[split] < target_count else ""
            logger.info(f"{split}: {counts[split]:,}{shortfall} distinct pairs")
        bounds = {"seed": seed, "min_words": min_words, "max_words": max_words}
        about = {"generator": f"dhyan {__version__}", **bounds, "pairs": counts}
        (folder / "about.json").write_bytes(to_json_bytes(about))
    return counts


def _write(folder: Path, split: str, sentences: Iterator[SentencePair]) -> int:
    """Write the files of a split line by line; training, which may be large, has no table."""
    count, suffixes = 0, ["en", "hi", "align", *([] if split == "train" else ["jsonl"])]
    with ExitStack() as stack:
        files = [
            stack.enter_context((folder / f"{split}.{suffix}").open("w", encoding="utf-8"))
            for suffix in suffixes
        ]
        for sentence_pair in sentences:
            count += 1
            lines = [sentence_pair.english, sentence_pair.hindi, sentence_pair.links]
            if split != "train":
                lines.append(json.dumps(as_row(sentence_pair), ensure_ascii=False))
            for file, line in zip(files, lines, strict=True):
                file.write(line + "\n")
    return count


def as_row(sentence_pair: SentencePair) -> dict[str, object]:
    """A sentence with all its annotations, as a row of the table."""
    return {
        "english": sentence_pair.english,
        "hindi": sentence_pair.hindi,
        "others": sentence_pair.others,
        "links": sentence_pair.links,
        "english_heads": sentence_pair.heads(0),
        "hindi_heads": sentence_pair.heads(1),
        "checks": [
            {"kind": check.kind, "about": check.about, "right": check.right, "wrong": check.wrong}
            for check in sentence_pair.checks
        ],
    }
