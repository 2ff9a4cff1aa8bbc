"""Trainings in processes of their own: followed, cancelled, and ended with whoever began them."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pytest
from fastapi.testclient import TestClient

from dhyan.checkpoint import steps_in
from dhyan.errors import UserError
from dhyan.studio.app import make_app
from dhyan.studio.metrics_log import Tail, trained_now
from dhyan.studio.registry import Shelf
from dhyan.studio.toy_tasks import TOYS
from dhyan.studio.training_jobs import Training, Trainings
from tests.studio.small_models import ALL

TINY = {
    "data.task": "copy", "data.pairs": 60, "data.max_tokens": 30,
    "training.tokens_per_batch": 64, "training.warmup_steps": 2,
    "training.steps": 8, "training.save_every": 2, "training.validate_every": 4,
    "training.valid_sentences": 2, "training.keep_checkpoints": 100, "training.report_every": 1,
    "encoder.embedding_width": 8, "encoder.width": 8, "decoder.embedding_width": 8, "decoder.width": 8,
    "decoder.readout_width": 8, "decoder.attention.score_width": 8, "decoding.beam": 1,
    "decoding.max_length": 12,
}  # fmt: skip
ENDLESS = {**TINY, "training.steps": 1_000_000, "training.save_every": 1_000_000}
STEPS = ALL["training.steps"]  # of the small models


def until(true, seconds=60):
    """Wait for something to be so."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "it did not come"
        time.sleep(0.05)


def test_a_tail_waits_for_whole_lines_and_passes_over_damaged_ones(tmp_path):
    path = tmp_path / "metrics.jsonl"
    tail = Tail(path)
    assert tail.new() == (False, [])
    path.write_text('{"event": "saved", "step": 0}\nnot json\n{"event": "ste')
    assert tail.new() == (False, [{"event": "saved", "step": 0}])
    assert tail.new() == (False, [])
    with path.open("a") as file:
        file.write('pped", "step": 1}\n')
    assert tail.new() == (False, [{"event": "stepped", "step": 1}])


def test_a_tail_begins_anew_with_a_file_that_was_replaced(tmp_path):
    path, other = tmp_path / "metrics.jsonl", tmp_path / "other"
    path.write_text('{"event": "stepped", "step": 7}\n')
    tail = Tail(path)
    tail.new()
    other.write_text('{"event": "stepped", "step": 1}\n')
    other.rename(path)
    assert tail.new() == (True, [{"event": "stepped", "step": 1}])


def test_a_training_that_fails_says_why(tmp_path):
    (tmp_path / "step-3").mkdir()
    training = Training("tiny", "numbers", tmp_path, settings=TINY)
    assert training.wait(60) == "failed"
    assert "holds a run already" in training.progress().problem
    training.end()


def test_settings_that_do_not_fit_are_refused_before_anything_is_started(tmp_path):
    with pytest.raises(UserError, match="steps"):
        Training("tiny", "numbers", tmp_path / "new", settings={"training.stepps": 3})
    assert not (tmp_path / "new").exists()


def test_one_trains_at_a_time_and_a_cancelled_one_leaves_a_checkpoint(tmp_path):
    trainings = Trainings(tmp_path)
    first = trainings.start("copy", "numbers", ENDLESS)
    with pytest.raises(UserError, match="copy-1 is in training"):
        trainings.start("copy", "numbers", TINY)
    until(lambda: first.progress().step > 3)
    assert trained_now(first.folder)
    assert first.progress().seconds_left > 0
    first.cancel()
    assert first.wait(30) == "cancelled"
    assert max(steps_in(first.folder)) > 3
    assert not trained_now(first.folder)
    second = trainings.start("copy", "numbers", ENDLESS)
    assert [one.name for one in trainings.all()] == ["copy-1", "copy-2"]
    trainings.end()
    assert second.state == "cancelled"


def test_a_training_ends_when_its_starter_is_killed(tmp_path):
    code = (
        "import sys, time, json\n"
        "from pathlib import Path\n"
        "from dhyan.studio.training_jobs import Training\n"
        "t = Training('x', 'numbers', Path(sys.argv[1]), settings=json.loads(sys.argv[2]))\n"
        "print(t._process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "x"), json.dumps(ENDLESS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as starter:
        int(starter.stdout.readline())
        until(lambda: trained_now(tmp_path / "x"))
        os.kill(starter.pid, signal.SIGKILL)
    until(lambda: not trained_now(tmp_path / "x"))


def test_following_a_run_needs_no_torch():
    code = (
        "import sys, dhyan.studio.training_jobs, dhyan.studio.routes.trainings as q\n"
        "from dhyan.studio.registry import Shelf\n"
        "q.Runs(Shelf([])).all()\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def tiny_toys(monkeypatch):
    """A copying toy that is done at once, and a reversing one that never is."""
    monkeypatch.setitem(TOYS, "copy", replace(TOYS["copy"], settings=TINY))
    monkeypatch.setitem(TOYS, "reverse", replace(TOYS["reverse"], settings=ENDLESS))


def heard(client, name):
    """All events of a run, each a kind and its data."""
    answer = client.get(f"/api/runs/{name}/events")
    assert answer.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in answer.text.strip().split("\n\n")]
    return [(kind[7:], json.loads(data[6:])) for kind, data in blocks]


def test_a_toy_is_trained_followed_probed_and_joins_the_shelf(tiny_toys):
    shelf = Shelf([])
    client = TestClient(make_app(shelf), base_url="http://127.0.0.1")
    run = client.post("/api/toys", json={"kind": "copy"}).json()
    assert (run["name"], run["toy"], run["answer"]) == ("copy-1", True, run["probe"])
    assert run["progress"]["state"] == "running"
    events = heard(client, "copy-1")
    assert events[-1] == ("done", None)
    told = [one for kind, data in events if kind == "metrics" for one in data["events"]]
    assert [one["step"] for one in told if one["event"] == "stepped"] == list(range(1, 9))
    [now] = client.get("/api/runs").json()["runs"]
    assert now["checkpoints"] == [0, 2, 4, 6, 8]
    far = now["progress"]
    assert (far["state"], far["step"], far["steps"], far["problem"]) == ("done", 8, 8, "")
    assert far["seconds_left"] is None
    assert far["loss"] > 0
    assert {"loss", "bleu", "chrf"} <= set(far["scores"])
    maps = []
    for step in (0, 8):
        asked = {"run": "copy-1", "step": step, "text": run["probe"]}
        found = client.post("/api/probe", json=asked).json()
        assert (found["step"], found["rows"]) == (step, "answer")
        assert found["right"] == (found["said"] == run["answer"])
        words = [token["text"] for token in found["trace"]["target"]["tokens"]]
        assert words[:-1] == run["answer"].split()
        maps.append(found["trace"]["attention"][0]["data"])
    assert maps[0] != maps[1]
    until(lambda: "copy-1" in shelf.books)
    assert [one["name"] for one in client.get("/api/models").json()] == ["copy-1"]


def test_a_toy_can_be_cancelled(tiny_toys):
    client = TestClient(make_app(Shelf([])), base_url="http://127.0.0.1")
    client.post("/api/toys", json={"kind": "reverse"})
    answer = client.post("/api/toys", json={"kind": "copy"})
    assert answer.status_code == 400
    assert "reverse-1 is in training" in answer.json()["error"]["message"]
    client.post("/api/toys/reverse-1/cancel")
    assert heard(client, "reverse-1")[-2][1]["state"] == "cancelled"


def test_a_model_of_the_shelf_is_followed_from_what_it_wrote(client):
    runs = {one["name"]: one for one in client.get("/api/runs").json()["runs"]}
    assert runs["bahdanau"]["curves"]
    assert max(runs["bahdanau"]["checkpoints"]) == STEPS
    [(_, metrics), (_, progress), (last, _)] = heard(client, "bahdanau")
    assert {one["event"] for one in metrics["events"]} == {"saved", "stepped", "validated"}
    assert (progress["state"], progress["step"], last) == ("done", STEPS, "done")


def test_the_checkpoints_of_a_model_are_probed_over_the_same_words(client):
    steps = client.get("/api/runs").json()["runs"][1]["checkpoints"]
    sides = set()
    for step in steps:
        asked = {"run": "bahdanau", "step": step, "text": "The dog will sit."}
        found = client.post("/api/probe", json=asked).json()
        assert found["rows"] == "best"
        assert found["right"] is None
        sides.add(tuple(found["trace"]["target"]["words"]))
    assert len(steps) > 1
    assert len(sides) == 1


@pytest.mark.parametrize(
    ("asked", "problem"),
    [
        ({"run": "bahdanau", "step": 7, "text": "Hello."}, "no checkpoint of step 7"),
        ({"run": "nobody", "step": 0, "text": "Hello."}, "no run 'nobody'"),
        ({"run": "bahdanau", "step": STEPS, "text": ""}, "0 tokens"),
    ],
)
def test_what_cannot_be_probed_is_said(client, asked, problem):
    answer = client.post("/api/probe", json=asked)
    assert answer.status_code == 400
    assert problem in answer.json()["error"]["message"]
