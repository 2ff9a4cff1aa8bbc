"""How a step is taken and how batches reach it: every way gives the same weights."""

import threading
from contextlib import nullcontext
from dataclasses import replace
from functools import partial

import pytest
import torch

from dhyan.kernels.backend import fusable
from dhyan.run import train
from dhyan.run.build_trainer import make_optimizer
from dhyan.training import cuda_graph
from dhyan.training.cuda_graph import CudaGraphUpdate, Replay, prepare_optimizer
from dhyan.training.ema import WeightEMA
from dhyan.training.loss import Objective
from dhyan.training.prefetch import DirectLoader, Prefetcher
from dhyan.training.resume import restore, training_tensors
from dhyan.training.scheduled_sampling import linear
from dhyan.training.steps import MicroBatch, Steps
from dhyan.training.update import EagerUpdate, UpdateContext, step_if
from tests.laws.family import build
from tests.tiny_models import tiny_recipe, write_corpus
from tests.training.test_trainer import Endless, make_trainer, weights

CPU = torch.device("cpu")


def batch_threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("batches")]


def test_prefetched_batches_are_the_same_in_the_same_order():
    steps = Steps(Endless(), 2)
    direct, prefetcher = DirectLoader(steps, CPU), Prefetcher(steps, CPU, depth=3)
    for position in (0, 8, 16, 24, 100, 108, 8, 16):
        expected, loaded = direct.at(position), prefetcher.at(position)
        assert (expected.tokens, expected.next_position) == (loaded.tokens, loaded.next_position)
        assert expected.positions == loaded.positions == (position, position + 4)
        assert list(map(torch.equal, expected.tensors, loaded.tensors)) == 8 * [True]
    assert len(batch_threads()) == 1
    prefetcher.close()
    assert not batch_threads()


class Breaking(Endless):
    def at(self, position):
        if position == 12:
            raise ValueError("the file is gone")
        return super().at(position)


def test_an_error_in_the_thread_is_raised_with_its_batch():
    ahead, position = Prefetcher(Steps(Breaking()), CPU), 0
    for _ in range(3):
        position = ahead.at(position).next_position
    with pytest.raises(ValueError, match="the file is gone"):
        ahead.at(position)
    ahead.close()


def test_prefetching_changes_no_weight_and_leaves_no_thread():
    plain, ahead = (
        make_trainer(dropout=0.3, gradient_accumulation=2)[0],
        make_trainer(dropout=0.3, gradient_accumulation=2)[0],
    )
    ahead.make_loader = Prefetcher
    list(plain.run(3)), list(ahead.run(3))
    assert plain.state == ahead.state
    assert torch.equal(weights(plain), weights(ahead))
    broken = make_trainer(batches=Breaking())[0]
    broken.make_loader = Prefetcher
    with pytest.raises(ValueError, match="the file is gone"):
        list(broken.run(9))
    left = iter(ahead.run(5))
    next(left)
    left.close()
    assert not batch_threads()


def test_the_update_is_rebuilt_when_one_of_its_objects_is_replaced():
    trainer, contexts = make_trainer()[0], []
    trainer.make_update = lambda context: contexts.append(context) or EagerUpdate(context)
    list(trainer.run(2))
    trainer.settings = replace(trainer.settings, report_every=5)
    list(trainer.run(2))
    assert len(contexts) == 1
    trainer.optimizer = torch.optim.SGD(trainer.model.parameters(), lr=1.0)
    list(trainer.run(1))
    assert [type(context.optimizer).__name__ for context in contexts] == ["Adam", "SGD"]


@pytest.mark.parametrize("reference_kernels", [False, True])
def test_reference_kernels_switch_fused_kernels_off(reference_kernels):
    model, fusing = build("transformer", "transformer"), []
    model.encoder.register_forward_pre_hook(lambda *_: fusing.append(fusable()))
    context = UpdateContext(
        model=model,
        optimizer=torch.optim.SGD(model.parameters()),
        objective=Objective(),
        ema=None,
        device=CPU,
        clip_norm=1.0,
        seed=1,
    )
    batch, _ = Endless().at(0)
    EagerUpdate(context, reference_kernels=reference_kernels)(
        [MicroBatch(batch, (0,))], tokens=batch.labels.count, step=1, rate=0.1
    )
    assert fusing == [not reference_kernels]


@pytest.mark.parametrize("name", ["adam", "adamw", "sgd"])
def test_a_prepared_optimizer_takes_the_same_step(name):
    recipe = tiny_recipe("rnn", "a", "b", **{"training.optimizer": name})
    results = []
    for prepared in (False, True):
        torch.manual_seed(0)
        model = build("gru", "luong-general")
        optimizer = make_optimizer(recipe.training, model)
        assert not optimizer.defaults["fused"]
        for weight in model.parameters():
            weight.grad = torch.randn_like(weight)
        unused = next(model.parameters())
        unused.grad = None
        for group in optimizer.param_groups:
            group["lr"] = 0.1
        if prepared:
            prepare_optimizer(optimizer, torch.tensor(0.1))
            assert unused not in optimizer.state
            for group in optimizer.param_groups:
                group["capturable"] = False  # for CUDA alone
                group["lr"] = 0.1
        optimizer.step()
        results.append(torch.cat([p.detach().flatten() for p in model.parameters()]))
    assert torch.equal(*results)


def test_the_ema_updates_with_a_share_on_the_device():
    model = build("gru", "luong-general")
    on_host, on_device = WeightEMA.start(model, 0.9), WeightEMA.start(model, 0.9)
    with torch.no_grad():
        for weight in model.parameters():
            weight.add_(torch.randn_like(weight))
    for step in (1, 50, 5000):
        on_host.update(model, step)
        on_device.update_by(model, torch.tensor(1 - on_device.decay_at(step)))
    for name, weight in on_host.weights.items():
        torch.testing.assert_close(weight, on_device.weights[name])


def test_a_resumed_run_has_the_same_length_multiple(tmp_path, monkeypatch):
    recipe = tiny_recipe("rnn", *write_corpus(tmp_path), **{"training.steps": 4})
    runs = {}
    for name in ("whole", "parted"):
        monkeypatch.setattr("dhyan.run.build_trainer.DEVICE_MULTIPLE", {"cpu": 8})
        runs[name] = train(recipe, tmp_path / name, threads=1)
        if name == "parted":
            events = iter(runs[name])
            while next(events).step < 2:
                pass
            runs[name].trainer.stop("halfway")
            list(events)
            monkeypatch.undo()
            runs[name] = train(recipe, tmp_path / name, resume=True, threads=1)
        list(runs[name])
    trainers = [run.trainer for run in runs.values()]
    assert [run.state.length_multiple for run in trainers] == [8, 8]
    assert trainers[0].state.position == trainers[1].state.position
    assert torch.equal(weights(trainers[0]), weights(trainers[1]))


def test_a_recipe_with_reference_kernels_trains(tmp_path):
    settings = {
        "training.kernels": "reference",
        "training.steps": 2,
        "training.tokens_per_batch": 0,
    }
    recipe = tiny_recipe("transformer", *write_corpus(tmp_path), **settings)
    run = train(recipe, tmp_path / "run", threads=1)
    assert [event.step for event in run][-1] == 2
    update = run.trainer.current_update()
    assert isinstance(update, EagerUpdate)
    assert update.reference_kernels


class FakeRecorder:
    """Replaces the recorder of CUDA graphs where there is no GPU: a replay runs the work again."""

    def __init__(self, device):
        self.captured = []

    def side_stream(self):
        return nullcontext()

    def capture(self, work):
        self.captured.append(work)
        return work


def fused(trainer, optimizer_class=torch.optim.Adam):
    """A trainer with an optimizer that can read its rate from the device."""
    trainer.optimizer = optimizer_class(trainer.model.parameters(), lr=1e-3, fused=True)
    return trainer


@pytest.fixture
def fake_graphs(monkeypatch):
    monkeypatch.setattr(cuda_graph, "GraphRecorder", FakeRecorder)
    monkeypatch.setattr(cuda_graph, "synchronization_is_an_error", nullcontext)


EVERYTHING = {
    "objective": Objective(
        r_drop=1.0, teacher_forcing_schedule=linear(k=1.2, slope=0.1, least=0.2)
    ),
    "ema": 0.7,
    "gradient_accumulation": 2,
}


EXACT = {**EVERYTHING, "exact": True}


@pytest.mark.parametrize("options", [{}, EVERYTHING, EXACT], ids=["plain", "everything", "exact"])
@pytest.mark.parametrize("optimizer_class", [torch.optim.Adam, torch.optim.SGD])
def test_cuda_graphs_end_in_the_same_weights(fake_graphs, options, optimizer_class):
    plain = fused(make_trainer(dropout=0.3, **options)[0], optimizer_class)
    replayed = fused(make_trainer(dropout=0.3, **options)[0], optimizer_class)
    replayed.make_update = CudaGraphUpdate
    events = [list(trainer.run(5)) for trainer in (plain, replayed)]
    for eager_event, replayed_event in zip(*events, strict=True):
        if hasattr(eager_event, "loss"):
            assert eager_event.loss == pytest.approx(replayed_event.loss, rel=1e-5)
            assert eager_event.gradient_norm == pytest.approx(
                replayed_event.gradient_norm, rel=1e-4
            )
    torch.testing.assert_close(weights(plain), weights(replayed), rtol=1e-4, atol=1e-6)
    for name, average in plain.weights().items():
        torch.testing.assert_close(average, replayed.weights()[name], rtol=1e-4, atol=1e-6)
    update = replayed.current_update()
    assert all(isinstance(eager_event, Replay) for eager_event in update.passes.values())
    assert len(update.recorder.captured) == len(update.passes) + 1
    forced = {key[2] for key in update.passes}
    assert forced == ({True, False} if options else {True})


def test_a_resumed_run_with_cuda_graphs_is_bitwise_equal(fake_graphs):
    uninterrupted, first, second = (fused(make_trainer(dropout=0.3, ema=0.9)[0]) for _ in range(3))
    for trainer in (uninterrupted, first, second):
        trainer.make_update = CudaGraphUpdate
    list(uninterrupted.run(6)), list(first.run(4))
    with torch.no_grad():
        for name, weight in second.model.named_parameters():
            weight.copy_(first.weights()[name])
    tensors = {name: tensor.clone() for name, tensor in training_tensors(first).items()}
    restore(second, tensors, vars(first.state))
    list(second.run(2))
    assert torch.equal(weights(uninterrupted), weights(second))


def test_a_model_that_cannot_be_captured_runs_eagerly_with_a_warning(log, fake_graphs, monkeypatch):
    def refuse(self, work):
        if getattr(work, "__name__", "") != "_take_optimizer_step":
            raise RuntimeError("it waits for the GPU\nand more")
        return capture(self, work)

    capture = FakeRecorder.capture
    monkeypatch.setattr(FakeRecorder, "capture", refuse)
    plain, replayed = fused(make_trainer(dropout=0.3)[0]), fused(make_trainer(dropout=0.3)[0])
    replayed.make_update = CudaGraphUpdate
    list(plain.run(4)), list(replayed.run(4))
    torch.testing.assert_close(weights(plain), weights(replayed), rtol=1e-4, atol=1e-6)
    assert log.messages == [
        "the steps of this model are not captured as CUDA graphs: it waits for the GPU"
    ]


def test_a_weight_without_gradient_is_not_updated(fake_graphs):
    trainer = fused(make_trainer()[0], partial(torch.optim.AdamW, weight_decay=0.5))
    unused = torch.nn.Parameter(torch.ones(3))
    trainer.model.unused = unused
    trainer.optimizer.add_param_group({"params": [unused]})
    trainer.make_update = CudaGraphUpdate
    list(trainer.run(2))
    assert unused.tolist() == [1.0, 1.0, 1.0]
    assert unused not in trainer.optimizer.state


@pytest.mark.parametrize("optimizer_class", [torch.optim.Adam, torch.optim.AdamW, torch.optim.SGD])
def test_a_fused_optimizer_skips_a_step_that_is_not_finite(optimizer_class):
    model = build("gru", "luong-general")
    optimizer, no, yes = (
        optimizer_class(model.parameters(), lr=0.1, fused=True),
        *torch.tensor([False, True]),
    )
    for finite in (yes, no, yes):
        before = [weight.detach().clone() for weight in model.parameters()]
        for weight in model.parameters():
            weight.grad = torch.full_like(weight, 0.5 if finite else float("nan"))
        step_if(finite, optimizer)
        same = [torch.equal(*both) for both in zip(before, model.parameters(), strict=True)]
        assert not any(same) if finite else all(same)
    counts = {float(state["step"]) for state in optimizer.state.values() if "step" in state}
    assert counts <= {2.0}
    assert not hasattr(optimizer, "found_inf")
