"""A corpus of many pairs, made by code: prepared, trained from; and the plan of a billion pairs.

Memory is that of all processes of a command: anonymous pages, which a program has to itself, and
all resident ones, of which those of memory-mapped files may be taken back at any time.
"""

import json
import os
import random
import subprocess
import sys
import time
from collections.abc import Iterator
from itertools import accumulate
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

WORDS, ALPHABETS = 20_000, ("abcdefghijklmnopqrstuvwxyz", "abcdefghijklmnopqrstuvwxyzéèàü")
SHORTEST, LONGEST = 3, 12  # words of a sentence
BLOCK = 50_000
BILLION, RESUMPTIONS = 10**9, 20
TEXT = {
    "text.tokenizer": "words",
    "text.source_vocabulary_size": WORDS + 4,
    "text.target_vocabulary_size": WORDS + 4,
    "text.vocabulary_pairs": 100_000,
    "data.max_tokens": 30,
}
MODEL = {
    "encoder.width": 32,
    "encoder.heads": 2,
    "encoder.feed_forward_width": 64,
    "decoder.width": 32,
    "decoder.heads": 2,
    "decoder.feed_forward_width": 64,
    "training.tokens_per_batch": 4096,
    "training.report_every": 20,
    "training.validate_every": 10**6,
    "training.save_every": 10**6,
    "decoding.max_source_length": 30,
}
RECIPE = "transformer2017-small"


def measure(folder: Path, pairs: int, steps: int) -> dict[str, Any]:
    """Write, prepare and train from so many pairs, and plan a billion from a shard of them.

    Text that is there already, and a preparation that was interrupted, are used again.
    """
    folder.mkdir(parents=True, exist_ok=True)
    files = [folder / f"train.{side}" for side in ("a", "b")]
    if not (folder / f"written-{pairs}").exists():
        write_pairs(files[0], files[1], pairs, seed=1)
        (folder / f"written-{pairs}").touch()
    named = ["--source", str(files[0]), "--target", str(files[1])]
    ready = folder / "prepared"
    prepare = ["data", "prepare", RECIPE, *named, *_set(TEXT), "--out", str(ready)]
    prepared = run_measured(prepare, folder / "prepare.log")
    train = ["train", RECIPE, *_set({**TEXT, **MODEL, "training.steps": steps})]
    train += [*_set({"data.prepared": ready}), "--out", str(folder / "run"), "--threads", "1"]
    trained = run_measured(train, folder / "train.log")
    sizes = [path.stat().st_size for path in ready.iterdir()]
    return {
        "pairs": pairs,
        "text_gigabytes": round(sum(file.stat().st_size for file in files) / 1e9, 2),
        "prepared_gigabytes": round(sum(sizes) / 1e9, 2),
        "prepare": {**prepared, "pairs_per_second": round(pairs / prepared["seconds"])},
        "train": {**trained, "steps": steps},
        "plan": plan_a_billion(folder / "billion", ready),
    }


def write_pairs(source: Path, target: Path, pairs: int, *, seed: int) -> None:
    """Sentences of random words, the frequent ones first; a target is a source in other words."""
    vocabularies = [_vocabulary(alphabet) for alphabet in ALPHABETS]
    rng = np.random.default_rng(seed)
    with (
        open(source, "w", encoding="utf-8") as first,
        open(target, "w", encoding="utf-8") as second,
    ):
        for start in range(0, pairs, BLOCK):
            lengths = rng.integers(SHORTEST, LONGEST + 1, min(BLOCK, pairs - start))
            drawn = (WORDS ** rng.random(lengths.sum())).astype(int) - 1
            ranks, ends = np.minimum(drawn, WORDS - 1).tolist(), list(accumulate(lengths.tolist()))
            sentences = [ranks[begin:end] for begin, end in zip([0, *ends[:-1]], ends, strict=True)]
            for file, words in zip((first, second), vocabularies, strict=True):
                lines = (" ".join([words[rank] for rank in sentence]) for sentence in sentences)
                file.write("".join(f"{line}\n" for line in lines))


def run_measured(arguments: list[str], log: Path) -> dict[str, Any]:
    """Run a command of dhyan; its seconds, and memory in MB along the way and at most."""
    samples, start = list[tuple[float, int, int]](), time.monotonic()
    with open(log, "wb") as output:
        process = subprocess.Popen(
            [sys.executable, "-m", "dhyan", *arguments], stdout=output, stderr=output
        )
        while process.poll() is None:
            samples.append((time.monotonic() - start, *resident(process.pid)))
            time.sleep(0.5)
    if process.returncode:
        raise RuntimeError(log.read_text())
    anonymous = [own for _, own, _ in samples]
    tenths = [anonymous[len(anonymous) * tenth // 10] for tenth in range(1, 10)]
    return {
        "seconds": round(time.monotonic() - start, 1),
        "anonymous_mb_at_each_tenth": [round(own / 2**10) for own in tenths],
        "most_anonymous_mb": round(max(anonymous) / 2**10),
        "most_resident_mb": round(max(total for _, _, total in samples) / 2**10),
        "load_average": round(os.getloadavg()[0], 1),
    }


def resident(pid: int) -> tuple[int, int]:
    """Anonymous and all resident memory of a process and those it started, in kB."""
    anonymous = total = 0
    for child in (pid, *_descendants(pid)):
        try:
            status = Path(f"/proc/{child}/status").read_text()
        except OSError:  # it has ended
            continue
        fields = dict(line.split(":", 1) for line in status.splitlines())
        anonymous += int(fields.get("RssAnon", "0 kB").split()[0])
        total += int(fields.get("VmRSS", "0 kB").split()[0])
    return anonymous, total


def plan_a_billion(folder: Path, ready: Path) -> dict[str, Any]:
    """Resume at random positions of a billion pairs: a shard, linked so many times."""
    folder.mkdir(exist_ok=True)
    manifest = json.loads((ready / "manifest.json").read_text())
    size = manifest["shards"][0]
    for number in range(-(-BILLION // size)):
        for name in (
            f"{side}-{{}}.{part}" for side in ("source", "target") for part in ("ids", "offsets")
        ):
            link = folder / name.format(f"{number:05}")
            if not link.exists():
                link.hardlink_to(ready / name.format("00000"))
    words = [sys.executable, "-m", "benchmarks.large_corpus", str(folder), str(size)]
    words.append(json.dumps(manifest["types"]))
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def resume_anywhere(folder: Path, size: int, types: dict[str, str]) -> dict[str, Any]:
    """Seconds to open the shards and to have the batch at a position, and memory they take."""
    from dhyan.data.batches import Batches
    from dhyan.data.shards import ShardType, open_shards
    from dhyan.data.store import Examples

    def open_batches() -> Batches:
        sizes = [size] * -(-BILLION // size)
        examples = Examples(*open_shards(folder, sizes, ShardType(**types)))
        return Batches(examples, tokens_per_batch=4096, seed=1)

    before = resident(os.getpid())[0]
    rng, seconds, busy, pairs = random.Random(1), list[float](), list[float](), 0
    for number in range(RESUMPTIONS):
        batches = open_batches()
        pairs, window = batches.size, batches.window
        position = pairs * number + rng.randrange(pairs // window) * window
        for _ in range(rng.randrange(1, 20)):
            position = batches.at(position)[1]
        expected = batches.at(position)[0].target.ids
        start, busy_before = time.perf_counter(), time.process_time()
        resumed = open_batches().at(position)[0].target.ids
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - busy_before)
        if not resumed.equal(expected):
            raise RuntimeError(f"the batch at {position} is another one after resuming")
    return {
        "pairs": pairs,
        "resumptions": RESUMPTIONS,
        "median_seconds": round(median(seconds), 3),
        "most_seconds": round(max(seconds), 3),
        "median_cpu_seconds": round(median(busy), 3),
        "most_cpu_seconds": round(max(busy), 3),
        "anonymous_mb": round((resident(os.getpid())[0] - before) / 2**10),
        "load_average": round(os.getloadavg()[0], 1),
    }


def _vocabulary(alphabet: str) -> list[str]:
    """Different words of two to eight letters."""
    rng, words = random.Random(alphabet), dict[str, None]()
    while len(words) < WORDS:
        words["".join(rng.choices(alphabet, k=rng.randint(2, 8)))] = None
    return list(words)


def _descendants(pid: int) -> Iterator[int]:
    try:
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    except OSError:
        return
    for child in map(int, children):
        yield child
        yield from _descendants(child)


def _set(settings: dict[str, Any]) -> list[str]:
    return [word for key, value in settings.items() for word in ("--set", f"{key}={value}")]


if __name__ == "__main__":
    print(json.dumps(resume_anywhere(Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3]))))
