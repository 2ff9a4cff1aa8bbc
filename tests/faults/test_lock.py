"""One run at a time in a folder, and none is kept out by a dead one."""

import os
import signal
import time

import pytest

from tests.faults.fork_client import newest_step

LONG = 4000


def test_a_second_run_is_refused_by_the_first_ones_number_and_a_dead_one_holds_nothing(
    stage, told, tmp_path
):
    story, out = told("rnn"), tmp_path / "run"
    first = stage.begin(*story.words(out, LONG))
    while newest_step(out) < 1 and first.alive():
        time.sleep(0.01)
    code, said = stage.run(*story.words(out, LONG))
    assert code == 2
    assert said.splitlines()[-1] == (
        f"dhyan: {out}: process {first.pid} is training here; name another --out"
    )
    first.send(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert (out / "lock").read_text() == str(first.pid)
    second = stage.begin(*story.words(out, LONG))
    reached = newest_step(out)
    while newest_step(out) <= reached and second.alive():
        time.sleep(0.01)
    assert (out / "lock").read_text() == str(second.pid) != str(os.getpid())
    second.send(signal.SIGKILL)
    assert second.wait() == -signal.SIGKILL


@pytest.mark.slow
def test_one_that_stands_by_takes_over_at_once_and_ends_in_the_same_bits(stage, told, tmp_path):
    story, out = told("rnn"), tmp_path / "run"
    slow = story.words(out, 12)
    first = stage.begin(*slow)
    while newest_step(out) < 1 and first.alive():
        time.sleep(0.002)
    first.send(signal.SIGSTOP)
    spare = stage.begin(*slow, "--wait")
    while "waiting for its end" not in spare.said() and spare.alive():
        time.sleep(0.002)
    assert f"process {first.pid} is training here: waiting for its end" in spare.said()
    assert spare.alive()
    first.send(signal.SIGKILL)
    assert first.wait() == -signal.SIGKILL
    assert spare.wait() == 0, spare.said()
    assert stage.run(*story.words(tmp_path / "alone", 12))[0] == 0
    assert story.ending(out, 12) == story.ending(tmp_path / "alone", 12)
