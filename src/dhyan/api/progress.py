"""Progress bar of `dhyan.train`, in a terminal or a notebook."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from typing import Any

from dhyan.run import Run
from dhyan.training.events import Event, Stepped
from dhyan.training.progress_display import TimeLeft, event_lines, format_speed, terminal_bar

Report = Callable[[Event], None]


@contextmanager
def show_progress(run: Run, *, progress: bool) -> Iterator[Report]:
    """A function to call with every event; it draws a bar where there is something to draw on."""
    left = TimeLeft.of(run.folder.recipe.training, run.trainer.state.step)
    if progress and (handle := _notebook_display()):
        yield _notebook_bar(left, handle)
    elif progress and sys.stderr.isatty():
        with terminal_bar(left) as report:
            yield report
    else:
        yield lambda event: None


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


def _notebook_bar(left: TimeLeft, handle: Any) -> Report:
    """A bar with loss, speed and time left, and below it the last line of another event."""
    from IPython.display import HTML

    step_line, event_line = "", ""

    def report(event: Event) -> None:
        nonlocal step_line, event_line
        left.update(event)
        if isinstance(event, Stepped):
            step_line = f"step {event.step:,}/{left.steps:,}  {format_speed(event)}"
        else:
            event_line = "".join([event_line, *event_lines(event)][-1:])
        bar = f'<progress value="{left.step}" max="{left.steps}" style="width:20em"></progress>'
        text = f"{bar} {escape(step_line)}  {left.format()}<br>{escape(event_line)}"
        handle.update(HTML(f"<div>{text}</div>"))

    return report
