"""One run at a time in a folder, and none is kept out by a dead one."""

import os
import signal
import time

import pytest

from tests.faults.fork_client import newest_step

LONG = 4000


def test_a_second_run_is_refused_and_a_dead_process_holds_no_lock(server, training_of, tmp_path):
    training, out = training_of("rnn"), tmp_path / "run"
    first = server.start(*training.arguments(out, LONG))
    while newest_step(out) < 1 and first.alive():
        time.sleep(0.01)
    code, output = server.run(*training.arguments(out, LONG))
    assert code == 2
    assert output.splitlines()[-1] == (
        f"dhyan: {out}: process {first.pid} is training here; "
        "to resume when it ends, add --wait; else name another --out"
    )
    first.send(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert (out / "lock").read_text() == str(first.pid)
    second = server.start(*training.arguments(out, LONG))
    reached = newest_step(out)
    while newest_step(out) <= reached and second.alive():
        time.sleep(0.01)
    assert (out / "lock").read_text() == str(second.pid) != str(os.getpid())
    second.send(signal.SIGKILL)
    assert second.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_a_waiting_run_takes_over_and_ends_in_the_same_bits(server, training_of, tmp_path):
    training, out = training_of("rnn"), tmp_path / "run"
    first = server.start(*training.arguments(out, 12))
    while newest_step(out) < 1 and first.alive():
        time.sleep(0.002)
    first.send(signal.SIGSTOP)
    spare = server.start(*training.arguments(out, 12), "--wait")
    while "waiting for its end" not in spare.output() and spare.alive():
        time.sleep(0.002)
    assert f"process {first.pid} is training here: waiting for its end" in spare.output()
    assert spare.alive()
    first.send(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert spare.wait() == 0, spare.output()
    assert server.run(*training.arguments(tmp_path / "undisturbed", 12))[0] == 0
    assert training.final_files(out, 12) == training.final_files(tmp_path / "undisturbed", 12)
