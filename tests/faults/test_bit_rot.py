"""What a disk does to a checkpoint is noticed, named and gone around."""

import random
import shutil
from collections import Counter

import pytest

from dhyan.checkpoint import newest_valid_checkpoint, read_checkpoint
from dhyan.run.load import MODEL_FILES
from dhyan.run.run_folder import STATE_FILES
from tests.faults.fork_client import newest_step

FLIPS, CUTS = 1000, 200
NEEDED = (*MODEL_FILES, *STATE_FILES)


def flipped(data, chance):
    place = chance.randrange(8 * len(data))
    bad = bytearray(data)
    bad[place // 8] ^= 1 << place % 8
    return bytes(bad)


def cut(data, chance):
    return data[: chance.randrange(len(data))]


def test_every_flipped_bit_and_every_cut_is_noticed_named_and_gone_around(log, told, swift):
    run = swift / "run"
    shutil.copytree(told("rnn").alone, run)
    newest, chance, noticed = newest_step(run), random.Random(5), Counter()
    folder, older = run / f"step-{newest}", run / f"step-{newest - 1}"
    good_ones = read_checkpoint(older)
    paths = sorted(folder.iterdir())
    assert len(paths) == 7
    for harm, count in ((flipped, FLIPS), (cut, CUTS)):
        for number in range(count):
            path = paths[number % len(paths)]
            good = path.read_bytes()
            path.write_bytes(harm(good, chance))
            log.clear()
            assert newest_valid_checkpoint(run, NEEDED) == (older, good_ones)
            (line,) = log.messages
            assert line.startswith(f"{path}: ")
            assert f"skipped, now damaged-{folder.name}; {older.name} is used" in line
            (run / f"damaged-{folder.name}").rename(folder)
            noticed[harm.__name__] += 1
            path.write_bytes(good)
    assert noticed == {"flipped": FLIPS, "cut": CUTS}
    assert read_checkpoint(folder)


@pytest.mark.slow
@pytest.mark.parametrize("harm", [flipped, cut])
def test_a_damaged_checkpoint_is_gone_around_and_the_end_is_the_same(stage, fresh, harm):
    story, run = fresh("rnn")
    newest = newest_step(run)
    for name in ("model.safetensors", "training.safetensors", "manifest.json", "recipe.toml"):
        path = run / f"step-{newest}" / name
        path.write_bytes(harm(path.read_bytes(), random.Random(3)))
        code, said = stage.run(*story.words(run))
        assert code == 0, said
        (line,) = [line for line in said.splitlines() if f"step-{newest}/{name}: " in line]
        assert f"skipped, now damaged-step-{newest}" in line
        assert f"step-{newest - 1} is used" in line
        assert story.ending(run) == story.ending(story.alone)


def test_if_none_is_whole_the_run_ends_with_a_line_and_begins_nothing_anew(stage, fresh):
    story, run = fresh("rnn")
    for folder in run.glob("step-*"):
        path = folder / "training.json"
        path.write_bytes(flipped(path.read_bytes(), random.Random(1)))
    before = sorted(run.rglob("*"))
    code, said = stage.run(*story.words(run))
    assert code == 2
    (line,) = [line for line in said.splitlines() if line.startswith("dhyan: ")]
    assert "none of its" in line
    assert f"step-{newest_step(run)}/training.json: is not what manifest.json says" in line
    assert sorted(run.rglob("*")) == before
