"""Training in 1, 2 and 4 processes: the same weights, the same order, and the same decisions."""

import json
import subprocess

import pytest

from tests.fork_server import ROOT, forked_python
from tests.run.training_processes import ELASTIC, SIZES, STEPS
from tests.tiny_models import environment

COUNT = max(SIZES)


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The results of all processes, by scenario; they are started once."""
    folder = tmp_path_factory.mktemp("processes")
    words = ("-m", "tests.run.training_processes", folder / "store")
    environ = environment()
    environ["PYTHONPATH"] += f":{ROOT}"
    environ["GLOO_SOCKET_IFNAME"] = "lo"
    started = [
        subprocess.Popen(
            forked_python(*words, rank, COUNT, folder), env=environ, cwd=ROOT,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
        )
        for rank in range(COUNT)
    ]  # fmt: skip
    outputs = [process.communicate(timeout=300)[0].decode() for process in started]
    assert [process.returncode for process in started] == [0] * COUNT, "\n".join(outputs)
    by_rank = [json.loads((folder / f"{rank}.json").read_text()) for rank in range(COUNT)]
    return {name.removeprefix("check_"): [r[name] for r in by_rank] for name in by_rank[0]}


@pytest.mark.parametrize("family", ["rnn", "transformer"])
def test_exact_checkpoints_are_the_same_for_any_number_of_processes(results, family):
    hashes = results["exact"][0]
    alone = hashes[f"{family} 1"]
    assert {"model.safetensors", "training.safetensors", "training.json"} <= alone.keys()
    assert [hashes[f"{family} {size}"] for size in SIZES] == [alone] * len(SIZES)


def test_an_exact_run_resumed_by_other_numbers_of_processes_ends_in_the_same_bits(results):
    elastic, alone = results["exact_elastic"][0], results["exact"][0]["transformer 1"]
    assert elastic["model.safetensors"] == alone["model.safetensors"]
    assert elastic["training.safetensors"] == alone["training.safetensors"]


def in_order(parts):
    """The sentences of a step in their order, from those of each process."""
    steps = [[] for _ in range(STEPS)]
    for step, _, rows in sorted((part for rank in parts for part in rank), key=lambda p: p[:2]):
        steps[step - 1] += rows
    return steps


@pytest.mark.parametrize("name", ["batches", "rows"])
def test_every_sentence_comes_once_and_in_the_same_order(results, name):
    alone, *others = (
        in_order([rank[f"{name} {size}"] for rank in results["order"]]) for size in SIZES
    )
    assert len(alone) == STEPS
    assert sum(map(len, alone)) > 80
    for other in others:
        assert other == alone


@pytest.mark.parametrize("name", ["batches", "rows"])
def test_a_run_resumed_in_the_middle_of_an_epoch_continues_the_order(results, name):
    alone = in_order([rank[f"{name} 1"] for rank in results["order"]])
    elastic = in_order([rank[name] for rank in results["order_elastic"]])
    assert len(ELASTIC) == 4
    assert elastic == alone


def test_each_process_computes_a_share(results):
    for size in SIZES:
        counts = [len(rank[f"batches {size}"]) for rank in results["order"]]
        assert counts == [4 * STEPS // size] * size + [0] * (COUNT - size)


def test_sharded_weights_are_read_by_any_number_of_processes(results):
    by_rank = results["sharded"]
    (first, whole), (second, parts) = by_rank[0]["1"], by_rank[0]["2"]
    assert whole == 0
    assert parts > 0
    for rank, read in enumerate(by_rank):
        for size, (bits, _) in read.items():
            assert bits == first == second, (rank, size)
    assert by_rank[3]["4"][1] == parts


def test_sharded_weights_learn_as_whole_ones(results):
    assert max(results["sharded_like_whole"][:2]) < 1e-4


def test_the_tree_of_sums_does_not_depend_on_the_number_of_processes(results):
    sums = {}
    for rank in results["tree"]:
        for key, total in rank.items():
            sums.setdefault(key.split()[0], []).append(total)
    assert len(sums) == 5
    for totals in sums.values():
        assert totals == [totals[0]] * len(totals)
    assert sums["12"][0][-1] == sum(range(12))


def test_captured_steps_add_up_the_same_gradients(results):
    for exact in (False, True):
        ends = [results["graphs"][0][f"{exact} {size}"] for size in SIZES]
        for end in ends[1:]:
            assert end == (ends[0] if exact else pytest.approx(ends[0], rel=1e-4, abs=1e-6))


def decisions(results, name):
    first, second, *rest = (rank.get(name) for rank in results["decisions"])
    assert rest == [None, None]
    assert first == second, "both processes decide alike"
    return first


def test_all_processes_stop_after_the_same_step(results):
    events, step = decisions(results, "stop")
    assert step == 3
    assert events == [
        ["Saved", 0],
        ["Saved", 2],
        ["Validated", 3],
        ["Saved", 3],
        ["Stopped", 3],
    ] or (events == [["Saved", 0], ["Saved", 2], ["Saved", 3], ["Stopped", 3]])


def test_a_loss_of_one_process_that_is_not_finite_skips_the_step_in_all(results):
    events, step = decisions(results, "nan")
    assert ["Skipped", 3] in events
    assert step == STEPS


def test_one_process_out_of_memory_splits_its_batches_alone(results):
    events, step = decisions(results, "memory")
    assert ["BatchSplit", 3] in events
    assert step == STEPS


def test_weights_that_differ_are_not_saved(results):
    events, _ = decisions(results, "weight")
    assert events[-1] == [
        "RuntimeError", "the weights or the state of process 1 differ from those of process 0",
    ]  # fmt: skip


def test_a_checkpoint_that_cannot_be_written_is_known_to_all(results):
    events, step = decisions(results, "disk")
    assert ["SaveFailed", 4] in events
    assert step == STEPS


def test_refusals_reach_every_process(results):
    for messages in results["refusals"]:
        assert len(messages) == 2
        assert (
            "training.exact: 4 processes share the batches of a step, and there are 3"
            in (messages[0])
        )
        assert "holds a run already" in messages[1]
