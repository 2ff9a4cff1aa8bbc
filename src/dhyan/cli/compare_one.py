"""`dhyan compare-one`: a single model of a comparison, trained, shown and tested."""

import logging
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, cast

import typer

from dhyan.cli.exit_codes import Exit
from dhyan.cli.progress import (
    EXIT_CODES,
    SECONDS_BETWEEN_LINES,
    event_lines,
    format_duration,
    format_speed,
    plain_lines,
    progress_bar,
    stopped_by_signals,
)
from dhyan.cli.warnings import Pace, log_to_stderr
from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.compare.plan import Entry, Plan
    from dhyan.compare.train_one import Budgeted
    from dhyan.run import Run
    from dhyan.training.events import Event

logger = logging.getLogger(__name__)


def compare_one(folder: Path, name: str, device: str, threads: int) -> None:
    """Train and test one model of a comparison; it stops if the process that asked for it ends."""
    from dhyan.compare.plan import read_plan

    plan, parent = read_plan(folder), os.getppid()
    if plan is None:
        raise UserError(f"{folder}: no comparison is planned here; begin it with dhyan compare")

    def alone() -> bool:
        return os.getppid() != parent

    log_to_stderr(quiet=False)
    complete(plan, plan.entry(name), device=device, threads=threads, alone=alone)


def complete(
    plan: "Plan",
    entry: "Entry",
    *,
    device: str,
    threads: int,
    quiet: bool = False,
    alone: Callable[[], bool] = lambda: False,
) -> None:
    """Train an entry to the end of its budget, from wherever it stands, and test it."""
    from dhyan.compare.evaluate import sit
    from dhyan.compare.test_sets import read_tests
    from dhyan.compare.train_one import begin

    logger.info(f"\n{entry.name}: {entry.about}")
    run = begin(plan, entry, device=device, threads=threads)
    with stopped_by_signals(run.trainer) as received, _shown(run, quiet) as hear:
        for event in run:
            hear(event)
            if alone() and not run.trainer.stop_reason:
                run.trainer.stop("the comparison was ended")
    if received or alone():
        logger.info("stopped, with a checkpoint; the same command goes on from it")
        raise typer.Exit(EXIT_CODES[received[0]] if received else Exit.TERMINATED)
    logger.info(f"{entry.name}: testing it")
    tests = read_tests(plan.folder)
    sit(plan, entry, tests, device=device, threads=threads, on_progress=Pace(quiet=quiet).hear)


def _shown(run: "Budgeted", quiet: bool) -> AbstractContextManager[Callable[["Event"], None]]:
    """How a run is shown: by its steps, or by its time."""
    if run.seconds:
        return _clocked(run)
    show = progress_bar if sys.stderr.isatty() and not quiet else plain_lines
    return show(cast("Run", run))


@contextmanager
def _clocked(run: "Budgeted") -> Iterator[Callable[["Event"], None]]:
    """A line for what matters, and one every few seconds with the time that is spent."""
    from dhyan.training.events import Stepped

    spoke = monotonic()

    def hear(event: "Event") -> None:
        nonlocal spoke
        if not isinstance(event, Stepped):
            for line in event_lines(event):
                logger.info(line)
        elif monotonic() - spoke >= SECONDS_BETWEEN_LINES:
            spoke = monotonic()
            spent = f"{format_duration(run.spent())} of {format_duration(run.seconds)}"
            logger.info(f"step {event.step:,}  {format_speed(event)}  {spent}")

    yield hear
