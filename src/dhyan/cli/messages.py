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
JOINERS = "\u200c\u200d"  # invisible, but part of the spelling of Indic words


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


class TranslationWarnings:
    """Warnings about translations: the first few of each sort with their place, then a total."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}

    def check(self, place: str, translation: "Translation") -> None:
        """Warn about a translation, or one of its n-best list, that is not as it should be."""
        if translation.no_token_allowed:
            self.warn(place, "stops where no token was allowed", "stop where no token was allowed")
        elif not translation.finished:
            self.warn(place, "cut off at the length limit (--max-length)", "were cut off")
        nbest = (translation, *translation.others)
        if lost := _distinct(item.lost_placeholders for item in nbest):
            self.warn(place, f"lost {lost}", "lost a placeholder")
        if missing := _distinct(item.missing_terms for item in nbest):
            self.warn(place, f"lacks {missing}", "lack a term of the glossary")

    def warn(self, place: str, line: str, summary: str) -> None:
        """Print one of the first few warnings with this summary; count the others."""
        self.counts[summary] = self.counts.get(summary, 0) + 1
        if self.counts[summary] <= FIRST_WARNINGS:
            warn(f"{place}: {line}")

    def log_totals(self) -> None:
        """Print how many warnings of each sort there were, if more than were printed."""
        for summary, count in self.counts.items():
            if count > FIRST_WARNINGS:
                warn(f"{count:,} translations in all {summary}")


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


def _distinct(texts: Iterable[Sequence[str]]) -> str:
    return ", ".join(dict.fromkeys(text for own in texts for text in own))
