"""With --quiet, a run prints only its result, and warnings."""

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from dhyan.atomic_folder import write_manifest
from dhyan.cli.messages import log_to_stderr
from dhyan.cli.progress import plain_lines
from dhyan.config import Training
from dhyan.run.load import choose_device
from dhyan.run.resume_checks import warn_about_environment
from dhyan.training.events import (
    BatchSplit,
    Restored,
    Saved,
    SaveFailed,
    Skipped,
    Stepped,
    Stopped,
    Validated,
)
from tests.faults.fork_client import newest_step, traced

RUN = SimpleNamespace(
    folder=SimpleNamespace(
        recipe=SimpleNamespace(
            training=Training(steps=2, validate_every=1, save_every=1),
        )
    ),
    trainer=SimpleNamespace(state=SimpleNamespace(step=0)),
)
PROBLEMS = {
    Skipped(1, (0,), (4, 5), "a loss of nan"): "step 1  skipped: a loss of nan",
    Restored(2, 1, 7): "step 2  nothing is finite: back to step 1",
    BatchSplit(1, 2): "step 1  out of memory: repeated in 2 parts",
    SaveFailed(1, "no room"): "step 1  not saved, going on: no room",
}
PROGRESS = (
    Stepped(2, 0, 1.0, 0.1, 1.0, 10, 0.1),
    Validated(2, {"loss": 1.0}, best=True),
    Saved(2, Path("step-2"), best=True),
    Stopped(2, "asked to"),
)


@pytest.mark.parametrize("quiet", [True, False])
def test_quiet_shows_problems_only(capsys, quiet):
    log_to_stderr(quiet=quiet)
    with plain_lines(RUN) as report:
        for event in (*PROBLEMS, *PROGRESS):
            report(event)
    lines = capsys.readouterr().err.splitlines()
    for line, expected in zip(lines, PROBLEMS.values(), strict=False):
        assert line.startswith(expected)
    assert len(lines) == len(PROBLEMS) + (0 if quiet else 3)


def test_other_deterministic_flags_are_logged(log, copy_of, monkeypatch):
    _, run = copy_of("rnn")
    folder = run / f"step-{newest_step(run)}"
    warn_about_environment(folder, choose_device("cpu"))
    assert not any("deterministic" in line for line in log.messages)
    monkeypatch.setattr("torch.are_deterministic_algorithms_enabled", lambda: True)
    warn_about_environment(folder, choose_device("cpu"))
    expected = "was trained with deterministic none, now algorithms: the last digits may differ"
    assert expected in log.messages
    facts = json.loads((folder / "manifest.json").read_text())
    sums = [facts.pop(key) for key in ("files", "checksum", "deterministic")][0]
    write_manifest(folder, facts, sums)  # as it was before the flags were noted
    warn_about_environment(folder, choose_device("cpu"))
    assert log.messages.count(expected) == 1


def test_a_quiet_run_logs_skipped_checkpoints_and_a_changed_environment(server, copy_of):
    training, run = copy_of("rnn")
    newest = newest_step(run)
    (run / f"step-{newest}" / "training.json").unlink()
    arguments = [*map(str, training.arguments(run)), "--quiet"]
    arguments[arguments.index("--threads") + 1] = "2"
    code, output = server.run(*arguments)
    assert code == 0, output
    skipped, threads, result = output.splitlines()
    assert f"skipped, now damaged-step-{newest}; step-{newest - 1} is used" in skipped
    assert threads == "was trained with threads 1, now 2: the last digits may differ"
    assert result.startswith(str(run))


@pytest.mark.slow
def test_a_quiet_run_logs_a_restart_and_failed_saves(server, training_of, tmp_path):
    training, out = training_of("rnn"), tmp_path / "run"
    out.mkdir()
    (out / "lock").touch()  # all that a run left which was killed at once
    full = ("-e", "inject=mkdir:error=ENOSPC:when=3")  # the run, step 0, step 1
    code, _, output = traced(server, (*training.arguments(out), "--quiet"), *full)
    assert code == 0, output
    restart, failed_save, result = output.splitlines()
    assert restart == f"{out} has no checkpoint yet: its run starts from the beginning"
    assert "step 1  not saved, going on: " in failed_save
    assert result.startswith(str(out))
