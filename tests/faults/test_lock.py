"""One run at a time in a folder, and none is kept out by a dead one."""

import os
import signal
import time

from tests.faults.staged import newest_step

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
