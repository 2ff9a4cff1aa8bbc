"""Corpora changed at random places: only a UserError ever escapes, and pairs stay whole."""

import gzip
import lzma
import random
from contextlib import suppress

import pytest

from dhyan.data.corpus_statistics import corpus_statistics
from dhyan.data.leakage import LeakageDetector
from dhyan.data.pairs import ReadReport
from dhyan.data.read_pairs import read_pairs
from dhyan.errors import UserError
from tests.data.bad_corpora import EN, HI, JSONL, TSV
from tests.data.hostile_text import hostile_line

CSV = b"en,hi\n" + TSV.replace(b"\t", b",")
SEEDS = {
    "a.en": EN,
    "a.tsv": TSV,
    "a.csv": CSV,
    "a.jsonl": JSONL,
    "a.en.gz": gzip.compress(EN),
    "a.jsonl.xz": lzma.compress(JSONL),
}


def mutant(content, chance):
    """The bytes with a few of them lost, changed, doubled, moved, or joined by others."""
    for _ in range(chance.randint(1, 6)):
        at, to = sorted(chance.choices(range(len(content) + 1), k=2))
        to = min(to, at + chance.choice([1, 2, 30, 400]))
        part = content[at:to]
        other = chance.choice(
            [b"", part + part, part[::-1], bytes(byte ^ 1 << chance.randrange(8) for byte in part),
             hostile_line(chance), chance.choice([b"\n", b'"', b"\t", b"{", b"\0", b"\xff", b"\r"])]
        )  # fmt: skip
        content = content[:at] + other + content[to:]
    return content


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", SEEDS)
def test_only_a_user_error_escapes_from_a_mutant(name, count, tmp_path):
    chance, taken = random.Random(f"{name} {count}"), 0
    (tmp_path / "a.hi").write_bytes(HI)
    target = tmp_path / "a.hi" if ".en" in name else None
    for _ in range(count):
        (tmp_path / name).write_bytes(mutant(SEEDS[name], chance))
        report, detector = ReadReport(tolerant=chance.random() < 0.7), LeakageDetector()
        with suppress(UserError):
            pairs = list(read_pairs(tmp_path / name, target, report=report))
            taken += 1
            assert all(pair.source.strip() and pair.target.strip() for pair in pairs)
            assert report.kept_count == len(pairs)
            detector.add_test(pairs[:3], "test")
            detector.scan(pairs, "train")
            assert {0, 1, 2} & set(range(len(pairs))) <= set(detector.report().all)
            assert corpus_statistics(pairs, ReadReport(), languages=("en", "hi")).pairs == len(
                pairs
            )
    assert taken < count, "not all of them are taken"
    assert taken or name.endswith(("gz", "xz")), "nor are all refused, but for those with a sum"
    print(f"{name}: {count:,} mutants, {taken:,} read, the others refused in a line")
