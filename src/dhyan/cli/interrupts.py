"""What a command that writes only at its end does meanwhile: it shows life, and can be stopped."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from time import monotonic

import typer

from dhyan.cli.exit_codes import Exit
from dhyan.cli.progress import SECONDS_BETWEEN_LINES, Say


@contextmanager
def interruptible() -> Iterator[None]:
    """Say in one line, where Ctrl-C comes, that there is no result; a decorator of commands."""
    try:
        yield
    except KeyboardInterrupt:
        print("stopped; nothing was written", file=sys.stderr)
        raise typer.Exit(Exit.INTERRUPTED) from None


def throttled(say: Say) -> Say:
    """Passes a line on if none was for a while, so that quick work is silent."""
    spoke = monotonic()

    def hear(line: str) -> None:
        nonlocal spoke
        if monotonic() - spoke >= SECONDS_BETWEEN_LINES:
            spoke = monotonic()
            say(line)

    return hear
