"""Killed or asked to stop, again and again, a run ends in the same bits as one left alone."""

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
def test_kills_leave_no_trace(stage, told, family, kills, steps, tmp_path):
    story, chance, out, seen = told(family), random.Random(7), tmp_path / "killed", []
    words = story.words(out, steps, **RARELY)
    for kill in range(kills):
        child, reached = stage.begin(*words), newest_step(out)
        # The first kill falls before anything is saved; the others once the run has moved on.
        while kill and newest_step(out) <= reached and child.alive():
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.1) if kill else 0.05)
        child.send(signal.SIGKILL)
        assert child.wait() == -signal.SIGKILL, "the run ended before it could be killed"
        seen.append(newest_step(out))
    assert 0 < seen[-1] < steps
    assert len(set(seen)) > kills // 2, f"the kills fell too close together: {seen}"
    code, said = stage.run(*words, seconds=600)
    assert code == 0, said
    alone = tmp_path / "alone"
    assert stage.run(*story.words(alone, steps, **RARELY), seconds=600)[0] == 0
    assert story.ending(out, steps) == story.ending(alone, steps)
    assert not list(out.glob("tmp-*"))
    print(f"{family}: {kills} kills, at {len(set(seen))} different steps")


@pytest.mark.parametrize(
    ("family", "stops"),
    [
        pytest.param("rnn", 4, marks=pytest.mark.slow),
        pytest.param("rnn", 20, marks=pytest.mark.soak),
        pytest.param("transformer", 20, marks=pytest.mark.soak),
    ],
)
def test_asked_to_stop_at_any_moment_it_saves_its_last_step_and_goes_on_later(
    stage, told, family, stops, tmp_path
):
    story, chance, out, steps = told(family), random.Random(11), tmp_path / "stopped", 15 * stops
    rare = {"training.save_every": 1000, "training.validate_every": 7}
    for stop in range(stops):
        number = (signal.SIGTERM, signal.SIGINT)[stop % 3 == 2]
        before = len(events(out))
        child = stage.begin(*story.words(out, steps, **rare))
        while len(events(out)) <= before and child.alive():
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.1))
        child.send(number)
        assert child.wait() == 128 + number, child.said()
        assert "with --resume goes on from it" in child.said()
        assert newest_step(out) == last_step(out)
    assert stops // 2 < newest_step(out) < steps
    alone = tmp_path / "alone"
    for end in (out, alone):
        assert stage.run(*story.words(end, steps, **rare), seconds=600)[0] == 0
    assert story.ending(out, steps)[0] == story.ending(alone, steps)[0]
    print(f"{family}: {stops} stops")


def events(out):
    """The lines a run has written so far, without one that it is writing."""
    path = out / "metrics.jsonl"
    return path.read_text().rpartition("\n")[0].splitlines() if path.exists() else []


def last_step(out):
    return max((json.loads(line)["step"] for line in events(out)), default=0)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_second_signal_ends_it_at_once_and_nothing_is_lost(stage, told, number, tmp_path):
    story, out = told("rnn"), tmp_path / "run"
    never = {"training.save_every": 9999, "training.validate_every": 9999}
    words = story.words(out, 4000, **never)
    # Every fsync from the thirteenth on, those of the second checkpoint, takes two seconds.
    child, tracer, _ = attached(stage, words, "-e", "inject=fsync:delay_enter=2000000:when=13+")
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
    code, said = stage.run(*story.words(out, 3, **never))
    assert code == 0, said
    assert not list(out.glob("tmp-*"))


@pytest.mark.slow
def test_the_command_line_itself_stops_when_it_is_asked_to(told, tmp_path):
    story, out = told("rnn"), tmp_path / "run"
    process = subprocess.Popen(
        command(*story.words(out, 4000)),
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
