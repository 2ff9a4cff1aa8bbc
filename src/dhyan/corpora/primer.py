"""The primer written as files: a corpus to train on, its tests, and all that is known of them."""

import json
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from dhyan.corpora.interface import Say
from dhyan.data.primer import SPLITS, Twin, primer_twins
from dhyan.version import __version__
from dhyan.whole import as_json, whole_folder

MOST_TRIES = 20


def write_primer(
    out: Path,
    *,
    pairs: int,
    tests: int = 1000,
    seed: int = 1,
    shortest: int = 2,
    longest: int = 60,
    say: Say = lambda line: None,
) -> dict[str, int]:
    """Write every split into a folder that must not be there yet; how many pairs each one has.

    Each split has its two texts and its alignment, line by line; all but the first have a table
    that also holds heads, other correct translations, and what a right one must say.
    """
    counts = {}
    with whole_folder(out) as folder:
        for split in SPLITS:
            wanted = pairs if split == "train" else tests
            twins = primer_twins(split, seed=seed, shortest=shortest, longest=longest)
            counts[split] = _write(folder, split, different(twins, wanted))
            say(f"{split}: {counts[split]:,} pairs")
        bounds = {"seed": seed, "shortest": shortest, "longest": longest}
        about = {"made by": f"dhyan {__version__}", **bounds, "pairs": counts}
        (folder / "about.json").write_bytes(as_json(about))
    return counts


def different(twins: Iterator[Twin], count: int) -> Iterator[Twin]:
    """So many sentences that differ in English, if they come soon enough."""
    seen = set[str]()
    for twin in islice(twins, MOST_TRIES * count):
        if len(seen) == count:
            return
        if twin.english not in seen:
            seen.add(twin.english)
            yield twin


def _write(folder: Path, split: str, twins: Iterator[Twin]) -> int:
    count = 0
    with (
        (folder / f"{split}.en").open("w", encoding="utf-8") as english,
        (folder / f"{split}.hi").open("w", encoding="utf-8") as hindi,
        (folder / f"{split}.align").open("w", encoding="utf-8") as links,
        (folder / f"{split}.jsonl").open("w", encoding="utf-8") as table,
    ):
        for twin in twins:
            count += 1
            english.write(twin.english + "\n")
            hindi.write(twin.hindi + "\n")
            links.write(twin.links + "\n")
            if split != "train":
                table.write(json.dumps(as_row(twin), ensure_ascii=False) + "\n")
    if split == "train":
        (folder / "train.jsonl").unlink()
    return count


def as_row(twin: Twin) -> dict[str, object]:
    """Everything that is known of a sentence."""
    return {
        "english": twin.english,
        "hindi": twin.hindi,
        "others": twin.others,
        "links": twin.links,
        "english_heads": twin.heads(0),
        "hindi_heads": twin.heads(1),
        "wanted": [
            {"kind": one.kind, "about": one.about, "right": one.right, "wrong": one.wrong}
            for one in twin.wanted
        ],
    }
