"""The models that are there when none is named: what they learn from, and how they come."""

import json
import random
import re
import time

import pytest

from dhyan.checkpoint import steps_in
from dhyan.studio import demo_corpus as curriculum
from dhyan.studio import demo_models as offer
from dhyan.studio.demo_corpus import notes, typed, write_corpus
from dhyan.studio.demo_models import NAMES, Offer, kept, place
from tests.tiny_models import dhyan

FEW = {
    "steps": 40, "warmup_steps": 4, "validate_every": 40, "save_every": 5, "valid_sentences": 2,
    "tokens_per_batch": 260, "embedding_width": 12, "width": 12, "feed_forward_width": 12,
    "readout_width": 12, "score_width": 12,
}  # fmt: skip
EXAMPLES = (curriculum.OFFERED / ".." / "static" / "js" / "examples.js").resolve()


def test_the_notes_sentences_are_learnt_from_and_offered():
    own = {line[0][0] for line in notes()}
    shown = set(re.findall(r'^  \["([^"]+)"', EXAMPLES.read_text(), re.MULTILINE))
    wanted = {
        "Think about it.", "Come in.", "Turn off the lights.", "How are you?", "We are friends.",
        "I like eating pizza.", "The chicken is ready to eat.", "Nice to meet you.",
        "The man saw the astronomer with a telescope.", "A transformer lowers the voltage.",
        "Apple launched a new phone while I was eating an orange.",
    }  # fmt: skip
    assert wanted <= own
    assert wanted <= shown


def test_a_line_of_notes_gives_every_word_with_every_other():
    [turn] = [line for line in notes() if line[0][0].startswith("Turn")]
    assert len(turn) == 2 * 5
    assert ("Turn on the fan.", "पंखा चालू करो।") in turn


def test_some_sentences_are_written_as_people_type():
    dice = random.Random(0)
    ways = {typed("The river is far.", "नदी दूर है।", dice, 1.0) for _ in range(50)}
    assert ways == {("the river is far.", "नदी दूर है।"), ("the river is far", "नदी दूर है")}
    assert typed("Sita came.", "सीता आई।", dice, 0.0) == ("Sita came.", "सीता आई।")
    assert all(typed("Sita came.", "सीता आई।", dice, 1.0)[0].startswith("Sita") for _ in range(9))


def test_the_corpus_is_written_once_and_keeps_its_valid_sentences_apart(tmp_path, monkeypatch):
    monkeypatch.setattr(curriculum, "PAIRS", 300)
    folder = write_corpus(tmp_path / "corpus")
    lines = {name: (folder / name).read_text().splitlines() for name in ("train.en", "train.hi")}
    assert len(lines["train.en"]) == len(lines["train.hi"]) > 300
    valid = (folder / "valid.hi").read_text().splitlines()
    assert not set(valid) & set(lines["train.hi"])
    before = (folder / "train.en").stat().st_mtime_ns
    assert write_corpus(folder) == folder
    assert (folder / "train.en").stat().st_mtime_ns == before


def test_the_models_lie_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = place()
    assert before.parent == tmp_path / "dhyan"
    monkeypatch.setattr(offer, "OWN", 3)
    assert place() != before


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """One of the models, small, of few steps and sentences."""
    few = tmp_path / "few"
    few.mkdir()
    text = (offer.OFFERED / "bahdanau.toml").read_text()
    for key, value in FEW.items():
        text, found = re.subn(rf"\b({key}) = [\d.]+", rf"\1 = {value}", text)
        assert found
    (few / "bahdanau.toml").write_text(text)
    monkeypatch.setattr(offer, "OFFERED", few)
    monkeypatch.setattr(offer, "NAMES", NAMES[:1])
    for name, value in {"PAIRS": 100, "VALID": 5, "OWN": 1, "TIMES": 1}.items():
        monkeypatch.setattr(curriculum, name, value)
    return tmp_path / "models"


def until(true, seconds=90):
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def settled(offered):
    return all(one.state not in ("waiting", "running") for one in offered.told())


@pytest.mark.slow
def test_what_is_not_kept_is_trained_goes_on_after_a_stop_and_is_brought(quick):
    folder = quick / "bahdanau"
    brought, said = {}, []
    first = Offer(quick, brought.__setitem__, said.append)
    assert [one.state for one in first.told()] == ["waiting"]
    first.begin()
    until((folder / "step-5").exists)
    first.end()
    stopped = max(steps_in(folder))
    assert 5 <= stopped < FEW["steps"]
    assert not kept(quick)
    second = Offer(quick, brought.__setitem__, said.append)
    second.begin()
    until(lambda: "bahdanau is ready" in said)
    assert settled(second)
    assert brought == {"bahdanau": folder}
    assert kept(quick) == [folder]
    assert not Offer(quick, brought.__setitem__, said.append).told()
    told = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    steps = [one["step"] for one in told if one["event"] == "stepped"]
    assert steps == sorted(set(steps)), "a step was taken twice"
    assert steps[-1] == FEW["steps"]


def test_a_place_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(curriculum, "PAIRS", 30)
    said = []
    offered = Offer(tmp_path / "file" / "models", lambda name, folder: None, said.append)
    offered.begin()
    until(lambda: settled(offered))
    assert {one.state for one in offered.told()} == {"failed"}
    assert "cannot be trained" in said[0]


@pytest.mark.parametrize(
    ("words", "found"),
    [
        (["nowhere"], "nowhere: no such model folder"),
        (["--port", "99999"], "65535"),
        (["--trace", "none.json"], "none.json"),
    ],
)
def test_what_cannot_be_opened_is_one_line(tmp_path, words, found):
    done = dhyan("studio", *words, "--no-browser", cwd=tmp_path)
    assert done.returncode == 2
    assert found in done.stderr.decode()
    assert done.stderr.decode().count("\n") == 1
