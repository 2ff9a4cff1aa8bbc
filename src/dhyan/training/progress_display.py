"""Progress display of a training run: time left, progress bar, a line for each event."""

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from time import monotonic

from dhyan.config import Training
from dhyan.training.events import (
    BatchSplit,
    Event,
    Restored,
    Saved,
    SaveFailed,
    Skipped,
    Stepped,
    Stopped,
    Validated,
)

HALF_LIFE = 120.0  # seconds of training after which a step counts half in the mean time of a step


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

    @classmethod
    def of(cls, training: Training, step: int) -> "TimeLeft":
        """The estimate for a run with these settings, which is at a step."""
        return cls(
            steps=training.steps,
            step=step,
            validate_every=training.validate_every,
            save_every=training.save_every,
        )

    def update(self, event: Event) -> None:
        """Account for the time since the last event."""
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


@contextmanager
def terminal_bar(left: TimeLeft) -> Iterator[Callable[[Event], None]]:
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
        task = display.add_task("", total=left.steps, completed=left.step)

        def report(event: Event) -> None:
            left.update(event)
            if isinstance(event, Stepped):
                display.update(task, completed=event.step, description=format_speed(event))
            else:
                for line in event_lines(event):
                    console.print(line, highlight=False, markup=False)

        yield report


def event_lines(event: Event) -> Iterator[str]:
    """The line of an event; steps and checkpoints have none."""
    from dhyan.training.divergence import first_examples

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
    """The loss, and scores with the labels of their metrics."""
    from dhyan.evaluation.metric import metric_label

    digits = {name: 4 if name == "loss" else 2 for name in scores}
    return "  ".join(f"{metric_label(k)} {value:.{digits[k]}f}" for k, value in scores.items())


def format_speed(event: Stepped) -> str:
    """Loss, and tokens per second."""
    return f"loss {event.loss:.3f}  {event.tokens / max(event.seconds, 1e-9):,.0f} tokens/s"


def format_duration(seconds: float) -> str:
    """Seconds as hours, minutes and seconds."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
