"""A run that is killed or stopped again and again ends in the same bits as an uninterrupted one."""

import json
import random
import signal
import subprocess
import time

import pytest

from tests.faults.fork_client import attached, newest_step
from tests.tiny_models import command, environment

RARELY = {"training.validate_every": 8}


@pytest.mark.parametrize(
    ("family", "kills", "steps"),
    [
        pytest.param("rnn", 5, 30, marks=pytest.mark.slow),
        pytest.param("rnn", 50, 300, marks=pytest.mark.soak),
        pytest.param("transformer", 50, 300, marks=pytest.mark.soak),
    ],
)
def test_a_killed_run_ends_in_the_same_bits(server, training_of, family, kills, steps, tmp_path):
    training, rng, out, steps_reached = (
        training_of(family),
        random.Random(7),
        tmp_path / "killed",
        [],
    )
    for kill in range(kills):
        reached = newest_step(out)
        child = server.start(*training.arguments(out, steps, **RARELY))
        # The first kill falls before anything is saved; the others once the run has moved on.
        while kill and newest_step(out) <= reached and child.alive():
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.1) if kill else 0.05)
        child.send(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL, "the run ended before it could be killed"
        steps_reached.append(newest_step(out))
    assert 0 < steps_reached[-1] < steps
    assert len(set(steps_reached)) > kills // 2, (
        f"the kills fell too close together: {steps_reached}"
    )
    code, output = server.run(*training.arguments(out, steps, **RARELY), seconds=600)
    assert code == 0, output
    undisturbed = tmp_path / "undisturbed"
    assert server.run(*training.arguments(undisturbed, steps, **RARELY), seconds=600)[0] == 0
    assert training.final_files(out, steps) == training.final_files(undisturbed, steps)
    assert not list(out.glob("tmp-*"))
    print(f"{family}: {kills} kills, at {len(set(steps_reached))} different steps")


@pytest.mark.parametrize(
    ("family", "stops"),
    [
        pytest.param("rnn", 4, marks=pytest.mark.slow),
        pytest.param("rnn", 20, marks=pytest.mark.soak),
        pytest.param("transformer", 20, marks=pytest.mark.soak),
    ],
)
def test_a_signal_at_any_moment_saves_the_last_step(server, training_of, family, stops, tmp_path):
    training, rng, out, steps = (
        training_of(family),
        random.Random(11),
        tmp_path / "stopped",
        15 * stops,
    )
    rare = {"training.save_every": 1000, "training.validate_every": 7}
    for stop in range(stops):
        number = (signal.SIGTERM, signal.SIGINT)[stop % 3 == 2]
        before = len(events(out))
        child = server.start(*training.arguments(out, steps, **rare))
        while len(events(out)) <= before and child.alive():
            time.sleep(0.002)
        time.sleep(rng.uniform(0, 0.1))
        child.send(number)
        assert child.wait() == 128 + number, child.output()
        assert f"resume with: dhyan train {out} --resume" in child.output()
        assert newest_step(out) == last_step(out)
    assert stops // 2 < newest_step(out) < steps
    undisturbed = tmp_path / "undisturbed"
    for end in (out, undisturbed):
        assert server.run(*training.arguments(end, steps, **rare), seconds=600)[0] == 0
    assert training.final_files(out, steps)[0] == training.final_files(undisturbed, steps)[0]
    print(f"{family}: {stops} stops")


def events(out):
    """The lines a run has written so far, without one that it is writing."""
    path = out / "metrics.jsonl"
    return path.read_text().rpartition("\n")[0].splitlines() if path.exists() else []


def last_step(out):
    return max((json.loads(line)["step"] for line in events(out)), default=0)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_the_run_at_once(server, training_of, number, tmp_path):
    training, out = training_of("rnn"), tmp_path / "run"
    never = {"training.save_every": 9999, "training.validate_every": 9999}
    arguments = training.arguments(out, 4000, **never)
    # Every fsync from the fifteenth on, those of the second checkpoint, takes two seconds.
    child, tracer, _ = attached(
        server, arguments, "-e", "inject=fsync:delay_enter=2000000:when=15+"
    )
    while last_step(out) < 2:
        time.sleep(0.002)
    child.send(signal.SIGTERM)
    while not list(out.glob("tmp-step-*")):
        time.sleep(0.002)
    child.send(number)
    assert child.wait() == -number
    tracer.wait()
    assert newest_step(out) == 0, "it waited for its checkpoint"
    assert list(out.glob("tmp-step-*"))
    code, output = server.run(*training.arguments(out, 3, **never))
    assert code == 0, output
    assert not list(out.glob("tmp-*"))


@pytest.mark.slow
def test_the_command_stops_on_sigterm(training_of, tmp_path):
    training, out = training_of("rnn"), tmp_path / "run"
    process = subprocess.Popen(
        command(*training.arguments(out, 4000)),
        stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment(),
    )  # fmt: skip
    while newest_step(out) < 3 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(signal.SIGTERM)
    output, errors = process.communicate()
    assert process.returncode == 143
    assert b"--resume" in errors
    assert b"Traceback" not in errors
    assert f"step {newest_step(out)}".encode() in output
