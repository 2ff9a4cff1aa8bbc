"""Bit rot: damaged checkpoints are detected, named and skipped."""

import random
import shutil
from collections import Counter

import pytest

from dhyan.checkpoint import newest_valid_checkpoint, read_checkpoint
from dhyan.run.load import MODEL_FILES
from dhyan.run.run_folder import STATE_FILES
from tests.faults.fork_client import newest_step

FLIPS, TRUNCATIONS = 1000, 200
NEEDED = (*MODEL_FILES, *STATE_FILES)


def flip_bit(data, rng):
    position = rng.randrange(8 * len(data))
    bad = bytearray(data)
    bad[position // 8] ^= 1 << position % 8
    return bytes(bad)


def truncate(data, rng):
    return data[: rng.randrange(len(data))]


def test_every_flipped_bit_and_truncation_is_detected_and_skipped(log, training_of, memory_folder):
    run = memory_folder / "run"
    shutil.copytree(training_of("rnn").undisturbed, run)
    newest, rng, detected = newest_step(run), random.Random(5), Counter()
    folder, older = run / f"step-{newest}", run / f"step-{newest - 1}"
    older_files = read_checkpoint(older)
    paths = sorted(folder.iterdir())
    assert len(paths) == 8
    for damage, count in ((flip_bit, FLIPS), (truncate, TRUNCATIONS)):
        for number in range(count):
            path = paths[number % len(paths)]
            content = path.read_bytes()
            path.write_bytes(damage(content, rng))
            log.clear()
            assert newest_valid_checkpoint(run, NEEDED) == (older, older_files)
            (line,) = log.messages
            assert line.startswith(f"{path}: ")
            assert f"skipped, now damaged-{folder.name}; {older.name} is used" in line
            (run / f"damaged-{folder.name}").rename(folder)
            detected[damage.__name__] += 1
            path.write_bytes(content)
    assert detected == {"flip_bit": FLIPS, "truncate": TRUNCATIONS}
    assert read_checkpoint(folder)


@pytest.mark.slow
@pytest.mark.parametrize("damage", [flip_bit, truncate])
def test_a_damaged_checkpoint_is_skipped_and_the_end_is_the_same(server, copy_of, damage):
    training, run = copy_of("rnn")
    newest = newest_step(run)
    for name in ("model.safetensors", "training.safetensors", "manifest.json", "recipe.toml"):
        path = run / f"step-{newest}" / name
        path.write_bytes(damage(path.read_bytes(), random.Random(3)))
        code, output = server.run(*training.arguments(run))
        assert code == 0, output
        (line,) = [line for line in output.splitlines() if f"step-{newest}/{name}: " in line]
        assert f"skipped, now damaged-step-{newest}" in line
        assert f"step-{newest - 1} is used" in line
        assert training.final_files(run) == training.final_files(training.undisturbed)


def test_without_a_valid_checkpoint_the_run_ends_with_an_error(server, copy_of):
    training, run = copy_of("rnn")
    for folder in run.glob("step-*"):
        path = folder / "training.json"
        path.write_bytes(flip_bit(path.read_bytes(), random.Random(1)))
    before = sorted(run.rglob("*"))
    code, output = server.run(*training.arguments(run))
    assert code == 2
    (line,) = [line for line in output.splitlines() if line.startswith("dhyan: ")]
    assert "none of its" in line
    assert f"step-{newest_step(run)}/training.json: is not what manifest.json says" in line
    assert sorted(run.rglob("*")) == before
