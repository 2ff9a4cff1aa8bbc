"""The card of a pretrained model has the commands that trained it."""

import sys
from pathlib import Path

import pytest

from experiments.pretrained import __main__ as command_line
from experiments.pretrained import build


def run(monkeypatch, *words):
    monkeypatch.setattr(sys, "argv", ["pretrained", *map(str, words)])
    command_line.main()


@pytest.fixture
def packed(monkeypatch):
    """Keyword arguments of every model packed; nothing is trained."""
    calls = []
    monkeypatch.setattr(command_line, "train", lambda *arguments, **options: None)
    monkeypatch.setattr(build, "add_training_sentences", lambda *arguments: None)
    monkeypatch.setattr(
        build, "pack_model", lambda *arguments, **options: calls.append(options) or Path()
    )
    return calls


def test_the_card_names_every_command_of_the_training(packed, monkeypatch, tmp_path):
    places = ("--out", tmp_path, "--commit", "abc")
    run(monkeypatch, "train", *places, "--seconds", 360)
    run(monkeypatch, "train", *places, "--seconds", 360, "--set", "training.r_drop=2")
    run(monkeypatch, "pack", "en-hi-luong", *places, "--models", tmp_path)
    [options] = packed
    module = "python -m experiments.pretrained"
    assert options["command"] == (
        f"{module} train --seconds 360.0"
        f" && {module} train --seconds 360.0 --set training.r_drop=2"
        f" && {module} pack en-hi-luong"
    )
    assert options["commit"] == "abc"
