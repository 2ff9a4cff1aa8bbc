"""Training jobs: followed, cancelled, stopped with their parent; toys and probes."""

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
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.routes.training import TOYS
from dhyan.studio.server import make_app
from dhyan.studio.training_job import MetricsTail, TrainingJob, TrainingJobs, is_training
from tests.studio.small_models import ALL

TINY = {
    "data.synthetic": "copy", "data.pairs": 60, "data.max_tokens": 30,
    "training.tokens_per_batch": 64, "training.warmup_steps": 2,
    "training.steps": 8, "training.save_every": 2, "training.validate_every": 4,
    "training.valid_sentences": 2, "training.keep_checkpoints": 100, "training.report_every": 1,
    "encoder.embedding_width": 8, "encoder.width": 8, "decoder.embedding_width": 8, "decoder.width": 8,
    "decoder.readout_width": 8, "decoder.attention.score_width": 8, "decoding.beam": 1,
    "decoding.max_length": 12,
}  # fmt: skip
ENDLESS = {**TINY, "training.steps": 1_000_000, "training.save_every": 1_000_000}
STEPS = ALL["training.steps"]  # of the small models


def wait_for(condition, seconds=60):
    """Wait until a condition holds."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "timed out"
        time.sleep(0.05)


def test_a_tail_waits_for_complete_lines_and_skips_damaged_ones(tmp_path):
    path = tmp_path / "metrics.jsonl"
    tail = MetricsTail(path)
    assert tail.read_new() == (False, [])
    path.write_text('{"event": "saved", "step": 0}\nnot json\n{"event": "ste')
    assert tail.read_new() == (False, [{"event": "saved", "step": 0}])
    assert tail.read_new() == (False, [])
    with path.open("a") as file:
        file.write('pped", "step": 1}\n')
    assert tail.read_new() == (False, [{"event": "stepped", "step": 1}])


def test_a_tail_rereads_a_replaced_file(tmp_path):
    path, other = tmp_path / "metrics.jsonl", tmp_path / "other"
    path.write_text('{"event": "stepped", "step": 7}\n')
    tail = MetricsTail(path)
    tail.read_new()
    other.write_text('{"event": "stepped", "step": 1}\n')
    other.rename(path)
    assert tail.read_new() == (True, [{"event": "stepped", "step": 1}])


def test_a_failed_job_has_an_error(tmp_path):
    (tmp_path / "step-3").mkdir()
    job = TrainingJob("tiny", "numbers", tmp_path, settings=TINY)
    assert job.wait(60) == "failed"
    assert "holds a run already" in job.progress().error
    job.stop()


def test_invalid_settings_are_refused_before_a_job_starts(tmp_path):
    with pytest.raises(UserError, match="steps"):
        TrainingJob("tiny", "numbers", tmp_path / "new", settings={"training.stepps": 3})
    assert not (tmp_path / "new").exists()


def test_one_job_runs_at_a_time_and_a_cancelled_one_leaves_a_checkpoint(tmp_path):
    jobs = TrainingJobs(tmp_path)
    first = jobs.start("copy", "numbers", ENDLESS)
    with pytest.raises(UserError, match="copy-1 is in training"):
        jobs.start("copy", "numbers", TINY)
    wait_for(lambda: first.progress().step > 3)
    assert is_training(first.folder)
    assert first.progress().seconds_left > 0
    first.cancel()
    assert first.wait(30) == "cancelled"
    assert max(steps_in(first.folder)) > 3
    assert not is_training(first.folder)
    second = jobs.start("copy", "numbers", ENDLESS)
    assert [job.name for job in jobs.all()] == ["copy-1", "copy-2"]
    jobs.stop()
    assert second.state == "cancelled"


def test_a_job_stops_when_its_parent_is_killed(tmp_path):
    code = (
        "import sys, time, json\n"
        "from pathlib import Path\n"
        "from dhyan.studio.training_job import TrainingJob\n"
        "t = TrainingJob('x', 'numbers', Path(sys.argv[1]), settings=json.loads(sys.argv[2]))\n"
        "print(t._process.pid, flush=True)\n"
        "time.sleep(600)\n"
    )
    command = [sys.executable, "-c", code, str(tmp_path / "x"), json.dumps(ENDLESS)]
    with subprocess.Popen(command, stdout=subprocess.PIPE) as starter:
        int(starter.stdout.readline())
        wait_for(lambda: is_training(tmp_path / "x"))
        os.kill(starter.pid, signal.SIGKILL)
    wait_for(lambda: not is_training(tmp_path / "x"))


def test_following_a_run_needs_no_torch():
    code = (
        "import sys, dhyan.studio.training_job, dhyan.studio.routes.training as routes\n"
        "from dhyan.studio.registry import ModelRegistry\n"
        "routes.Runs(ModelRegistry([])).all()\n"
        "assert 'torch' not in sys.modules"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.fixture
def tiny_toys(monkeypatch):
    """A copying toy that is done at once, and a reversing one that never is."""
    monkeypatch.setitem(TOYS, "copy", replace(TOYS["copy"], settings=TINY))
    monkeypatch.setitem(TOYS, "reverse", replace(TOYS["reverse"], settings=ENDLESS))


def events_of(client, name):
    """All events of a run, each a name and its data."""
    response = client.get(f"/api/runs/{name}/events")
    assert response.headers["content-type"].startswith("text/event-stream")
    blocks = [block.split("\n") for block in response.text.strip().split("\n\n")]
    return [(name[7:], json.loads(data[6:])) for name, data in blocks]


def test_a_toy_is_trained_followed_probed_and_registered(tiny_toys):
    registry = ModelRegistry([])
    client = TestClient(make_app(registry), base_url="http://127.0.0.1")
    run = client.post("/api/toys", json={"task": "copy"}).json()
    assert (run["name"], run["toy"], run["expected"]) == ("copy-1", True, run["probe"])
    assert run["progress"]["state"] == "running"
    events = events_of(client, "copy-1")
    assert events[-1] == ("done", None)
    logged = [event for name, data in events if name == "metrics" for event in data["events"]]
    assert [event["step"] for event in logged if event["event"] == "stepped"] == list(range(1, 9))
    answer = client.get("/api/runs").json()
    assert answer["metrics"]["chrf"] == "chrF++"
    assert answer["metrics"]["macro_f1"] == "macro-F1"
    [now] = answer["runs"]
    assert now["checkpoints"] == [0, 2, 4, 6, 8]
    progress = now["progress"]
    assert (progress["state"], progress["step"], progress["steps"], progress["error"]) == (
        "done",
        8,
        8,
        "",
    )
    assert progress["seconds_left"] is None
    assert progress["loss"] > 0
    assert {"loss", "bleu", "chrf"} <= set(progress["scores"])
    maps = []
    for step in (0, 8):
        body = {"run": "copy-1", "step": step, "text": run["probe"]}
        probe = client.post("/api/probe", json=body).json()
        assert (probe["step"], probe["target"]) == (step, "expected")
        assert probe["correct"] == (probe["translation"] == run["expected"])
        words = [token["text"] for token in probe["trace"]["target"]["tokens"]]
        assert words[:-1] == run["expected"].split()
        maps.append(probe["trace"]["attention"][0]["data"])
    assert maps[0] != maps[1]
    wait_for(lambda: "copy-1" in registry.models)
    assert [model["name"] for model in client.get("/api/models").json()] == ["copy-1"]


def test_a_toy_can_be_cancelled(tiny_toys):
    client = TestClient(make_app(ModelRegistry([])), base_url="http://127.0.0.1")
    client.post("/api/toys", json={"task": "reverse"})
    response = client.post("/api/toys", json={"task": "copy"})
    assert response.status_code == 400
    assert "reverse-1 is in training" in response.json()["error"]["message"]
    client.post("/api/toys/reverse-1/cancel")
    assert events_of(client, "reverse-1")[-2][1]["state"] == "cancelled"


def test_a_registered_model_is_followed_by_its_metrics_log(client):
    runs = {run["name"]: run for run in client.get("/api/runs").json()["runs"]}
    assert runs["bahdanau"]["curves"]
    assert max(runs["bahdanau"]["checkpoints"]) == STEPS
    [(_, metrics), (_, progress), (last, _)] = events_of(client, "bahdanau")
    assert {event["event"] for event in metrics["events"]} == {"saved", "stepped", "validated"}
    assert (progress["state"], progress["step"], last) == ("done", STEPS, "done")


def test_checkpoints_are_probed_with_the_same_target_words(client):
    steps = client.get("/api/runs").json()["runs"][1]["checkpoints"]
    sides = set()
    for step in steps:
        body = {"run": "bahdanau", "step": step, "text": "The dog will sit."}
        probe = client.post("/api/probe", json=body).json()
        assert probe["target"] == "best"
        assert probe["correct"] is None
        sides.add(tuple(probe["trace"]["target"]["words"]))
    assert len(steps) > 1
    assert len(sides) == 1


@pytest.mark.parametrize(
    ("request_body", "message"),
    [
        ({"run": "bahdanau", "step": 7, "text": "Hello."}, "no checkpoint of step 7"),
        ({"run": "nobody", "step": 0, "text": "Hello."}, "no run 'nobody'"),
        ({"run": "bahdanau", "step": STEPS, "text": ""}, "the sentence is empty"),
    ],
)
def test_an_impossible_probe_is_refused(client, request_body, message):
    response = client.post("/api/probe", json=request_body)
    assert response.status_code == 400
    assert message in response.json()["error"]["message"]
