"""Training progress on stderr: progress bar or plain lines; handling of SIGINT and SIGTERM."""

import logging
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING

import typer

from dhyan.cli.messages import REPORT_SECONDS, Exit

if TYPE_CHECKING:
    from dhyan.run import Run
    from dhyan.training.events import Event, Stepped
    from dhyan.training.trainer import Trainer

logger = logging.getLogger(__name__)

HALF_LIFE = 120.0  # seconds of training after which a step counts half in the mean time of a step
METRIC_NAMES = {"bleu": "BLEU", "chrf": "chrF++"}
EXIT_CODES = {signal.SIGINT: Exit.INTERRUPTED, signal.SIGTERM: Exit.TERMINATED}


class TimeLeft:
    """Estimated time left of a run: its steps, validations and checkpoints, each at its mean time.

    The time since the last event belongs to what the event says was done. Recent steps count more
    (exponential moving average, `HALF_LIFE`); the first ones, in which kernels are compiled and
    memory is allocated, count only until there are others.
    """

    def __init__(
        self,
        *,
        steps: int,
        step: int,
        validate_every: int,
        save_every: int,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self.steps, self.step, self.clock = steps, step, clock
        self.validations, self.checkpoints = (
            MeanTime(interval, step) for interval in (validate_every, save_every)
        )
        self._last_event = clock()
        self._seconds, self._count, self._reports = 0.0, 0.0, 0

    def update(self, event: "Event") -> None:
        """Account for the time since the last event."""
        from dhyan.training.events import Saved, Stepped, Validated

        now = self.clock()
        seconds = now - self._last_event
        match event:
            case Validated(step=step):
                self.validations.add(step, seconds)
            case Saved(step=step):
                self.checkpoints.add(step, seconds)
            case Stepped(step=step):
                self._add_steps(step - self.step, seconds)
                self.step = step
            case _:
                return  # its time counts with the next event
        self._last_event = now

    def _add_steps(self, count: int, seconds: float) -> None:
        if count <= 0:  # a run that went back to a checkpoint
            return
        self._reports += 1
        decay = 0.5 ** (seconds / HALF_LIFE) if self._reports > 2 else 0.0
        self._seconds = decay * self._seconds + seconds
        self._count = decay * self._count + count

    def seconds(self) -> float | None:
        """Seconds left; None before the first steps."""
        if not self._count:
            return None
        left = (self.steps - self.step) * self._seconds / self._count
        left += self.validations.left(self.steps) + self.checkpoints.left(self.steps)
        return max(0.0, left - (self.clock() - self._last_event))

    def format(self) -> str:
        """The time left as hours, minutes and seconds; empty before the first steps."""
        seconds = self.seconds()
        return "" if seconds is None else f"{format_duration(seconds)} left"


class MeanTime:
    """Mean time of what happens every `interval` steps, and at the last step."""

    def __init__(self, interval: int, step: int) -> None:
        self.interval, self.last_step = interval, step
        self.total, self.count = 0.0, 0

    def add(self, step: int, seconds: float) -> None:
        """Account for the one at a step."""
        self.last_step, self.total, self.count = step, self.total + seconds, self.count + 1

    def left(self, steps: int) -> float:
        """Seconds of those to come up to the last step."""
        to_come = -(-steps // self.interval) - self.last_step // self.interval
        return to_come * self.total / max(self.count, 1) if self.last_step < steps else 0.0


def time_left(run: "Run") -> TimeLeft:
    """The estimate for a run that is about to be iterated over."""
    training = run.folder.recipe.training
    return TimeLeft(
        steps=training.steps,
        step=run.trainer.state.step,
        validate_every=training.validate_every,
        save_every=training.save_every,
    )


@contextmanager
def plain_lines(run: "Run") -> Iterator[Callable[["Event"], None]]:
    """A line for every event but steps, and one with loss and speed every few seconds."""
    from dhyan.training.events import Problem, Stepped

    steps, left = run.folder.recipe.training.steps, time_left(run)
    last_report = monotonic()

    def report(event: "Event") -> None:
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
def progress_bar(run: "Run") -> Iterator[Callable[["Event"], None]]:
    """A progress bar; lines for events but steps are printed above it."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
    )
    from rich.text import Text

    from dhyan.training.events import Stepped

    steps, left = run.folder.recipe.training.steps, time_left(run)

    class TimeLeftColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text(left.format())

    columns = (
        TextColumn("step"),
        MofNCompleteColumn(),
        BarColumn(bar_width=None),
        TextColumn("{task.description}"),
        TimeLeftColumn(),
    )
    console = Console(stderr=True)
    with Progress(*columns, console=console, expand=True) as display:
        task = display.add_task("", total=steps, completed=left.step)

        def report(event: "Event") -> None:
            left.update(event)
            if isinstance(event, Stepped):
                display.update(task, completed=event.step, description=format_speed(event))
            else:
                for line in event_lines(event):
                    console.print(line, highlight=False, markup=False)

        yield report


def event_lines(event: "Event") -> Iterator[str]:
    """The line of an event; steps and checkpoints have none."""
    from dhyan.training.divergence import first_examples
    from dhyan.training.events import BatchSplit, Restored, SaveFailed, Skipped, Stopped, Validated

    match event:
        case Validated(step=step, scores=scores, best=best):
            yield f"step {step:,}  valid {format_scores(scores)}{'  (best so far)' if best else ''}"
        case Skipped(step=step, examples=rows, reason=reason):
            yield f"step {step:,}  skipped: {reason}, with examples {first_examples(rows)}"
        case Restored(step=step, checkpoint_step=back):
            yield f"step {step:,}  nothing is finite: back to step {back:,}, with other batches"
        case BatchSplit(step=step, parts=parts):
            yield f"step {step:,}  out of memory: repeated in {parts} parts"
        case SaveFailed(step=step, reason=reason):
            yield f"step {step:,}  not saved, going on: {reason}"
        case Stopped(step=step, reason=reason):
            yield f"step {step:,}  ends here: {reason}"


def format_scores(scores: Mapping[str, float]) -> str:
    """Scores with their names."""
    digits = {name: 2 if name in METRIC_NAMES else 4 for name in scores}
    return "  ".join(
        f"{METRIC_NAMES.get(k, k)} {value:.{digits[k]}f}" for k, value in scores.items()
    )


def format_speed(event: "Stepped") -> str:
    """Loss, and tokens per second."""
    return f"loss {event.loss:.3f}  {event.tokens / max(event.seconds, 1e-9):,.0f} tokens/s"


def format_duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"


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
