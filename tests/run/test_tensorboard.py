"""What TensorBoard is given to draw."""

import json
import shutil

import pytest
from tensorboard.backend.event_processing import event_accumulator as accumulator

from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.tensorboard import require_tensorboard, scalars
from dhyan.training.events import Saved, Stepped
from tests.tiny_models import tiny_recipe, write_corpus


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"))


def read_curves(run):
    """Every curve of a run in TensorBoard, as steps and values."""
    events = accumulator.EventAccumulator(str(run / "tensorboard"))
    events.Reload()
    return {
        tag: [(point.step, point.value) for point in events.Scalars(tag)]
        for tag in events.Tags()["scalars"]
    }


def test_tensorboard_has_the_scalars_of_the_metrics(files, tmp_path):
    out = tmp_path / "run"
    recipe = tiny_recipe(
        "rnn", *files, **{"training.tensorboard": True, "training.keep_checkpoints": 99}
    )
    list(train(recipe, out, threads=1))
    curves = read_curves(out)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    stepped = [line for line in lines if line["event"] == "stepped"]
    validated = [line for line in lines if line["event"] == "validated"]
    for name in ("loss", "learning_rate", "gradient_norm"):
        expected = [(line["step"], pytest.approx(line[name])) for line in stepped]
        assert curves[f"train/{name}"] == expected
    for name in ("loss", "bleu", "chrf"):
        expected = [(line["step"], pytest.approx(line["scores"][name])) for line in validated]
        assert curves[f"valid/{name}"] == expected
    for step in (12, 10, 8):
        shutil.rmtree(out / f"step-{step}")
    list(train(recipe, out, resume=True, threads=1))
    again = read_curves(out)
    assert [step for step, _ in again["train/loss"]] == list(range(1, 13))
    assert again["valid/loss"] == curves["valid/loss"]


def test_without_the_setting_nothing_is_written(files, tmp_path):
    list(train(tiny_recipe("rnn", *files, **{"training.steps": 2}), tmp_path / "run", threads=1))
    assert not (tmp_path / "run" / "tensorboard").exists()


def test_without_the_package_a_run_is_refused(files, tmp_path, monkeypatch):
    monkeypatch.setattr("dhyan.run.tensorboard.find_spec", lambda name: None)
    with pytest.raises(UserError, match="pip install tensorboard"):
        require_tensorboard()
    recipe = tiny_recipe("rnn", *files, **{"training.tensorboard": True})
    with pytest.raises(UserError, match="training.tensorboard"):
        train(recipe, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_only_events_with_numbers_have_scalars(tmp_path):
    assert scalars(Saved(1, tmp_path, best=True)) == {}
    values = scalars(Stepped(1, 0, 2.0, 1e-3, 0.5, 100, 4.0))
    assert values["train/tokens_per_second"] == 25
