"""Whatever is killed, every line of every shard is translated once, as a single process does it."""

import json
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.batch_translation.killed_jobs import (
    DEADLINE,
    check_outputs,
    kill_and_finish,
    single_process,
    start,
    write_shards,
)
from tests.tiny_models import here

ENGINES = {"local": "dhyan", "dask": "distributed", "ray": "ray"}


def needs(engine):
    if find_spec(ENGINES[engine]) is None:
        pytest.skip(f"{engine} is not installed: pip install 'dhyan[{engine}]'")


@pytest.fixture(scope="module")
def few(tmp_path_factory):
    folder = tmp_path_factory.mktemp("few")
    source = write_shards(folder / "in", shards=8, lines=12)
    return source, single_process(source, folder / "reference", here)


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    folder = tmp_path_factory.mktemp("many")
    source = write_shards(folder / "in", shards=200, lines=40)
    return source, single_process(source, folder / "reference", here)


@pytest.mark.parametrize(("engine", "drivers"), [("local", 1), ("dask", 0)])
def test_a_killed_worker_and_driver_lose_and_double_nothing(few, tmp_path, engine, drivers):
    needs(engine)
    source, reference = few
    killed, again = kill_and_finish(
        source, tmp_path / "out", "--engine", engine, "--workers", 2, workers=1, drivers=drivers
    )
    assert killed == {"workers": 1, "drivers": drivers}
    assert not again
    check_outputs(source, tmp_path / "out", reference)


def test_two_commands_at_once_share_the_shards(few, tmp_path):
    source, reference = few
    commands = [start(source, tmp_path / "out", "--workers", 1) for _ in range(2)]
    assert [command.wait(DEADLINE) for command in commands] == [0, 0]
    check_outputs(source, tmp_path / "out", reference)
    (tmp_path / "out" / "manifest.json").unlink()
    assert start(source, tmp_path / "out").wait(DEADLINE) == 0, "nothing is left but the manifest"
    check_outputs(source, tmp_path / "out", reference)


@pytest.mark.soak
@pytest.mark.parametrize("engine", ENGINES)
def test_twenty_killed_workers_and_five_drivers_lose_and_double_nothing(many, tmp_path, engine):
    needs(engine)
    source, reference = many
    start = time.monotonic()
    killed, again = kill_and_finish(
        source, tmp_path / "out", "--engine", engine, "--workers", 2, workers=20, drivers=5
    )
    assert killed == {"workers": 20, "drivers": 5}
    assert not again
    check_outputs(source, tmp_path / "out", reference)
    lines = json.loads((Path(tmp_path) / "out" / "manifest.json").read_text())["lines"]
    print(f"{engine}: 200 shards, {lines:,} lines, {killed}, {time.monotonic() - start:.0f} s")
