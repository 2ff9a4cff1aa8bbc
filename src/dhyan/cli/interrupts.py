"""What a command that writes only at its end does meanwhile: it shows life, and can be stopped."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic

import typer

from dhyan.cli.exit_codes import Exit
from dhyan.cli.progress import SECONDS_BETWEEN_LINES


@contextmanager
def interruptible() -> Iterator[None]:
    """Say in one line, where Ctrl-C comes, that there is no result; a decorator of commands."""
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
        if monotonic() - last_time >= SECONDS_BETWEEN_LINES:
            last_time = monotonic()
            log(line)

    return on_progress
