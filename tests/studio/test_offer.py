"""The models that are there when none is named: what they learn from, and how they come."""

import json
import random
import re
import time

import pytest

from dhyan.studio import curriculum, offer
from dhyan.studio.curriculum import notes, typed, write_corpus
from dhyan.studio.offer import NAMES, Offer, kept, place
from tests.tiny import dhyan

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
    """Two of the models, of few steps and sentences."""
    few = tmp_path / "few"
    few.mkdir()
    for name in NAMES[:2]:
        text = (offer.OFFERED / f"{name}.toml").read_text()
        text = re.sub(r"^steps = .*$", "steps = 20", text, flags=re.MULTILINE)
        text = re.sub(r"^warmup = .*$", "warmup = 4", text, flags=re.MULTILINE)
        text = re.sub(r"^(validate|save)_every = .*$", r"\1_every = 10", text, flags=re.MULTILINE)
        (few / f"{name}.toml").write_text(text)
    monkeypatch.setattr(offer, "OFFERED", few)
    monkeypatch.setattr(offer, "NAMES", NAMES[:2])
    monkeypatch.setattr(curriculum, "PAIRS", 300)
    return tmp_path / "models"


def until_none_is_left(offered, seconds=90):
    end = time.monotonic() + seconds
    while any(one.state in ("waiting", "running") for one in offered.told()):
        assert time.monotonic() < end
        time.sleep(0.1)


@pytest.mark.slow
def test_what_is_not_kept_is_trained_and_brought(quick):
    brought, said = {}, []
    offered = Offer(quick, brought.__setitem__, said.append)
    assert [one.state for one in offered.told()] == ["waiting", "waiting"]
    offered.begin()
    until_none_is_left(offered)
    assert {one.name: one.state for one in offered.told()} == dict.fromkeys(NAMES[:2], "done")
    time.sleep(0.2)
    assert set(brought) == set(NAMES[:2])
    assert kept(quick) == [quick / name for name in NAMES[:2]]
    assert not Offer(quick, brought.__setitem__, said.append).told()
    assert "bahdanau is ready" in said


@pytest.mark.slow
def test_a_training_that_was_stopped_goes_on_at_the_next_start(quick):
    first = Offer(quick, lambda name, folder: None, lambda line: None)
    first.begin()
    while not (quick / "bahdanau" / "step-10").exists():
        time.sleep(0.05)
    first.end()
    begun = {name: (quick / name / "step-0").exists() for name in NAMES[:2]}
    assert begun["bahdanau"]
    second = Offer(quick, lambda name, folder: None, lambda line: None)
    second.begin()
    until_none_is_left(second)
    assert [path.name for path in kept(quick)] == list(NAMES[:2])
    told = (quick / "bahdanau" / "metrics.jsonl").read_text().splitlines()
    assert max(json.loads(line)["step"] for line in told) == 20


def test_a_place_that_cannot_be_written_is_told(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(curriculum, "PAIRS", 30)
    said = []
    offered = Offer(tmp_path / "file" / "models", lambda name, folder: None, said.append)
    offered.begin()
    until_none_is_left(offered)
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
