"""`dhyan compare-one`: train and test one model of a comparison, in a process of its own."""

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
from dhyan.cli.messages import ProgressLines, log_to_stderr
from dhyan.cli.progress import (
    EXIT_CODES,
    REPORT_SECONDS,
    event_lines,
    format_duration,
    format_speed,
    plain_lines,
    progress_bar,
    stopped_by_signals,
)
from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.compare.plan import Entry, Plan
    from dhyan.compare.train import BudgetedRun
    from dhyan.run import Run
    from dhyan.training.events import Event

logger = logging.getLogger(__name__)

COMPARE_ONE = "compare-one"


def compare_one(folder: Path, name: str, device: str, threads: int) -> None:
    """Train and test one model of a comparison; stops when its parent process ends."""
    from dhyan.compare.plan import read_plan

    plan, parent = read_plan(folder), os.getppid()
    if plan is None:
        raise UserError(f"{folder}: no plan of a comparison here; start one with dhyan compare")

    def parent_ended() -> bool:
        return os.getppid() != parent

    log_to_stderr(quiet=False)
    train_and_test(
        plan, plan.entry(name), device=device, threads=threads, parent_ended=parent_ended
    )


def train_and_test(
    plan: "Plan",
    entry: "Entry",
    *,
    device: str,
    threads: int,
    quiet: bool = False,
    parent_ended: Callable[[], bool] = lambda: False,
) -> None:
    """Train a model to the end of its budget, resuming if it was interrupted, and test it."""
    from dhyan.compare.evaluate import evaluate_model
    from dhyan.compare.test_sets import read_tests
    from dhyan.compare.train import start_run

    logger.info(f"\n{entry.name}: {entry.about}")
    run = start_run(plan, entry, device=device, threads=threads)
    with stopped_by_signals(run.trainer) as received, _progress(run, quiet) as report:
        for event in run:
            report(event)
            if parent_ended() and not run.trainer.stop_reason:
                run.trainer.stop("the comparison was stopped")
    if received or parent_ended():
        logger.info("stopped, with a checkpoint; the same command resumes it")
        raise typer.Exit(EXIT_CODES[received[0]] if received else Exit.TERMINATED)
    logger.info(f"{entry.name}: testing")
    tests = read_tests(plan.folder)
    evaluate_model(
        plan,
        entry,
        tests,
        device=device,
        threads=threads,
        on_progress=ProgressLines(quiet=quiet).update,
    )


def _progress(run: "BudgetedRun", quiet: bool) -> AbstractContextManager[Callable[["Event"], None]]:
    """The report of progress: by steps, or by time if that is the budget."""
    if run.seconds:
        return _time_lines(run)
    show = progress_bar if sys.stderr.isatty() and not quiet else plain_lines
    return show(cast("Run", run))


@contextmanager
def _time_lines(run: "BudgetedRun") -> Iterator[Callable[["Event"], None]]:
    """A line for every event but steps, and one with the time spent every few seconds."""
    from dhyan.training.events import Stepped

    last_report = monotonic()

    def report(event: "Event") -> None:
        nonlocal last_report
        if not isinstance(event, Stepped):
            for line in event_lines(event):
                logger.info(line)
        elif monotonic() - last_report >= REPORT_SECONDS:
            last_report = monotonic()
            spent = f"{format_duration(run.spent())} of {format_duration(run.seconds)}"
            logger.info(f"step {event.step:,}  {format_speed(event)}  {spent}")

    yield report
