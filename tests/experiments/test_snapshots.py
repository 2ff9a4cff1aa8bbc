"""Every snapshot names a command that writes it, and every run of that command has a valid recipe."""

import json
from importlib.resources import files
from pathlib import Path

import pytest

from dhyan.config import load_recipe
from experiments.snapshots import snapshots

STORED = {
    path.name.removesuffix(".json"): json.loads(path.read_text(encoding="utf-8"))
    for path in (files("dhyan.lessons") / "snapshots").iterdir()
    if path.name.endswith(".json")
}


@pytest.mark.parametrize("name", sorted(STORED))
def test_the_command_that_a_snapshot_names_exists(name):
    command = STORED[name]["provenance"]["command"].split()
    if command[:3] == ["python", "-m", "experiments"]:
        assert command[3:] == [name, "FOLDER"]
        assert name in snapshots(Path("runs"))
    else:
        assert command[:2] == ["dhyan", "compare"]


@pytest.mark.parametrize("name", sorted(snapshots(Path("runs"))))
def test_every_run_of_a_snapshot_has_a_valid_recipe(name):
    for recipe, settings in snapshots(Path("runs"))[name].runs.values():
        load_recipe(recipe, settings)
