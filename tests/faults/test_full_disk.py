"""A disk that is full or fails takes nothing that was saved, and the run goes on."""

import shutil
from itertools import pairwise

import pytest

from dhyan.checkpoint import read_checkpoint, steps_in
from tests.faults.conftest import STEPS
from tests.faults.fork_client import changes, traced

ERRORS = {
    "openat": ("ENOSPC", "EDQUOT", "EROFS", "EIO"),
    "write": ("ENOSPC", "EDQUOT", "EIO"),
    "fsync": ("ENOSPC", "EDQUOT", "EIO"),
    "mkdir": ("ENOSPC", "EDQUOT", "EROFS"),
    "rename": ("ENOSPC", "EDQUOT", "EROFS", "EIO"),
}
WARNINGS = ("not saved, going on: ", " is whole, but ", "its lines are kept until there is room")
QUICK, ALL = 10, 0


def one_point_per_call(points, count):
    """So many of the points, each with one of the errors it may meet."""
    cases = [(p, ERRORS[p.call][n % len(ERRORS[p.call])]) for n, p in enumerate(points)]
    return cases[:: max(1, len(cases) // count)]


@pytest.fixture
def saves(server, training_of, tmp_path):
    """A training, a folder, and the changes that each of its saves but the first makes there."""
    training, out = training_of("rnn"), tmp_path / "run"
    code, calls, output = traced(server, training.arguments(out))
    assert code == 0, output
    points = changes(calls, out, ERRORS)
    begins = [n for n, point in enumerate(points) if point.starts_with('mkdir("RUN/tmp-step-')]
    assert len(begins) == 1 + STEPS
    return training, out, [points[a:b] for a, b in pairwise([*begins[1:], None])]


@pytest.mark.parametrize(
    "count",
    [pytest.param(QUICK, marks=pytest.mark.slow), pytest.param(ALL, marks=pytest.mark.soak)],
)
def test_training_goes_on_after_any_write_error(server, saves, count):
    training, out, (first, second, last) = saves
    cases = [(p, error) for p in (*first, *second, *last) for error in ERRORS[p.call]]
    if count:
        cases = [*one_point_per_call(first + second, count), *one_point_per_call(last, count)]
    unsaved = 0
    for point, error in cases:
        shutil.rmtree(out)
        code, calls, output = traced(
            server, training.arguments(out), *point.inject(f"error={error}")
        )
        case = (point, error, output)
        assert f"{error} " in calls, case
        assert code == 0, case
        lines = [
            line for line in output.splitlines() if "not saved" in line or "is whole, but" in line
        ]
        lines += [line for line in output.splitlines() if "its lines are kept" in line]
        assert len(lines) == 1, case
        if "tmp-step-" in point.about:
            unsaved += 1
            assert "the checkpoint cannot be written" in lines[0], case
            assert " bytes" in lines[0], case
        assert training.final_files(out) == training.final_files(training.undisturbed), case
        assert not list(out.glob("tmp-step-*")), case
        assert len(steps_in(out)) >= 2, case
        for step in steps_in(out):
            assert read_checkpoint(out / f"step-{step}"), case
    assert unsaved, "void: no checkpoint was hit"
    print(f"{len(cases)} errors at {len({p for p, _ in cases})} calls, {unsaved} in a checkpoint")


@pytest.mark.slow
def test_a_full_disk_ends_the_run_after_three_saves_and_it_resumes_later(server, saves):
    training, out, ((first, *_), *_) = saves
    shutil.rmtree(out)
    full = ("-e", f"inject=mkdir:error=ENOSPC:when={first.number}+")
    code, _, output = traced(server, training.arguments(out), *full)
    assert code == 2, output
    assert output.count("not saved, going on") == 2
    (line,) = [line for line in output.splitlines() if line.startswith("dhyan: ")]
    assert "No space left on device; it needs " in line
    assert steps_in(out) == [0]
    code, output = server.run(*training.arguments(out))
    assert code == 0, output
    assert training.final_files(out) == training.final_files(training.undisturbed)
