"""Writes the primer as files: training corpus, tests, alignments and annotations."""

import json
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

from dhyan.atomic_folder import atomic_folder, check_writable, to_json_bytes
from dhyan.data.filters import distinct
from dhyan.data.primer import SPLITS, SentencePair, generate_sentences
from dhyan.errors import UserError
from dhyan.version import __version__

logger = logging.getLogger(__name__)

SHORTEST = 2
BOUNDED = ("train", "valid", "random", "unseen")  # the others are as short as they can be


def write_primer(
    out: Path,
    *,
    pairs: int,
    tests: int = 1000,
    seed: int = 1,
    shortest: int = 2,
    longest: int = 60,
) -> dict[str, int]:
    """Write every split into a folder that must not be there yet; how many pairs each one has.

    Each split has its two texts and its alignment, line by line; all but the first have a table
    that also holds heads, other correct translations, and what a right one must say.
    """
    if out.exists():
        raise UserError(f"{out} is there already: name another folder")
    if shortest > longest:
        raise UserError(
            f"no sentence has {shortest} to {longest} words: give the smaller number first"
        )
    check_writable(out)
    counts = {}
    with atomic_folder(out) as folder:
        for split in SPLITS:
            target_count = pairs if split == "train" else tests
            least = shortest if split in BOUNDED else SHORTEST
            sentences = generate_sentences(split, seed=seed, shortest=least, longest=longest)
            distinct_sentences = distinct(
                sentences, lambda sentence_pair: sentence_pair.english, target_count
            )
            counts[split] = _write(folder, split, distinct_sentences)
            few = (
                ""
                if counts[split] == target_count
                else f", no more that differ of {target_count:,}"
            )
            logger.info(f"{split}: {counts[split]:,} pairs{few}")
        bounds = {"seed": seed, "shortest": shortest, "longest": longest}
        about = {"made by": f"dhyan {__version__}", **bounds, "pairs": counts}
        (folder / "about.json").write_bytes(to_json_bytes(about))
    return counts


def _write(folder: Path, split: str, sentences: Iterator[SentencePair]) -> int:
    """Write a split's files line by line; of training, which may be large, no table."""
    count, kinds = 0, ("en", "hi", "align") if split == "train" else ("en", "hi", "align", "jsonl")
    with ExitStack() as stack:
        files = [
            stack.enter_context((folder / f"{split}.{suffix}").open("w", encoding="utf-8"))
            for suffix in kinds
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
    """Everything that is known of a sentence."""
    return {
        "english": sentence_pair.english,
        "hindi": sentence_pair.hindi,
        "others": sentence_pair.others,
        "links": sentence_pair.links,
        "english_heads": sentence_pair.heads(0),
        "hindi_heads": sentence_pair.heads(1),
        "wanted": [
            {"kind": check.kind, "about": check.about, "right": check.right, "wrong": check.wrong}
            for check in sentence_pair.wanted
        ],
    }
