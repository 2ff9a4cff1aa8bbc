"""Memory of checking and preparing a corpus does not grow with its size."""

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
BYTES_PER_PAIR = 60  # that a check stores
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
    """Write short pairs that are all distinct."""
    source_path, target_path = (folder / f"{count}.{end}" for end in ("en", "hi"))
    with (
        open(source_path, "w", encoding="utf-8") as source,
        open(target_path, "w", encoding="utf-8") as target,
    ):
        for number in range(count):
            mixed = number * 2654435761 % 2**32
            words = mixed % 499, mixed // 499 % 503, number % 997, number // 997
            source.write("w{} w{} w{} w{}\n".format(*words))
            target.write("श{} श{} श{} श{}\n".format(*words))
    return source_path, target_path


def prepare_command(source_path, target_path, out):
    """The command line that prepares a corpus."""
    settings = [f"--set=text.{key}={value}" for key, value in SIZES.items()]
    files = ("--source", source_path, "--target", target_path, "--out", out)
    return ["data", "prepare", "numbers", *map(str, files), *settings, "--quiet"]


def start_command(command):
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, *command],
        env=environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def measure_command(command):
    """CPU seconds and peak memory of a command in its own process."""
    process = start_command(command)
    output, errors = process.communicate()
    assert not process.returncode, errors
    seconds, peak = output.splitlines()[-1].split()
    return float(seconds), int(peak)


def has_ids(folder):
    """Whether a folder holds token ids already."""
    return any(path.suffix == ".ids" and path.stat().st_size for path in folder.glob("*"))


def checksums(folder):
    return {path.name: sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.soak
def test_preparing_twice_the_pairs_needs_the_same_memory(tmp_path):
    peaks = {}
    for count in (MILLION, 2 * MILLION):
        command = prepare_command(*write_pairs(tmp_path, count), tmp_path / f"ready-{count}")
        seconds, peaks[count] = measure_command(command)
        print(
            f"prepared {count:,} pairs in {peaks[count] / 2**20:.0f} MB, "
            f"{count / seconds:,.0f} pairs a second and core"
        )
    assert peaks[2 * MILLION] <= GROWTH * peaks[MILLION]
    assert peaks[2 * MILLION] <= MEGABYTES * 2**20


@pytest.mark.soak
def test_a_check_needs_a_few_bytes_per_pair(tmp_path):
    peaks = {}
    for count in (MILLION, 10 * MILLION):
        seconds, peaks[count] = measure_command(
            ["data", "check", *map(str, write_pairs(tmp_path, count))]
        )
        print(
            f"checked {count:,} pairs in {peaks[count] / 2**20:.0f} MB, "
            f"{count / seconds:,.0f} pairs a second and core"
        )
    bytes_per_pair = (peaks[10 * MILLION] - peaks[MILLION]) / (9 * MILLION)
    print(f"a check keeps {bytes_per_pair:.0f} bytes of a pair")
    assert bytes_per_pair <= BYTES_PER_PAIR
    assert peaks[10 * MILLION] <= MEGABYTES * 2**20


@pytest.mark.soak
def test_a_killed_prepare_can_be_repeated(tmp_path):
    source_path, target_path = write_pairs(tmp_path, MILLION // 10)
    measure_command(prepare_command(source_path, target_path, tmp_path / "whole"))
    out, temporary = tmp_path / "again", tmp_path / ".again.dhyan-half"
    process = start_command(prepare_command(source_path, target_path, out))
    while not has_ids(temporary) and process.poll() is None:
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert temporary.is_dir(), "it was killed too late to be in the middle"
    assert not out.exists()
    measure_command(prepare_command(source_path, target_path, out))
    assert checksums(out) == checksums(tmp_path / "whole")
    assert not temporary.exists()
    print(
        f"killed while it was written, {MILLION // 10:,} pairs come out the same to the last byte"
    )
