"""A run that is killed at any change it makes to its folder ends in the same bits."""

import shutil
import signal

import pytest

from tests.faults.conftest import STEPS
from tests.faults.fork_client import CHANGES, changes, newest_step, spread, traced


class KilledRun:
    """A run killed at one system call after another; each time it must end as if undisturbed.

    It starts with an empty folder, or with a copy of the folder `before`.
    """

    def __init__(self, server, training, out, before=None):
        self.server, self.training, self.out, self.before = server, training, out, before
        self.partial = 0

    def afresh(self):
        shutil.rmtree(self.out, ignore_errors=True)
        if self.before:
            shutil.copytree(self.before, self.out)

    def points(self, kinds):
        """The changes that a run makes if it is left undisturbed."""
        self.afresh()
        code, calls, output = traced(self.server, self.training.arguments(self.out))
        assert code == 0, output
        points = changes(calls, self.out, kinds)
        assert len({point.call for point in points}) >= 6, "the changes of a save were not seen"
        return points

    def at(self, point):
        """Be killed at a point."""
        self.afresh()
        kill = point.inject("signal=SIGKILL")
        code, _, _ = traced(self.server, self.training.arguments(self.out), *kill)
        assert code == -signal.SIGKILL, f"{point} was not reached"
        self.partial += bool(list(self.out.glob("tmp-step-*")))

    def resume_after(self, point):
        """Go on from there to the end, which is the same."""
        code, output = self.server.run(*self.training.arguments(self.out))
        assert code == 0, (point, output)
        assert self.training.final_files(self.out) == self.training.final_files(
            self.training.undisturbed
        ), point
        assert not list(self.out.glob("tmp-*")), point


@pytest.mark.slow
@pytest.mark.parametrize(("family", "count"), [("rnn", 0), ("transformer", 6)])
def test_a_kill_at_any_system_call_of_a_save_loses_nothing(
    server, training_of, family, count, memory_folder
):
    before = KilledRun(server, training_of(family), memory_folder / "before")
    before.at(save_of(before.points(CHANGES), STEPS)[0])
    assert newest_step(before.out) == STEPS - 1
    killed = KilledRun(server, before.training, memory_folder / "run", before.out)
    points = save_of(killed.points(CHANGES), STEPS)
    calls = [point.call for point in points]
    assert {"openat", "fsync", "mkdir", "rename", "unlinkat", "rmdir"} == set(calls)
    assert len(points) > 30
    chosen = spread(points, count)
    for point in chosen:
        killed.at(point)
        killed.resume_after(point)
    assert killed.partial > len(chosen) // 4, "void: few half-written checkpoints were seen"
    print(
        f"{family}: {len(chosen)} of the {len(points)} points of a save, {killed.partial} partial"
    )


@pytest.mark.parametrize(
    ("family", "kinds", "count"),
    [
        pytest.param("rnn", CHANGES, 4, marks=pytest.mark.slow),
        pytest.param("rnn", (*CHANGES, "write"), 0, marks=pytest.mark.soak),
        pytest.param("transformer", (*CHANGES, "write"), 0, marks=pytest.mark.soak),
    ],
)
def test_a_kill_at_any_system_call_loses_nothing(
    server, training_of, family, kinds, count, tmp_path
):
    killed = KilledRun(server, training_of(family), tmp_path / "run")
    points = killed.points(kinds)
    chosen = spread(points, count)
    for point in chosen:
        killed.at(point)
        killed.resume_after(point)
    assert killed.partial, "void: no half-written checkpoint was seen"
    print(f"{family}: {len(chosen)} of {len(points)} points, {killed.partial} half-written ones")


def save_of(points, step):
    """The changes from the first of a save on."""
    (begin,) = [n for n, p in enumerate(points) if p.starts_with(f'mkdir("RUN/tmp-step-{step}"')]
    return points[begin:]
