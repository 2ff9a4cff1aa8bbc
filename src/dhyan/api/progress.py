"""Progress of a training run in Python: a bar in a terminal or a notebook."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from dhyan.run import Run
from dhyan.training.events import Event, Stepped, Validated

Report = Callable[[Event], None]


@contextmanager
def show_progress(run: Run, *, progress: bool) -> Iterator[Report]:
    """A function to call with every event: it draws a bar where there is something to draw on."""
    if not progress:
        yield lambda event: None
    elif handle := _notebook_display():
        yield _notebook_report(run, handle)
    elif sys.stderr.isatty():
        with _terminal_report(run) as report:
            yield report
    else:
        yield lambda event: None


def _status(event: Event) -> str:
    """Loss and speed of a step, or the scores of a validation."""
    match event:
        case Stepped(loss=loss, tokens=tokens, seconds=seconds):
            return f"loss {loss:.3f}  {tokens / max(seconds, 1e-9):,.0f} tokens/s"
        case Validated(scores=scores):
            return "valid " + format_scores(scores)
    return ""


def format_scores(scores: Any) -> str:
    """Scores with their names."""
    names = {"bleu": "BLEU", "chrf": "chrF++"}
    return ", ".join(
        f"{names.get(key, key)} {value:.{2 if key in names else 3}f}"
        for key, value in scores.items()
    )


@contextmanager
def _terminal_report(run: Run) -> Iterator[Report]:
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (
        TextColumn("step"),
        MofNCompleteColumn(),
        BarColumn(bar_width=None),
        TextColumn("{task.description}"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), expand=True) as display:
        steps, first = run.folder.recipe.training.steps, run.trainer.state.step
        task = display.add_task("", total=steps, completed=first)

        def report(event: Event) -> None:
            if isinstance(event, Stepped):
                display.update(task, completed=event.step, description=_status(event))
            elif status := _status(event):
                display.console.print(f"step {event.step:,}  {status}", highlight=False)

        yield report


def _notebook_display() -> Any:
    """A display that can be updated, inside a notebook; else None."""
    if "IPython" not in sys.modules:
        return None
    from IPython import get_ipython
    from IPython.display import HTML, display

    shell = get_ipython()
    if shell is None or not shell.has_trait("kernel"):
        return None
    return display(HTML(""), display_id=True)


def _notebook_report(run: Run, handle: Any) -> Report:
    from IPython.display import HTML

    steps, lines = run.folder.recipe.training.steps, dict[str, str]()

    def report(event: Event) -> None:
        if not (status := _status(event)):
            return
        lines["valid" if isinstance(event, Validated) else "step"] = status
        bar = f'<progress value="{event.step}" max="{steps}" style="width:20em"></progress>'
        text = f"step {event.step:,}/{steps:,}  {'  '.join(lines.values())}"
        handle.update(HTML(f"<div>{bar} {text}</div>"))

    return report
