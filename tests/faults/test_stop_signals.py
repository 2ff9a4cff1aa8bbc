"""Asked to stop during a validation, a run breaks it off, and makes up for it when it goes on."""

import json
import os
import signal

import pytest
import torch

from dhyan.checkpoint import read_checkpoint
from dhyan.cli.progress import stopped_by_signals
from dhyan.run import train
from dhyan.training.events import Saved, Stopped, Validated
from tests.tiny_models import tiny_recipe, write_corpus
from tests.training.test_trainer import make_trainer, weights


def recipe(files):
    settings = {"training.steps": 8, "training.validate_every": 4, "training.save_every": 3}
    quick = {
        "training.valid_sentences": 0,
        "training.early_stopping_metric": "loss",
        "training.ema_decay": 0.5,
    }
    return tiny_recipe("rnn", *files, **settings, **quick)


def interrupted(run, at):
    """A run that is sent SIGTERM in the middle of its validation at a step: its events."""
    validate = run.trainer.validate

    def disturbed():
        if run.trainer.state.step == at:
            os.kill(os.getpid(), signal.SIGTERM)
            pytest.fail("the validation went on")
        return validate()

    run.trainer.validate = disturbed
    with stopped_by_signals(run.trainer):
        return list(run)


@pytest.mark.slow
@pytest.mark.parametrize("at", [4, 8])
def test_an_interrupted_validation_is_repeated_when_resumed(tmp_path, at):
    files = write_corpus(tmp_path, pairs=200)
    list(train(recipe(files), tmp_path / "straight", threads=1))
    events = interrupted(train(recipe(files), tmp_path / "run", threads=1), at)
    assert [type(event) for event in events[-2:]] == [Saved, Stopped]
    assert events[-1].step == at
    assert not any(isinstance(event, Validated) and event.step == at for event in events)
    saved = json.loads(read_checkpoint(tmp_path / "run" / f"step-{at}")["training.json"])
    assert saved["validation_pending"]
    again = train(recipe(files), tmp_path / "run", resume=True, threads=1)
    validation = next(event for event in again if isinstance(event, Validated))
    assert validation.step == at
    list(train(recipe(files), tmp_path / "run", resume=True, threads=1))
    resumed_files, expected_files = (
        read_checkpoint(tmp_path / run / "step-8") for run in ("run", "straight")
    )
    if at == 8:  # the end was saved before it was validated
        resumed_files.pop("training.json"), expected_files.pop("training.json")
    assert resumed_files == expected_files
    pointers = [(tmp_path / run / "best.json").read_bytes() for run in ("run", "straight")]
    assert pointers[0] == pointers[1]


def test_an_interrupted_validation_restores_the_weights():
    trainer, saved = make_trainer(ema=0.9, validate_every=2, save_every=100)
    same, _ = make_trainer(ema=0.9)

    def disturbed():
        trainer.interrupt("asked to")

    trainer.validate = disturbed
    events = list(trainer.run(9))
    list(same.run(2))
    assert isinstance(events[-1], Stopped)
    assert saved == [2]
    assert torch.equal(weights(trainer), weights(same))
    for name, weight in same.weights().items():
        assert torch.equal(trainer.weights()[name], weight)


def test_an_interrupted_run_does_not_start_a_validation():
    trainer, saved = make_trainer(validate_every=2, save_every=100)
    trainer.validate = lambda: pytest.fail("it began one")
    for event in trainer.run(9):
        if event.step == 2 and not trainer.stop_reason:
            trainer.interrupt("asked to")
    assert saved == [2]
    assert trainer.state.validation_pending
