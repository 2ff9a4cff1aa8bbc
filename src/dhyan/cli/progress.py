"""How a run is shown: a live line in a terminal, plain lines elsewhere."""

import logging
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import typer

from dhyan.cli.exit_codes import Exit

if TYPE_CHECKING:
    from dhyan.run import Run
    from dhyan.training.events import Event, Stepped
    from dhyan.training.trainer import Trainer

logger = logging.getLogger(__name__)

NAMES = {"bleu": "BLEU", "chrf": "chrF++"}
SECONDS_BETWEEN_LINES = 10.0
EXIT_CODES = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.TERMINATED}


def show_progress(run: "Run", *, quiet: bool = False, again: str = " with --resume") -> None:
    """Train to the end, show how it goes, and say where the model is and what to do next.

    The same command goes on from where it was stopped, with what `again` adds to it.
    """
    show = progress_bar if sys.stderr.isatty() and not quiet else plain_lines
    with stopped_by_signals(run.trainer) as received, show(run) as hear:
        for event in run:
            hear(event)
    typer.echo(result(run))
    if received:
        logger.info(f"stopped, with a checkpoint; the same command{again} goes on from it")
        raise typer.Exit(EXIT_CODES[received[0]])
    folder = shlex.quote(str(run.folder.path))
    logger.info(
        f"next: dhyan show {folder} {shlex.quote(run.sample)}   or   dhyan translate {folder} FILE"
    )


def result(run: "Run") -> str:
    """Where the model is, and how good its best checkpoint was."""
    progress, measure = run.trainer.state, run.trainer.settings.stop_on
    if progress.best_step is None or progress.best_score is None:
        return f"{run.folder.path}  step {progress.step:,}"
    best = format_scores({measure: progress.best_score})
    return f"{run.folder.path}  best at step {progress.best_step:,} of {progress.step:,}: {best}"


@contextmanager
def plain_lines(run: "Run") -> Iterator[Callable[["Event"], None]]:
    """A line for what matters, and one every few seconds to show that it goes on."""
    from dhyan.training.events import Problem, Stepped

    steps, first = run.folder.recipe.training.steps, run.trainer.state.step
    began = spoke = monotonic()

    def hear(event: "Event") -> None:
        nonlocal spoke
        if not isinstance(event, Stepped):
            for line in event_lines(event):
                logger.log(logging.WARNING if isinstance(event, Problem) else logging.INFO, line)
        elif monotonic() - spoke >= SECONDS_BETWEEN_LINES or event.step == steps:
            spoke = monotonic()
            left = (spoke - began) / (event.step - first) * (steps - event.step)
            logger.info(
                f"step {event.step:,}/{steps:,}  {format_speed(event)}  {format_duration(left)} left"
            )

    yield hear


@contextmanager
def progress_bar(run: "Run") -> Iterator[Callable[["Event"], None]]:
    """One live line with a bar; what matters is printed above it."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    from dhyan.training.events import Stepped

    steps, first = run.folder.recipe.training.steps, run.trainer.state.step
    columns = (
        TextColumn("step"),
        MofNCompleteColumn(),
        BarColumn(bar_width=None),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
        TextColumn("left"),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, expand=True) as display:
        task = display.add_task("", total=steps, completed=first)

        def hear(event: "Event") -> None:
            if isinstance(event, Stepped):
                display.update(task, completed=event.step, description=format_speed(event))
            else:
                for line in event_lines(event):
                    console.print(line, highlight=False, markup=False)

        yield hear


def event_lines(event: "Event") -> Iterator[str]:
    """The line for an event that is worth one."""
    from dhyan.training.divergence import first_examples
    from dhyan.training.events import BatchSplit, Restored, SaveFailed, Skipped, Stopped, Validated

    match event:
        case Validated(step=step, scores=scores, best=best):
            yield f"step {step:,}  valid {format_scores(scores)}{'  (best so far)' if best else ''}"
        case Skipped(step=step, examples=rows, reason=reason):
            yield f"step {step:,}  skipped: {reason}, with examples {first_examples(rows)}"
        case Restored(step=step, checkpoint=back):
            yield f"step {step:,}  nothing is finite: back to step {back:,}, with other batches"
        case BatchSplit(step=step, parts=parts):
            yield f"step {step:,}  out of memory: repeated in {parts} parts"
        case SaveFailed(step=step, reason=reason):
            yield f"step {step:,}  not saved, going on: {reason}"
        case Stopped(step=step, reason=reason):
            yield f"step {step:,}  ends here: {reason}"


def format_scores(scores: Mapping[str, float]) -> str:
    """Scores in a line."""
    digits = {name: 2 if name in NAMES else 4 for name in scores}
    return "  ".join(f"{NAMES.get(k, k)} {value:.{digits[k]}f}" for k, value in scores.items())


def format_speed(event: "Stepped") -> str:
    """Loss and speed."""
    return f"loss {event.loss:.3f}  {event.tokens / max(event.seconds, 1e-9):,.0f} tokens/s"


def format_duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


@contextmanager
def stopped_by_signals(trainer: "Trainer") -> Iterator[list[signal.Signals]]:
    """Ctrl-C and SIGTERM end the run after the step in hand; a second one ends it at once."""
    received: list[signal.Signals] = []

    def stop(number: int, frame: object) -> None:
        received.append(signal.Signals(number))
        for one in EXIT_CODES:
            signal.signal(one, signal.SIG_DFL)
        trainer.interrupt(f"{received[0].name} received")

    before = {number: signal.signal(number, stop) for number in EXIT_CODES}
    try:
        yield received
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
