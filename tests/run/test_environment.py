"""CPU threads follow the idle cores; deterministic algorithms are on while a run lasts, not after."""

import os

import pytest
import torch

from benchmarks import bitwise_repeatability as benchmark
from dhyan.checkpoint import read_manifest
from dhyan.cpu_engine import threads as cpu_threads
from dhyan.cpu_engine.threads import MAX_THREADS, count_idle
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.run.environment import (
    WORKSPACE,
    choose_precision,
    deterministic_algorithms,
    set_threads,
)
from tests.tiny_models import tiny_recipe, write_corpus


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path)


def trained(family, corpus, out, *, exact, steps=4, **how):
    """Train; whether PyTorch was told to compute in one way, at each event."""
    settings = {"training.deterministic": exact, "training.steps": steps}
    run = train(tiny_recipe(family, *corpus, **settings), out, device="cpu", threads=1, **how)
    return [torch.are_deterministic_algorithms_enabled() for _ in run]


@pytest.mark.parametrize("family", ["rnn", "transformer"])
def test_deterministic_algorithms_are_on_during_the_run(family, corpus, tmp_path):
    plain, exact = tmp_path / "plain", tmp_path / "exact"
    assert not any(trained(family, corpus, plain, exact=False))
    assert all(trained(family, corpus, exact, exact=True))
    assert not torch.are_deterministic_algorithms_enabled()
    recorded = [read_manifest(out / "step-4")["deterministic"] for out in (plain, exact)]
    assert recorded == ["none", "algorithms"]
    weights = [(out / "step-4" / "model.safetensors").read_bytes() for out in (plain, exact)]
    assert weights[0] == weights[1], "a CPU has one way anyway"


def test_a_deterministic_run_resumes_deterministically(log, corpus, tmp_path):
    out = tmp_path / "run"
    trained("rnn", corpus, out, exact=True)
    with pytest.raises(
        UserError, match="was trained with training.deterministic = True, now it is False"
    ):
        trained("rnn", corpus, out, exact=False, resume=True)
    assert all(trained("rnn", corpus, out, exact=True, steps=6, resume=True))
    assert not [line for line in log.messages if "with deterministic" in line]


def flags():
    return (
        torch.are_deterministic_algorithms_enabled(),
        torch.is_deterministic_algorithms_warn_only_enabled(),
    )


@pytest.fixture
def telling(monkeypatch):
    """What tells PyTorch; afterwards all is as it was."""
    before = flags()
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", "something")
    monkeypatch.delenv("CUBLAS_WORKSPACE_CONFIG")
    yield lambda on, lenient: torch.use_deterministic_algorithms(on, warn_only=lenient)
    torch.use_deterministic_algorithms(before[0], warn_only=before[1])


@pytest.mark.parametrize("before", [(False, False), (True, False), (True, True)])
def test_earlier_settings_are_restored_after_the_block(before, telling):
    telling(*before)
    with deterministic_algorithms(True):
        assert flags() == (True, False)
        assert os.environ["CUBLAS_WORKSPACE_CONFIG"] == WORKSPACE
    assert flags() == before
    with deterministic_algorithms(False):
        assert flags() == before


def test_a_closed_run_restores_the_settings(corpus, tmp_path):
    recipe = tiny_recipe("rnn", *corpus, **{"training.deterministic": True})
    events = iter(train(recipe, tmp_path / "run", device="cpu", threads=1))
    next(events)
    assert flags() == (True, False)
    events.close()
    assert flags() == (False, False)


@pytest.fixture
def eight_threads():
    """As on a machine with eight cores; afterwards as before."""
    before = torch.get_num_threads()
    torch.set_num_threads(8)
    yield
    torch.set_num_threads(before)


@pytest.mark.parametrize(("idle", "threads"), [(0, 1), (1, 1), (3, 3), (8, MAX_THREADS)])
def test_default_threads_are_the_idle_cores(idle, threads, eight_threads, monkeypatch):
    monkeypatch.setattr(cpu_threads, "idle_cores", lambda: idle)
    set_threads(0)
    assert torch.get_num_threads() == threads
    set_threads(5)
    assert torch.get_num_threads() == 5


def test_one_available_thread_stays_one(monkeypatch):
    monkeypatch.setattr(cpu_threads, "idle_cores", lambda: 8)
    set_threads(0)
    assert torch.get_num_threads() == 1


def test_idle_cores_are_counted_by_their_idle_time():
    before = {0: (100, 200), 1: (50, 200)}
    assert count_idle(before, {0: (110, 210), 1: (60, 210)}) == 2
    assert count_idle(before, {0: (110, 210), 1: (50, 210)}) == 1
    assert count_idle(before, {0: (104, 210), 1: (50, 210)}) == 0
    assert count_idle(before, before) == 2, "without a tick of the clock nothing is known"


def test_a_resumed_run_keeps_its_threads(log, corpus, tmp_path, eight_threads, monkeypatch):
    monkeypatch.setattr(cpu_threads, "idle_cores", lambda: 1)
    list(train(tiny_recipe("rnn", *corpus), tmp_path / "run", device="cpu", threads=2))
    torch.set_num_threads(8)
    train(tiny_recipe("rnn", *corpus), tmp_path / "run", resume=True, device="cpu")
    assert torch.get_num_threads() == 2
    assert not [line for line in log.messages if "with threads" in line]


@pytest.mark.soak
def test_the_benchmark_kills_resumes_and_compares(monkeypatch):
    tiny = {"data.pairs": 200, "training.steps": 4, "training.save_every": 1}
    tiny |= {"training.validate_every": 4, "training.valid_sentences": 2}
    case = {"small": ("transformer2017-small", {"training.report_every": 1})}
    monkeypatch.setattr(benchmark, "COMMON", benchmark.COMMON | tiny)
    monkeypatch.setattr(benchmark, "CASES", case)
    monkeypatch.setattr(benchmark, "TIMED", case)
    first, last = benchmark.determinism()
    for comparison in last["runs"].values():
        assert comparison["repeat_equal"]
        assert comparison["resume_equal"]
        assert len(comparison["killed_at"]) == 1
    assert last["runs"] == first["runs"]
    assert last["tokens_per_second"]["small"]["deterministic"] > 0


@pytest.mark.parametrize(
    ("precision", "kernels", "features", "device", "chosen"),
    [
        ("auto", "auto", {"avx512_bf16"}, "cpu", "bf16"),
        ("auto", "auto", {"avx512f"}, "cpu", "fp32"),
        ("auto", "reference", {"avx512_bf16"}, "cpu", "fp32"),
        ("auto", "auto", {"avx512_bf16"}, "cuda", "fp32"),
        ("fp32", "auto", {"avx512_bf16"}, "cpu", "fp32"),
        ("bf16", "auto", {"avx512f"}, "cpu", "bf16"),
    ],
)
def test_precision_is_chosen_by_the_cpu(
    precision, kernels, features, device, chosen, corpus, monkeypatch
):
    monkeypatch.setattr("dhyan.run.environment.cpu_features", lambda: frozenset(features))
    settings = {"training.precision": precision, "training.kernels": kernels}
    recipe = tiny_recipe("rnn", *corpus, **settings)
    assert choose_precision(recipe, torch.device(device)).training.precision == chosen


def test_a_resumed_run_keeps_its_precision(corpus, tmp_path, monkeypatch):
    for steps, features in ((1, frozenset({"avx512_bf16"})), (2, frozenset())):
        monkeypatch.setattr("dhyan.run.environment.cpu_features", lambda found=features: found)
        recipe = tiny_recipe("rnn", *corpus, **{"training.steps": steps})
        run = train(recipe, tmp_path / "run", device="cpu", threads=1, resume=steps > 1)
        assert [*run]
        assert run.folder.recipe.training.precision == "bf16"
