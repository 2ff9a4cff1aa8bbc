"""A run that is killed at any change it makes to its folder ends in the same bits."""

import shutil
import signal

import pytest

from tests.faults.staged import CHANGES, changes, spread, traced


@pytest.mark.parametrize(
    ("family", "kinds", "count"),
    [
        pytest.param("rnn", CHANGES, 8, marks=pytest.mark.slow),
        pytest.param("transformer", CHANGES, 3, marks=pytest.mark.slow),
        pytest.param("rnn", (*CHANGES, "write"), 0, marks=pytest.mark.soak),
        pytest.param("transformer", (*CHANGES, "write"), 0, marks=pytest.mark.soak),
    ],
)
def test_killed_at_any_change_it_loses_nothing(stage, told, family, kinds, count, tmp_path):
    story, out = told(family), tmp_path / "run"
    code, calls, said = traced(stage, story.words(out))
    assert code == 0, said
    points = changes(calls, out, kinds)
    assert len({point.call for point in points}) >= 6, "the changes of a save were not seen"
    chosen, halves = spread(points, count), 0
    for point in chosen:
        shutil.rmtree(out)
        code, _, _ = traced(stage, story.words(out), *point.inject("signal=SIGKILL"))
        assert code == -signal.SIGKILL, f"{point} was not reached"
        halves += bool(list(out.glob("tmp-step-*")))
        code, said = stage.run(*story.words(out))
        assert code == 0, (point, said)
        assert story.ending(out) == story.ending(story.alone), point
        assert not list(out.glob("tmp-*")), point
    assert halves, "void: no half-written checkpoint was seen"
    print(f"{family}: {len(chosen)} of {len(points)} points, {halves} half-written checkpoints")
