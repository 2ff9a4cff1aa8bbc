"""Exit codes and messages on stderr: logging set-up, warnings, progress lines."""

import logging
import sys
from collections.abc import Callable
from enum import IntEnum
from time import monotonic

REPORT_SECONDS = 10.0  # between two reports of progress
JOINERS = "\u200c\u200d"  # invisible, but part of the spelling of Indic words


class Exit(IntEnum):
    """Exit codes of the commands."""

    SUCCESS = 0
    """success"""
    BUG = 1
    """a bug of dhyan, with a traceback; please report it"""
    USER_ERROR = 2
    """a mistake you can correct: stderr names the place and the remedy, a line per problem"""
    CLOSED_PIPE = 141
    """the reader of the output closed it, as in `| head`"""
    INTERRUPTED = 130
    """stopped by Ctrl-C; a training run has saved a checkpoint and continues with --resume"""
    TERMINATED = 143
    """stopped by SIGTERM, likewise"""


class _Stderr(logging.Handler):
    """Prints log messages on the stderr of the moment."""

    def emit(self, record: logging.LogRecord) -> None:
        try:
            print(self.format(record), file=sys.stderr, flush=True)
        except OSError:  # standard error is closed or full; the work goes on
            self.handleError(record)


_STDERR = _Stderr()


def log_to_stderr(*, quiet: bool) -> None:
    """Show the log of the package on standard error; quiet, only warnings and errors."""
    log = logging.getLogger("dhyan")
    log.addHandler(_STDERR)
    log.setLevel(logging.WARNING if quiet else logging.INFO)


def warn(line: str) -> None:
    """Print one line on stderr; characters that are not printable are escaped."""
    escaped = (c if c.isprintable() or c in JOINERS else repr(c)[1:-1] for c in line)
    print(f"dhyan: {''.join(escaped)}", file=sys.stderr)


class ProgressLines:
    """A line every few seconds: how many lines are done, of how many, and how fast.

    `lines` counts them all; it is called once, and only if there is a line to print.
    """

    def __init__(self, *, lines: Callable[[], int] | None = None, quiet: bool = False) -> None:
        self.lines, self.quiet, self.total = lines, quiet, 0
        self.start = self.last_line = monotonic()

    def update(self, done: int) -> None:
        """Print how many are done, unless a line was printed a moment ago."""
        now = monotonic()
        if self.quiet or now - self.last_line < REPORT_SECONDS:
            return
        self.last_line = now
        if self.lines and not self.total:
            self.total = self.lines()
        count = f"{done:,}/{self.total:,}" if self.total else f"{done:,}"
        warn(f"{count} lines  {done / (now - self.start):,.1f} lines/s")
