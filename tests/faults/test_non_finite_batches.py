"""Non-finite values are neither learned from nor saved, and their origin is reported."""

import json
from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest
import torch

from dhyan.checkpoint import read_checkpoint, steps_in, tensors_from_bytes
from dhyan.data.batches import Batches
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.training import cuda_graph
from dhyan.training.cuda_graph import CudaGraphUpdate
from dhyan.training.events import Restored, Saved, Skipped, Stepped
from dhyan.training.loss import Objective
from dhyan.training.update import EagerUpdate
from tests.tiny_models import tiny_recipe, write_corpus
from tests.training.test_trainer import make_trainer, weights
from tests.training.test_update import FakeRecorder, fused

NAN, INF, LAST = float("nan"), float("inf"), 12


class Backwards(torch.autograd.Function):
    """Identity in the forward pass; poisons the gradient in the backward pass."""

    @staticmethod
    def forward(ctx, loss):
        return loss.clone()

    @staticmethod
    def backward(ctx, gradient):
        return gradient * INF


POISONS = {
    "loss nan": lambda loss: loss * NAN,
    "loss inf": lambda loss: loss + INF,
    "gradient": Backwards.apply,
}


@dataclass(frozen=True, kw_only=True)
class Poisoned(Objective):
    """An objective whose loss or gradient is not finite for some batches."""

    poison: object = None
    is_poisoned: object = None

    def __call__(self, model, batch, step):
        loss = super().__call__(model, batch, step)
        return self.poison(loss) if self.is_poisoned(batch) else loss


def has_row(batches, position):
    """Whether a batch is the one at a position."""
    expected = batches.at(position)[0].source.ids
    return lambda batch: (
        batch.source.ids.shape == expected.shape and batch.source.ids.equal(expected)
    )


@pytest.fixture
def fake_graphs(monkeypatch):
    monkeypatch.setattr(cuda_graph, "GraphRecorder", FakeRecorder)
    monkeypatch.setattr(cuda_graph, "synchronization_is_an_error", nullcontext)


def poisoned(poison, is_poisoned, update=EagerUpdate, **settings):
    trainer = fused(make_trainer(**settings)[0])
    trainer.make_update = update
    objective = Poisoned(poison=POISONS[poison], is_poisoned=is_poisoned)
    trainer.settings = replace(trainer.settings, objective=objective)
    return trainer


def state(trainer):
    """Every number of a trainer: weights, their average, and the optimizer state."""
    optimizer_states = [trainer.optimizer.state[weight] for weight in trainer.model.parameters()]
    memory = [
        values[key].float().flatten() for values in optimizer_states for key in sorted(values)
    ]
    average = [values.flatten() for values in trainer.weights().values()]
    return torch.cat([weights(trainer), *memory, *average])


@pytest.mark.parametrize("update", [EagerUpdate, CudaGraphUpdate])
@pytest.mark.parametrize("poison", POISONS)
def test_a_step_that_is_not_finite_changes_nothing_and_names_its_examples(
    fake_graphs, poison, update
):
    is_poisoned = has_row(make_trainer()[0].batches, 8)
    trainer = poisoned(poison, is_poisoned, update, ema=0.9)
    unpoisoned = poisoned(poison, lambda batch: False, update, ema=0.9)
    list(trainer.run(2)), list(unpoisoned.run(2))
    before = state(trainer).clone()
    events = list(trainer.run(1))
    assert torch.equal(state(trainer), before)
    (event,) = [event for event in events if isinstance(event, Skipped)]
    assert (event.step, event.positions, event.examples) == (3, (8,), (8, 9, 10, 11))
    assert "nan" in event.reason or "inf" in event.reason
    assert not [event for event in events if isinstance(event, Stepped)]
    unpoisoned.state = replace(unpoisoned.state, step=3, position=12)
    list(trainer.run(3)), list(unpoisoned.run(3))
    assert torch.equal(state(trainer), state(unpoisoned))
    assert (trainer.state.skipped_steps, trainer.state.skipped_in_a_row) == (1, 0)


@pytest.mark.parametrize("update", [EagerUpdate, CudaGraphUpdate])
def test_a_batch_that_is_not_finite_skips_the_step(fake_graphs, update):
    trainer = poisoned(
        "loss nan", has_row(make_trainer()[0].batches, 4), update, gradient_accumulation=2
    )
    before = weights(trainer)
    events = list(trainer.run(1))
    assert torch.equal(weights(trainer), before)
    assert events[0] == Skipped(1, (0, 4), tuple(range(8)), events[0].reason)


def test_reports_leave_skipped_steps_out():
    trainer = poisoned("loss inf", has_row(make_trainer()[0].batches, 4), report_every=4)
    events = list(trainer.run(4))
    assert [type(event) for event in events] == [Skipped, Stepped, Saved]
    tokens = sum(int(trainer.batches.at(4 * n)[0].labels.mask.sum()) for n in (0, 2, 3))
    assert events[1].tokens == tokens
    assert 0 < events[1].loss < 10


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    return write_corpus(tmp_path_factory.mktemp("corpus"), pairs=200)


def run_with(files, out, is_poisoned, poison="loss nan", resume=False):
    """A run on files with a poisoned objective; every checkpoint stays."""
    quick = {
        "training.valid_sentences": 0,
        "training.early_stopping_metric": "loss",
        "training.steps": LAST,
    }
    often = {
        "training.save_every": 4,
        "training.keep_checkpoints": 99,
        "training.validate_every": 8,
    }
    recipe = tiny_recipe("rnn", *files, **quick, **often)
    run = train(recipe, out, resume=resume, threads=1)
    trainer = run.trainer
    objective = Poisoned(
        **{
            **vars(trainer.settings.objective),
            "poison": POISONS[poison],
            "is_poisoned": is_poisoned,
        }
    )
    trainer.settings = replace(
        trainer.settings, objective=objective, max_skipped_in_a_row=3, max_restores=2
    )
    return run


def all_on_disk_is_finite(out):
    for step in steps_in(out):
        files = read_checkpoint(out / f"step-{step}")
        for name in ("model.safetensors", "training.safetensors"):
            tensors = tensors_from_bytes(files[name]).values()
            assert all(bool(tensor.isfinite().all()) for tensor in tensors), (step, name)


def collect(run, events):
    for event in run:
        events.append(event)


def poison_between(first, last):
    """Poison the batches of some steps, counted from the first call."""
    batches = []

    def is_poisoned(batch):
        batches.append(batch)
        return first <= len(batches) <= last

    return is_poisoned


def test_repeated_skips_restore_the_checkpoint_and_skip_the_batches(files, tmp_path):
    out = tmp_path / "run"
    run = run_with(files, out, poison_between(6, 8))
    events = list(run)
    skipped = [event for event in events if isinstance(event, Skipped)]
    (restored,) = [event for event in events if isinstance(event, Restored)]
    assert [event.step for event in skipped] == [6, 7, 8]
    assert (restored.step, restored.checkpoint_step) == (8, 4)
    steps = [event.step for event in events if isinstance(event, Stepped)]
    assert steps == [1, 2, 3, 4, 5, *range(5, LAST + 1)]
    batches: Batches = run.trainer.batches
    after = batches.at(skipped[-1].positions[0])[1]
    assert restored.position == after
    assert run.trainer.state.skipped_steps == 3
    assert run.trainer.state.restores == 0, "reset after the next good checkpoint"
    all_on_disk_is_finite(out)
    lines = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
    recorded = [line["examples"] for line in lines if line["event"] == "skipped"]
    assert recorded == [batches.example_ids(event.positions[0]) for event in skipped]


def test_a_restored_run_has_the_weights_of_the_checkpoint(files, tmp_path):
    run = run_with(files, tmp_path / "run", poison_between(6, 8))
    events = iter(run)
    while not isinstance(event := next(events), Restored):
        pass
    saved = read_checkpoint(tmp_path / "run" / "step-4")
    for name, weight in tensors_from_bytes(saved["model.safetensors"]).items():
        assert torch.equal(weight, dict(run.trainer.model.named_parameters())[name])
    optimizer_tensors = tensors_from_bytes(saved["training.safetensors"])
    for name, weight in run.trainer.model.named_parameters():
        for key, value in run.trainer.optimizer.state[weight].items():
            assert torch.equal(value, optimizer_tensors[f"{name}:{key}"])
    assert run.trainer.state.step == 4
    assert run.trainer.state.position == event.position
    events.close()


@pytest.mark.slow
def test_a_restored_run_that_is_killed_ends_in_the_same_bits(files, tmp_path):
    positions = {}

    def marked(batch):
        return int(batch.source.ids.sum()) in positions

    straight = run_with(files, tmp_path / "straight", marked)
    position = 0
    for step in range(1, 9):
        batch, position = straight.trainer.batches.at(position)
        if step >= 6:
            positions[int(batch.source.ids.sum())] = step
    events = list(straight)
    assert any(isinstance(event, Restored) for event in events)
    parted = iter(run_with(files, tmp_path / "parted", marked))
    while not isinstance(next(parted), Restored):
        pass
    next(parted)
    parted.close()
    list(run_with(files, tmp_path / "parted", marked, resume=True))
    assert read_checkpoint(tmp_path / "parted" / f"step-{LAST}") == read_checkpoint(
        tmp_path / "straight" / f"step-{LAST}"
    )


@pytest.mark.parametrize("poison", POISONS)
def test_endless_divergence_ends_the_run_and_names_the_examples(files, tmp_path, poison):
    run = run_with(files, tmp_path / "run", poison_between(6, 10**9), poison)
    events = []
    with pytest.raises(UserError, match="before step 7, also after 2 restores of step 4") as end:
        collect(run, events)
    assert sum(isinstance(event, Restored) for event in events) == 2
    skipped = [event for event in events if isinstance(event, Skipped)]
    assert len(skipped) == 9
    rows = [str(row) for row in skipped[0].examples[:3]]
    assert f"9 steps were skipped, with examples {', '.join(rows)}" in str(end.value)
    assert "\n" not in str(end.value)
    all_on_disk_is_finite(tmp_path / "run")
    assert steps_in(tmp_path / "run") == [4, 0]


@pytest.mark.parametrize("value", [NAN, INF])
def test_a_weight_that_is_not_finite_is_never_saved(files, tmp_path, value):
    run = run_with(files, tmp_path / "run", lambda batch: False)
    events, changed = [], False
    for event in run:
        events.append(event)
        if event.step == 6 and not changed:
            changed = True
            embedding = next(iter(run.trainer.model.parameters()))
            with torch.no_grad():
                embedding.view(-1)[0] = value
    (restored,) = [event for event in events if isinstance(event, Restored)]
    assert (restored.step, restored.checkpoint_step) == (8, 4)
    assert run.trainer.state.step == LAST
    all_on_disk_is_finite(tmp_path / "run")


def test_optimizer_state_that_is_not_finite_is_never_saved(files, tmp_path):
    run = run_with(files, tmp_path / "run", lambda batch: False)
    restored = []
    for event in run:
        if event.step == 6 and isinstance(event, Stepped) and not restored:
            weight = next(iter(run.trainer.model.parameters()))
            run.trainer.optimizer.state[weight]["exp_avg_sq"].view(-1)[0] = INF
        restored += [event] if isinstance(event, Restored) else []
    assert [(event.step, event.checkpoint_step) for event in restored] == [(8, 4)]
    all_on_disk_is_finite(tmp_path / "run")


def test_a_run_that_ends_with_skipped_steps_is_saved(files, tmp_path):
    run = run_with(files, tmp_path / "run", poison_between(LAST - 1, LAST))
    list(run)
    saved = json.loads(read_checkpoint(tmp_path / "run" / f"step-{LAST}")["training.json"])
    assert (saved["skipped_steps"], saved["skipped_in_a_row"]) == (2, 2)
    all_on_disk_is_finite(tmp_path / "run")


def test_no_checkpoint_is_due_while_steps_are_skipped(files, tmp_path):
    run = run_with(files, tmp_path / "run", poison_between(8, 8))
    saved = [event.step for event in run if isinstance(event, Saved) and not event.best]
    assert 8 not in saved
    assert {4, 12} <= {*saved, *steps_in(tmp_path / "run")}


def test_example_ids_are_the_examples_of_a_batch(files, tmp_path):
    for settings in ({}, {"text.tokenizer": "bpe", "text.bpe_dropout": 0.1}):
        recipe = tiny_recipe("rnn", *files, **settings)
        run = train(recipe, tmp_path / f"run-{len(settings)}", threads=1)
        batches, position = run.trainer.batches, 0
        with run.lock:
            example_ids = []
            while position < batches.size:
                rows = batches.example_ids(position)
                batch, after = batches.at(position)
                assert len(rows) == len(batch.source) == after - position
                if not settings:
                    assert batches.examples.batch(torch.tensor(rows).numpy()).source.ids.equal(
                        batch.source.ids
                    )
                example_ids += rows
                position = after
            assert sorted(example_ids) == list(range(len(batches.examples)))
