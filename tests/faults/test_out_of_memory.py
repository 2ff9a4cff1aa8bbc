"""A batch that does not fit into memory is split, with the same gradient, and that is reported."""

from contextlib import nullcontext
from dataclasses import dataclass, replace

import pytest
import torch

from dhyan.batch import Tokens
from dhyan.errors import UserError
from dhyan.training import cuda_graph
from dhyan.training.cuda_graph import CudaGraphUpdate, Replay
from dhyan.training.events import BatchSplit, Stepped
from dhyan.training.loss import Objective
from dhyan.training.out_of_memory import is_out_of_memory, split_batches
from dhyan.training.progress_display import event_lines
from dhyan.training.steps import MicroBatch
from dhyan.training.update import EagerUpdate
from tests.training.test_trainer import Endless, make_trainer, weights
from tests.training.test_update import FakeRecorder, fused

ERRORS = {
    "cuda": torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB"),
    "cpu": RuntimeError(
        "DefaultCPUAllocator: can't allocate memory: you tried to allocate 9 bytes"
    ),
    "python": MemoryError(),
}


@dataclass(frozen=True, kw_only=True)
class Cramped(Objective):
    """An objective for which the memory has room for so many rows."""

    room: int
    error: Exception
    when: object = staticmethod(lambda: True)

    def __call__(self, model, batch, step):
        loss = super().__call__(model, batch, step)
        if len(batch.source) > self.room and self.when():
            raise self.error
        return loss


@pytest.fixture
def fake_graphs(monkeypatch):
    monkeypatch.setattr(cuda_graph, "GraphRecorder", FakeRecorder)
    monkeypatch.setattr(cuda_graph, "synchronization_is_an_error", nullcontext)


def limited_trainer(room, update=EagerUpdate, error="cuda", rows=6, **settings):
    trainer = fused(make_trainer(batches=Endless(rows=rows), **settings)[0])
    trainer.make_update = update
    objective = Cramped(room=room, error=ERRORS[error])
    trainer.settings = replace(trainer.settings, objective=objective)
    return trainer


@pytest.mark.parametrize("update", [EagerUpdate, CudaGraphUpdate])
@pytest.mark.parametrize("error", ERRORS)
def test_a_split_step_has_the_same_gradient_and_is_reported(fake_graphs, update, error):
    unsplit, split_trainer = limited_trainer(99, update), limited_trainer(2, update, error)
    events = [list(trainer.run(3)) for trainer in (unsplit, split_trainer)]
    torch.testing.assert_close(weights(split_trainer), weights(unsplit), rtol=1e-4, atol=1e-6)
    split = [event for event in events[1] if isinstance(event, BatchSplit)]
    assert split == [BatchSplit(step, 4) for step in (1, 2, 3)]
    assert split_trainer.state.split_steps == 3
    assert unsplit.state.split_steps == 0
    assert list(event_lines(split[0])) == ["step 1  out of memory: repeated in 4 parts"]
    for expected, split_event in zip(
        *([e for e in run_events if isinstance(e, Stepped)] for run_events in events), strict=True
    ):
        assert expected.loss == pytest.approx(split_event.loss, rel=1e-5)
        assert expected.gradient_norm == pytest.approx(split_event.gradient_norm, rel=1e-4)
        assert expected.tokens == split_event.tokens


@pytest.mark.parametrize("update", [EagerUpdate, CudaGraphUpdate])
def test_accumulated_batches_are_split_together(fake_graphs, update):
    settings = {"gradient_accumulation": 2, "ema": 0.8}
    unsplit, split_trainer = (
        limited_trainer(99, update, **settings),
        limited_trainer(3, update, **settings),
    )
    list(unsplit.run(2))
    events = list(split_trainer.run(2))
    assert [event.parts for event in events if isinstance(event, BatchSplit)] == [4, 4]
    torch.testing.assert_close(weights(split_trainer), weights(unsplit), rtol=1e-4, atol=1e-6)
    for name, average in unsplit.weights().items():
        torch.testing.assert_close(average, split_trainer.weights()[name], rtol=1e-4, atol=1e-6)


def test_only_the_step_that_was_too_large_is_not_captured(log, fake_graphs):
    large = []
    trainer = limited_trainer(2, CudaGraphUpdate, rows=4)
    objective = replace(trainer.settings.objective, when=lambda: trainer.state.step == 2)
    trainer.settings = replace(trainer.settings, objective=objective)
    for event in trainer.run(5):
        large += [event] if isinstance(event, BatchSplit) else []
    assert [event.step for event in large] == [3]
    update = trainer.current_update()
    assert update.capturable
    assert not update.out_of_memory
    assert log.messages == []
    assert all(isinstance(replay, Replay) for replay in update.passes.values())
    assert all(key[0][0] == 4 for key in update.passes), "parts are not recorded"


def test_a_single_pair_that_does_not_fit_is_an_error():
    trainer = limited_trainer(0)
    before = weights(trainer)
    with pytest.raises(
        UserError, match="a single pair of up to .* tokens a side does not fit; make"
    ):
        list(trainer.run(1))
    assert torch.equal(weights(trainer), before)


def test_halves_hold_the_same_rows_in_the_same_order():
    batch, _ = Endless(rows=5).at(0)
    parts = [MicroBatch(batch, (0,))]
    sizes = []
    while any(len(part.batch.source) > 1 for part in parts):
        parts = split_batches(parts)
        sizes.append([len(part.batch.source) for part in parts])
        assert len({part.path for part in parts}) == len(parts)
        for side in ("source", "target"):
            joined = [getattr(part.batch, side) for part in parts]
            unsplit: Tokens = getattr(batch, side)
            assert torch.cat([tokens.ids for tokens in joined]).equal(unsplit.ids)
            assert torch.cat([tokens.mask for tokens in joined]).equal(unsplit.mask)
    assert sizes == [[3, 2], [2, 1, 1, 1], [1, 1, 1, 1, 1]]


def test_other_errors_are_not_out_of_memory():
    assert not is_out_of_memory(RuntimeError("shapes do not match"))
    trainer = limited_trainer(2)
    wrong = replace(trainer.settings.objective, error=RuntimeError("shapes do not match"))
    trainer.settings = replace(trainer.settings, objective=wrong)
    with pytest.raises(RuntimeError, match="shapes do not match"):
        list(trainer.run(1))
