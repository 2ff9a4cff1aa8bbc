"""However large a corpus is, it is read and prepared in the same little memory."""

import os
import signal
import subprocess
import sys
import time
from hashlib import sha256

import pytest

from tests.tiny_models import environment

MILLION = 10**6
SIZES = {
    "tokenizer": '"words"', "source_vocabulary_size": 2000, "target_vocabulary_size": 2000,
    "vocabulary_pairs": 20_000,
}  # fmt: skip
MEGABYTES, GROWTH = 500, 1.1  # at most; and at most from one million to two, when prepared
PER_PAIR = 60  # bytes that a survey keeps of each, to find it again
PROGRAM = """
import sys, time
sys.argv[0] = "dhyan"
from dhyan.cli import app
began = time.process_time()
app(sys.argv[1:], standalone_mode=False)
spent = time.process_time() - began
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(spent, int(peak.split()[1]) * 1024)
"""


def write_pairs(folder, count):
    """So many short pairs, no two of them the same."""
    ours, theirs = (folder / f"{count}.{end}" for end in ("en", "hi"))
    with open(ours, "w", encoding="utf-8") as source, open(theirs, "w", encoding="utf-8") as target:
        for number in range(count):
            mixed = number * 2654435761 % 2**32
            words = mixed % 499, mixed // 499 % 503, number % 997, number // 997
            source.write("w{} w{} w{} w{}\n".format(*words))
            target.write("श{} श{} श{} श{}\n".format(*words))
    return ours, theirs


def preparing(ours, theirs, out):
    """The words of the command that prepares a corpus."""
    settings = [f"--set=text.{key}={value}" for key, value in SIZES.items()]
    files = ("--source", ours, "--target", theirs, "--out", out)
    return ["data", "prepare", "numbers", *map(str, files), *settings, "--quiet"]


def started(words):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *words],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def measured(words):
    """Seconds and bytes of a command in a process of its own."""
    process = started(words)
    said, wrong = process.communicate()
    assert not process.returncode, wrong
    seconds, peak = said.splitlines()[-1].split()
    return float(seconds), int(peak)


def written(folder):
    """Whether ids are in a folder already."""
    return any(path.suffix == ".ids" and path.stat().st_size for path in folder.glob("*"))


def sums(folder):
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.soak
def test_preparing_twice_the_pairs_needs_the_same_memory(tmp_path):
    found = {}
    for count in (MILLION, 2 * MILLION):
        words = preparing(*write_pairs(tmp_path, count), tmp_path / f"ready-{count}")
        seconds, found[count] = measured(words)
        print(
            f"prepared {count:,} pairs in {found[count] / 2**20:.0f} MB, "
            f"{count / seconds:,.0f} pairs a second and core"
        )
    assert found[2 * MILLION] <= GROWTH * found[MILLION]
    assert found[2 * MILLION] <= MEGABYTES * 2**20


@pytest.mark.soak
def test_a_check_needs_a_few_bytes_per_pair(tmp_path):
    found = {}
    for count in (MILLION, 10 * MILLION):
        seconds, found[count] = measured(["data", "check", *map(str, write_pairs(tmp_path, count))])
        print(
            f"checked {count:,} pairs in {found[count] / 2**20:.0f} MB, "
            f"{count / seconds:,.0f} pairs a second and core"
        )
    each = (found[10 * MILLION] - found[MILLION]) / (9 * MILLION)
    print(f"a check keeps {each:.0f} bytes of a pair")
    assert each <= PER_PAIR
    assert found[10 * MILLION] <= MEGABYTES * 2**20


@pytest.mark.soak
def test_a_killed_prepare_can_be_repeated(tmp_path):
    ours, theirs = write_pairs(tmp_path, MILLION // 10)
    measured(preparing(ours, theirs, tmp_path / "whole"))
    again, half = tmp_path / "again", tmp_path / ".again.dhyan-half"
    process = started(preparing(ours, theirs, again))
    while not written(half) and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert half.is_dir(), "it was killed too late to be in the middle"
    assert not again.exists()
    measured(preparing(ours, theirs, again))
    assert sums(again) == sums(tmp_path / "whole")
    assert not half.exists()
    print(
        f"killed while it was written, {MILLION // 10:,} pairs come out the same to the last byte"
    )
