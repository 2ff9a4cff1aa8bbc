"""Training progress on stderr: progress bar or plain lines; handling of SIGINT and SIGTERM."""

import logging
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import typer

from dhyan.cli.messages import REPORT_SECONDS, Exit
from dhyan.training.events import Event, Problem, Stepped
from dhyan.training.progress_display import TimeLeft, event_lines, format_speed, terminal_bar

if TYPE_CHECKING:
    from dhyan.run import Run
    from dhyan.training.trainer import Trainer

logger = logging.getLogger(__name__)

EXIT_CODES = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.TERMINATED}


def time_left(run: "Run") -> TimeLeft:
    """The estimated time left of a run that is about to be iterated over."""
    return TimeLeft.of(run.folder.recipe.training, run.trainer.state.step)


def progress_bar(run: "Run") -> AbstractContextManager[Callable[[Event], None]]:
    """A progress bar; lines for events but steps are printed above it."""
    return terminal_bar(time_left(run))


@contextmanager
def plain_lines(run: "Run") -> Iterator[Callable[[Event], None]]:
    """A line for every event but steps, and one with loss and speed every few seconds."""
    steps, left = run.folder.recipe.training.steps, time_left(run)
    last_report = monotonic()

    def report(event: Event) -> None:
        nonlocal last_report
        left.update(event)
        if not isinstance(event, Stepped):
            for line in event_lines(event):
                logger.log(logging.WARNING if isinstance(event, Problem) else logging.INFO, line)
        elif monotonic() - last_report >= REPORT_SECONDS or event.step == steps:
            last_report = monotonic()
            logger.info(
                f"step {event.step:,}/{steps:,}  {format_speed(event)}  {left.format()}".rstrip()
            )

    yield report


@contextmanager
def silence(run: "Run") -> Iterator[Callable[[Event], None]]:
    """Nothing: another process reports."""
    yield lambda event: None


@contextmanager
def stopped_by_signals(trainer: "Trainer") -> Iterator[list[signal.Signals]]:
    """SIGINT and SIGTERM stop the run after the current step; a second signal stops it at once."""
    received: list[signal.Signals] = []

    def stop(number: int, frame: object) -> None:
        received.append(signal.Signals(number))
        for handled in EXIT_CODES:
            signal.signal(handled, signal.SIG_DFL)
        trainer.interrupt(f"{received[0].name} received")

    handlers = {number: signal.signal(number, stop) for number in EXIT_CODES}
    try:
        yield received
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@contextmanager
def sigterm_as_interrupt() -> Iterator[list[signal.Signals]]:
    """SIGTERM raises KeyboardInterrupt, so that all processes can be stopped; it is recorded."""
    received: list[signal.Signals] = []

    def interrupt(number: int, frame: object) -> None:
        received.append(signal.Signals(number))
        raise KeyboardInterrupt

    handler = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, handler)


@contextmanager
def interruptible() -> Iterator[None]:
    """Decorator of commands that write only at their end: Ctrl-C says that nothing was written."""
    try:
        yield
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        raise typer.Exit(Exit.INTERRUPTED) from None


def throttled(log: Callable[[str], None]) -> Callable[[str], None]:
    """Logs a line of progress if none was logged for a while, so that quick work is silent."""
    last_time = monotonic()

    def on_progress(line: str) -> None:
        nonlocal last_time
        if monotonic() - last_time >= REPORT_SECONDS:
            last_time = monotonic()
            log(line)

    return on_progress
