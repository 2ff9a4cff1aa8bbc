"""A run that is killed again and again ends in the same bits as one left alone."""

import random
import signal
import subprocess
import time

import pytest

from dhyan.checkpoint import read_checkpoint
from tests.tiny import as_arguments, command, dhyan, environment, tiny_settings, write_corpus

STEPS = 40


def train_command(family, files, out, steps=STEPS):
    recipe = {"rnn": "bahdanau2015-small", "transformer": "transformer2017-small"}[family]
    settings = tiny_settings(family, *files, **{"training.steps": steps, "training.save_every": 1})
    return ("train", recipe, "--resume", "--threads", 1, "--out", out, *as_arguments(settings))


@pytest.mark.parametrize(
    ("family", "kills", "steps"),
    [
        pytest.param("rnn", 6, STEPS, marks=pytest.mark.slow),
        pytest.param("rnn", 50, 300, marks=pytest.mark.soak),
        pytest.param("transformer", 50, 300, marks=pytest.mark.soak),
    ],
)
def test_kills_leave_no_trace(family, kills, steps, tmp_path):
    files = write_corpus(tmp_path, pairs=250)
    alone = dhyan(*train_command(family, files, tmp_path / "alone", steps))
    assert alone.returncode == 0, alone.stderr.decode()

    chance, out, seen = random.Random(7), tmp_path / "killed", []
    arguments = train_command(family, files, out, steps)
    for kill in range(kills):
        process = subprocess.Popen(
            command(*arguments), stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            env=environment(),
        )  # fmt: skip
        reached = newest_step(out)
        # The first kill falls before anything is saved; the others once the run has moved on.
        while kill and newest_step(out) <= reached and process.poll() is None:
            time.sleep(0.005)
        time.sleep(chance.uniform(0, 0.15) if kill else 0.5)
        process.send_signal(signal.SIGKILL)
        assert process.wait() == -signal.SIGKILL, "the run ended before it could be killed"
        seen.append(newest_step(out))
    assert 0 < seen[-1] < steps
    assert len(set(seen)) > kills // 2, f"the kills fell too close together: {seen}"

    ended = dhyan(*arguments)
    assert ended.returncode == 0, ended.stderr.decode()
    last = f"step-{steps}"
    assert read_checkpoint(out / last) == read_checkpoint(tmp_path / "alone" / last)
    assert (out / "best.json").read_bytes() == (tmp_path / "alone" / "best.json").read_bytes()
    assert not list(out.glob("tmp-*"))


def newest_step(out):
    """The newest checkpoint that is in place, or −1."""
    names = [path.name.removeprefix("step-") for path in out.glob("step-*")]
    return max(map(int, names), default=-1)


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_asked_to_stop_it_saves_says_so_and_goes_on_later(number, tmp_path):
    files = write_corpus(tmp_path, pairs=250)
    arguments = train_command("rnn", files, tmp_path / "run")
    process = subprocess.Popen(
        command(*arguments), stderr=subprocess.PIPE, stdout=subprocess.PIPE, env=environment()
    )
    while newest_step(tmp_path / "run") < 3 and process.poll() is None:
        time.sleep(0.01)
    process.send_signal(number)
    output, errors = process.communicate(timeout=30)
    assert process.returncode == {signal.SIGTERM: 143, signal.SIGINT: 130}[number]
    assert b"--resume" in errors
    assert b"Traceback" not in errors
    stopped = newest_step(tmp_path / "run")
    assert f"step {stopped}".encode() in output
    assert dhyan(*arguments).returncode == 0
    assert dhyan(*train_command("rnn", files, tmp_path / "alone")).returncode == 0
    last = f"step-{STEPS}"
    assert read_checkpoint(tmp_path / "run" / last) == read_checkpoint(tmp_path / "alone" / last)
