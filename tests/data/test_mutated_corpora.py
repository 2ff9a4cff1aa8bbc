"""Randomly mutated corpora: only a UserError is raised, and pairs are never empty."""

import gzip
import lzma
import random
from contextlib import suppress

import pytest

from dhyan.data.corpus_statistics import corpus_statistics
from dhyan.data.leakage import LeakageDetector
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_report import ReadReport
from dhyan.errors import UserError
from tests.data.bad_corpora import EN, ENGLISH, HI, HINDI, JSONL, TSV
from tests.data.hostile_text import hostile_line

CSV = b"en,hi\n" + TSV.replace(b"\t", b",")
TMX = (
    '<tmx version="1.4"><header srclang="en"/><body>\n'
    + "".join(
        f'<tu><tuv xml:lang="en"><seg>{a}</seg></tuv><tuv xml:lang="hi"><seg>{b}</seg></tuv></tu>\n'
        for a, b in zip(ENGLISH, HINDI, strict=True)
    )
    + "</body></tmx>\n"
).encode()
SEEDS = {
    "b.csv": CSV.replace(b",", b";"),
    "a.tmx": TMX,
    "a.en": EN,
    "a.tsv": TSV,
    "a.csv": CSV,
    "a.jsonl": JSONL,
    "a.en.gz": gzip.compress(EN),
    "a.jsonl.xz": lzma.compress(JSONL),
}


def mutate(content, rng):
    """The bytes with a few of them deleted, changed, doubled, reversed or inserted."""
    for _ in range(rng.randint(1, 6)):
        at, to = sorted(rng.choices(range(len(content) + 1), k=2))
        to = min(to, at + rng.choice([1, 2, 30, 400]))
        slice_ = content[at:to]
        replacement = rng.choice(
            [b"", slice_ + slice_, slice_[::-1], bytes(byte ^ 1 << rng.randrange(8) for byte in slice_),
             hostile_line(rng), rng.choice([b"\n", b'"', b"\t", b"{", b"\0", b"\xff", b"\r"])]
        )  # fmt: skip
        content = content[:at] + replacement + content[to:]
    return content


@pytest.mark.parametrize("count", [60, pytest.param(10_000, marks=pytest.mark.soak)])
@pytest.mark.parametrize("name", SEEDS)
def test_a_mutated_corpus_only_raises_user_errors(name, count, tmp_path):
    rng, read_count = random.Random(f"{name} {count}"), 0
    (tmp_path / "a.hi").write_bytes(HI)
    target = tmp_path / "a.hi" if ".en" in name else None
    for _ in range(count):
        (tmp_path / name).write_bytes(mutate(SEEDS[name], rng))
        report, detector = ReadReport(tolerant=rng.random() < 0.7), LeakageDetector()
        with suppress(UserError):
            pairs = list(read_pairs(tmp_path / name, target, report=report))
            read_count += 1
            assert all(pair.source.strip() and pair.target.strip() for pair in pairs)
            assert report.kept_count == len(pairs)
            detector.add_test(pairs[:3], "test")
            detector.scan(pairs, "train")
            assert {0, 1, 2} & set(range(len(pairs))) <= set(detector.report().all)
            assert corpus_statistics(pairs, ReadReport(), languages=("en", "hi")).pairs == len(
                pairs
            )
    assert read_count < count, "some mutants are refused"
    assert read_count or name.endswith(("gz", "xz")), (
        "some are read, except compressed files, which have checksums"
    )
    print(f"{name}: {count:,} mutants, {read_count:,} read, the others refused in a line")
