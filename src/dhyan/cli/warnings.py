"""Messages on stderr: the log, warnings about translations, progress in lines per second."""

import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from time import monotonic
from typing import TYPE_CHECKING

from dhyan.cli.progress import REPORT_SECONDS

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation

FIRST_WARNINGS = 3
JOINERS = "\u200c\u200d"  # invisible, yet they spell words


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


class Warnings:
    """What went wrong with translations: the first few by their places, then all in a number."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def note(self, place: str, said: "Translation") -> None:
        """See whether there is anything to say of a translation, or of its runners-up."""
        if said.no_token_allowed:
            self.say(place, "stops where no word was left to say", "had no word left to say")
        elif not said.finished:
            self.say(place, "cut off at the length limit (--max-length)", "were cut off")
        everyone = (said, *said.others)
        if lost := _each_once(one.lost_placeholders for one in everyone):
            self.say(place, f"lost {lost}", "lost something that was to be kept")
        if missed := _each_once(one.missing_terms for one in everyone):
            self.say(place, f"does not say {missed}", "do not say a term of the glossary")

    def say(self, place: str, line: str, kind: str) -> None:
        """Name one of the first few of a kind; count the others."""
        self.counts[kind] = self.counts.get(kind, 0) + 1
        if self.counts[kind] <= FIRST_WARNINGS:
            warn(f"{place}: {line}")

    def sum_up(self) -> None:
        """Say how many there were, if more than were named."""
        for kind, count in self.counts.items():
            if count > FIRST_WARNINGS:
                warn(f"{count:,} translations in all {kind}")


class Pace:
    """A line every few seconds: how many lines are done, of how many, and how fast.

    `lines` counts them all; it is asked once, and only if there is anything to say.
    """

    def __init__(self, *, lines: Callable[[], int] | None = None, quiet: bool = False) -> None:
        self.lines, self.quiet, self.known = lines, quiet, 0
        self.began = self.spoke = monotonic()

    def hear(self, done: int) -> None:
        """Say how many are done, unless something was said a moment ago."""
        now = monotonic()
        if self.quiet or now - self.spoke < REPORT_SECONDS:
            return
        self.spoke = now
        if self.lines and not self.known:
            self.known = self.lines()
        number = f"{done:,}/{self.known:,}" if self.known else f"{done:,}"
        warn(f"{number} lines  {done / (now - self.began):,.1f} lines/s")


def _each_once(found: Iterable[Sequence[str]]) -> str:
    return ", ".join(dict.fromkeys(text for own in found for text in own))
