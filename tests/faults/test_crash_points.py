"""A run that is killed at any change it makes to its folder ends in the same bits."""

import shutil
import signal

import pytest

from tests.faults.conftest import STEPS
from tests.faults.fork_client import CHANGES, changes, newest_step, spread, traced


class Killed:
    """A story's run, killed at one point after another; each time it must end as if left alone.

    It begins with nothing, or with what a folder `before` holds.
    """

    def __init__(self, stage, story, out, before=None):
        self.stage, self.story, self.out, self.before = stage, story, out, before
        self.halves = 0

    def afresh(self):
        shutil.rmtree(self.out, ignore_errors=True)
        if self.before:
            shutil.copytree(self.before, self.out)

    def points(self, kinds):
        """The changes that a run makes if it is left alone."""
        self.afresh()
        code, calls, said = traced(self.stage, self.story.words(self.out))
        assert code == 0, said
        points = changes(calls, self.out, kinds)
        assert len({point.call for point in points}) >= 6, "the changes of a save were not seen"
        return points

    def at(self, point):
        """Be killed at a point."""
        self.afresh()
        kill = point.inject("signal=SIGKILL")
        code, _, _ = traced(self.stage, self.story.words(self.out), *kill)
        assert code == -signal.SIGKILL, f"{point} was not reached"
        self.halves += bool(list(self.out.glob("tmp-step-*")))

    def goes_on(self, point):
        """Go on from there to the end, which is the same."""
        code, said = self.stage.run(*self.story.words(self.out))
        assert code == 0, (point, said)
        assert self.story.ending(self.out) == self.story.ending(self.story.alone), point
        assert not list(self.out.glob("tmp-*")), point


@pytest.mark.slow
@pytest.mark.parametrize(("family", "count"), [("rnn", 0), ("transformer", 12)])
def test_killed_at_every_change_of_a_save_it_loses_nothing(stage, told, family, count, swift):
    before = Killed(stage, told(family), swift / "before")
    before.at(save_of(before.points(CHANGES), STEPS)[0])
    assert newest_step(before.out) == STEPS - 1
    killed = Killed(stage, before.story, swift / "run", before.out)
    points = save_of(killed.points(CHANGES), STEPS)
    calls = [point.call for point in points]
    assert {"openat", "fsync", "mkdir", "rename", "unlinkat", "rmdir"} == set(calls)
    assert len(points) > 30
    chosen = spread(points, count)
    for point in chosen:
        killed.at(point)
        killed.goes_on(point)
    assert killed.halves > len(chosen) // 4, "void: few half-written checkpoints were seen"
    print(f"{family}: {len(chosen)} of the {len(points)} points of a save, {killed.halves} halves")


@pytest.mark.parametrize(
    ("family", "kinds", "count"),
    [
        pytest.param("rnn", CHANGES, 4, marks=pytest.mark.slow),
        pytest.param("rnn", (*CHANGES, "write"), 0, marks=pytest.mark.soak),
        pytest.param("transformer", (*CHANGES, "write"), 0, marks=pytest.mark.soak),
    ],
)
def test_killed_at_any_change_it_loses_nothing(stage, told, family, kinds, count, tmp_path):
    killed = Killed(stage, told(family), tmp_path / "run")
    points = killed.points(kinds)
    chosen = spread(points, count)
    for point in chosen:
        killed.at(point)
        killed.goes_on(point)
    assert killed.halves, "void: no half-written checkpoint was seen"
    print(f"{family}: {len(chosen)} of {len(points)} points, {killed.halves} half-written ones")


def save_of(points, step):
    """The changes from the first of a save on."""
    (begin,) = [n for n, p in enumerate(points) if p.begins(f'mkdir("RUN/tmp-step-{step}"')]
    return points[begin:]
