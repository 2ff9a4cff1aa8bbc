"""Demo models: their corpus, training in the background, resuming."""

import json
import random
import re
import time

import pytest

from dhyan.checkpoint import steps_in
from dhyan.studio import demo_models
from dhyan.studio.demo_models import (
    NAMES,
    DemoTraining,
    cache_folder,
    informal,
    note_sentences,
    trained_models,
    write_corpus,
)
from tests.tiny_models import dhyan

FEW = {
    "steps": 40, "warmup_steps": 4, "validate_every": 40, "save_every": 5, "valid_sentences": 2,
    "tokens_per_batch": 260, "embedding_width": 12, "width": 12,
    "readout_width": 12, "score_width": 12,
}  # fmt: skip
EXAMPLES = (demo_models.DEMO_RECIPES / ".." / "static" / "js" / "example_sentences.js").resolve()


def test_sentences_of_the_notes_are_in_corpus_and_examples():
    corpus = {line[0][0] for line in note_sentences()}
    examples = set(re.findall(r'^  \["([^"]+)"', EXAMPLES.read_text(), re.MULTILINE))
    required = {
        "Think about it.", "Come in.", "Turn off the lights.", "How are you?", "We are friends.",
        "I like eating pizza.", "The chicken is ready to eat.", "Nice to meet you.",
        "The man saw the astronomer with a telescope.", "A transformer lowers the voltage.",
        "Apple launched a new phone while I was eating an orange.",
    }  # fmt: skip
    assert required <= corpus
    assert required <= examples


def test_a_template_gives_all_combinations_of_its_words():
    [turn] = [line for line in note_sentences() if line[0][0].startswith("Turn")]
    assert len(turn) == 2 * 5
    assert ("Turn on the fan.", "पंखा चालू करो।") in turn


def test_informal_sentences_lack_capitals_and_full_stops():
    rng = random.Random(0)
    variants = {informal("The river is far.", "नदी दूर है।", rng, 1.0) for _ in range(50)}
    assert variants == {("the river is far.", "नदी दूर है।"), ("the river is far", "नदी दूर है")}
    assert informal("Sita came.", "सीता आई।", rng, 0.0) == ("Sita came.", "सीता आई।")
    assert all(informal("Sita came.", "सीता आई।", rng, 1.0)[0].startswith("Sita") for _ in range(9))


def test_the_corpus_is_written_once_with_separate_validation_sentences(tmp_path, monkeypatch):
    monkeypatch.setattr(demo_models, "PAIRS", 300)
    folder = write_corpus(tmp_path / "corpus")
    lines = {name: (folder / name).read_text().splitlines() for name in ("train.en", "train.hi")}
    assert len(lines["train.en"]) == len(lines["train.hi"]) > 300
    valid = (folder / "valid.hi").read_text().splitlines()
    assert not set(valid) & set(lines["train.hi"])
    before = (folder / "train.en").stat().st_mtime_ns
    assert write_corpus(folder) == folder
    assert (folder / "train.en").stat().st_mtime_ns == before


def test_the_models_are_in_the_users_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    before = cache_folder()
    assert before.parent == tmp_path / "dhyan"
    monkeypatch.setattr(demo_models, "NOTE_REPEATS", 3)
    assert cache_folder() != before


@pytest.fixture
def quick(monkeypatch, tmp_path):
    """One of the models, small, of few steps and sentences."""
    few = tmp_path / "few"
    few.mkdir()
    text = (demo_models.DEMO_RECIPES / "bahdanau.toml").read_text()
    (few / "notes.txt").write_bytes((demo_models.DEMO_RECIPES / "notes.txt").read_bytes())
    for key, value in FEW.items():
        text, count = re.subn(rf"\b({key}) = [\d.]+", rf"\1 = {value}", text)
        assert count
    (few / "bahdanau.toml").write_text(text)
    monkeypatch.setattr(demo_models, "DEMO_RECIPES", few)
    monkeypatch.setattr(demo_models, "NAMES", NAMES[:1])
    for name, value in {
        "PAIRS": 100,
        "VALID_PAIRS": 5,
        "NOTE_REPEATS": 1,
        "VARIANT_REPEATS": 1,
    }.items():
        monkeypatch.setattr(demo_models, name, value)
    return tmp_path / "models"


def wait_for(condition, seconds=90):
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)


def is_settled(training):
    return all(model.state not in ("waiting", "running") for model in training.progress())


@pytest.mark.slow
def test_missing_models_are_trained_and_resumed_after_a_stop(quick):
    folder = quick / "bahdanau"
    trained, lines = {}, []
    first = DemoTraining(quick, trained.__setitem__, lines.append)
    assert [model.state for model in first.progress()] == ["waiting"]
    first.start()
    wait_for((folder / "step-5").exists)
    first.stop()
    stopped = max(steps_in(folder))
    assert 5 <= stopped < FEW["steps"]
    assert not trained_models(quick)
    second = DemoTraining(quick, trained.__setitem__, lines.append)
    second.start()
    wait_for(lambda: "bahdanau is ready" in lines)
    assert is_settled(second)
    assert trained == {"bahdanau": folder}
    assert trained_models(quick) == [folder]
    assert not DemoTraining(quick, trained.__setitem__, lines.append).progress()
    events = map(json.loads, (folder / "metrics.jsonl").read_text().splitlines())
    steps = [event["step"] for event in events if event["event"] == "stepped"]
    assert steps == sorted(set(steps)), "a step was taken twice"
    assert steps[-1] == FEW["steps"]


def test_an_unwritable_cache_is_reported(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(demo_models, "PAIRS", 30)
    lines = []
    training = DemoTraining(tmp_path / "file" / "models", lambda name, folder: None, lines.append)
    training.start()
    wait_for(lambda: is_settled(training))
    assert {model.state for model in training.progress()} == {"failed"}
    assert "cannot be trained" in lines[0]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nowhere"], "nowhere: no such model folder"),
        (["--port", "99999"], "65535"),
        (["--trace", "none.json"], "none.json"),
    ],
)
def test_an_invalid_argument_is_one_line_of_error(tmp_path, arguments, message):
    result = dhyan("studio", *arguments, "--no-browser", cwd=tmp_path)
    assert result.returncode == 2
    assert message in result.stderr.decode()
    assert result.stderr.decode().count("\n") == 1
