"""What MLflow and Weights & Biases are given: by stubs of their functions, and by the real ones.

The real packages are used where they are installed: pip install 'dhyan[mlflow,wandb]'.
"""

import json
import shutil
import sys
import time
from importlib.util import find_spec
from types import ModuleType, SimpleNamespace

import pytest

from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.trackers import PACKAGES
from tests.tiny_models import tiny_recipe, write_corpus


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


class StubMLflow:
    """The functions of MlflowClient that are used, which keep what they are given."""

    runs: dict = {}

    def __init__(self, tracking_uri):
        self.uri = tracking_uri

    def get_experiment_by_name(self, name):
        return None

    def create_experiment(self, name):
        return "7"

    def create_run(self, experiment, run_name):
        self.runs[str(len(self.runs))] = {
            "name": run_name,
            "points": [],
            "params": {},
            "states": [],
        }
        return SimpleNamespace(info=SimpleNamespace(run_id=str(len(self.runs) - 1)))

    def update_run(self, run_id, status):
        self.runs[run_id]["states"].append(status)

    def log_batch(self, run_id, metrics=(), params=()):
        assert len(params) <= 100
        self.runs[run_id]["params"] |= dict(params)
        self.runs[run_id]["points"] += [(name, step, value) for name, value, _, step in metrics]

    def set_terminated(self, run_id):
        self.runs[run_id]["states"].append("FINISHED")


class StubWandb(ModuleType):
    """The functions of wandb that are used, which keep what they are given."""

    Settings = staticmethod(dict)

    def __init__(self):
        super().__init__("wandb")
        self.runs = {}

    def init(self, *, id, config, **options):
        import os

        assert os.environ["WANDB_MODE"] == "offline"
        run_id = id or str(len(self.runs))
        run = self.runs.setdefault(run_id, {"points": [], "params": config, "states": []})

        def log(values, step):
            run["points"] += [(name, step, value) for name, value in values.items()]

        return SimpleNamespace(id=run_id, log=log, finish=lambda: run["states"].append("FINISHED"))


@pytest.fixture
def stubs(monkeypatch):
    """Stubs in place of both packages; the runs each of them has been given."""
    mlflow, entities, wandb = ModuleType("mlflow"), ModuleType("mlflow.entities"), StubWandb()
    mlflow.MlflowClient = type("Client", (StubMLflow,), {"runs": {}})
    entities.Metric, entities.Param = (lambda *parts: parts), (lambda *parts: parts)
    modules = {"mlflow": mlflow, "mlflow.entities": entities, "wandb": wandb}
    for name, module in modules.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setattr("dhyan.run.trackers.find_spec", lambda name: True)
    for name in ("WANDB_MODE", "WANDB_ERROR_REPORTING", "MLFLOW_DISABLE_TELEMETRY"):
        monkeypatch.setenv(name, "offline" if name == "WANDB_MODE" else "true")
    return {"mlflow": mlflow.MlflowClient.runs, "wandb": wandb.runs}


def expected_points(out):
    """Name, step and value of every scalar in the metrics of a run."""
    for line in (out / "metrics.jsonl").read_text().splitlines():
        event = json.loads(line)
        if event["event"] == "stepped":
            for name in ("loss", "learning_rate", "gradient_norm"):
                yield f"train/{name}", event["step"], event[name]
        elif event["event"] == "validated":
            for name, value in event["scores"].items():
                yield f"valid/{name}", event["step"], value


def without_speed(points):
    return [point for point in points if point[0] != "train/tokens_per_second"]


@pytest.mark.parametrize("name", PACKAGES)
def test_a_tracker_is_given_every_scalar_once(files, tmp_path, stubs, name):
    out = tmp_path / "run"
    recipe = tiny_recipe(
        "rnn", *files, **{"training.trackers": [name], "training.keep_checkpoints": 99}
    )
    list(train(recipe, out, threads=1))
    ((run_id, run),) = stubs[name].items()
    assert without_speed(run["points"]) == list(expected_points(out))
    assert str(run["params"]["training.steps"]) == "12"
    assert json.loads((out / f"{name}.json").read_text())["run"] == run_id
    for step in (12, 10, 8):
        shutil.rmtree(out / f"step-{step}")
    before = list(run["points"])
    list(train(recipe, out, resume=True, threads=1))
    assert list(stubs[name]) == [run_id], "the run is continued"
    assert run["points"] == before, "what is repeated was given before"
    assert run["states"][-1] == "FINISHED"


def test_a_new_run_in_the_place_of_a_removed_one_is_another(files, tmp_path, stubs):
    recipe = tiny_recipe("rnn", *files, **{"training.trackers": ["wandb"], "training.steps": 2})
    list(train(recipe, tmp_path / "run", threads=1))
    for path in (tmp_path / "run").glob("step-*"):
        shutil.rmtree(path)
    (tmp_path / "run" / "last.json").unlink()
    list(train(recipe, tmp_path / "run", threads=1))
    assert len(stubs["wandb"]) == 2


@pytest.mark.parametrize("name", PACKAGES)
def test_without_the_package_a_run_is_refused(files, tmp_path, monkeypatch, name):
    monkeypatch.setattr("dhyan.run.trackers.find_spec", lambda name: None)
    recipe = tiny_recipe("rnn", *files, **{"training.trackers": [name]})
    with pytest.raises(UserError, match=rf"training.trackers: {name} .*install 'dhyan\[{name}\]'"):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_another_tracker_is_refused(files):
    with pytest.raises(UserError, match="training.trackers"):
        tiny_recipe("rnn", *files, **{"training.trackers": ["comet"]})


@pytest.mark.skipif(
    any(find_spec(package) is None for package in PACKAGES["mlflow"]), reason="no MLflow here"
)
def test_mlflow_has_the_scalars_of_the_metrics(files, tmp_path, monkeypatch):
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    out = tmp_path / "run"
    list(train(tiny_recipe("rnn", *files, **{"training.trackers": ["mlflow"]}), out, threads=1))
    from mlflow import MlflowClient

    client = MlflowClient(tracking_uri=f"sqlite:///{out}/mlflow.db")
    run = client.get_run(json.loads((out / "mlflow.json").read_text())["run"])
    assert (run.info.run_name, run.info.status) == ("run", "FINISHED")
    assert run.data.params["training.steps"] == "12"
    expected = list(expected_points(out))
    for name in ("train/loss", "valid/loss"):
        history = client.get_metric_history(run.info.run_id, name)
        points = [(point.key, point.step, pytest.approx(point.value)) for point in history]
        assert points == [point for point in expected if point[0] == name]


@pytest.mark.skipif(find_spec("wandb") is None, reason="no Weights & Biases here")
def test_wandb_writes_an_offline_run(files, tmp_path, monkeypatch):
    monkeypatch.delenv("WANDB_MODE", raising=False)
    out = tmp_path / "run"
    list(train(tiny_recipe("rnn", *files, **{"training.trackers": ["wandb"]}), out, threads=1))
    run_id = json.loads((out / "wandb.json").read_text())["run"]
    (data,) = (out / "wandb").glob(f"offline-run-*-{run_id}/run-{run_id}.wandb")
    names, deadline = (b"train/loss", b"valid/chrf", b"training.steps"), time.monotonic() + 60
    while not all(name in data.read_bytes() for name in names):  # its own process writes it
        assert time.monotonic() < deadline
        time.sleep(0.1)
