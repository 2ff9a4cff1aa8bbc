"""Counts and times for Prometheus; nothing of what was asked is in them."""

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import accumulate

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
ENDS = ("accepted", "done", "expired", "cancelled", "failed", "refused")
STATUSES = (200, 400, 401, 403, 404, 405, 408, 411, 413, 415, 429, 431, 500, 503, 504)


class Histogram:
    """How many were at most so large."""

    def __init__(self, bounds: Sequence[float]) -> None:
        self.bounds, self.counts, self.sum = bounds, [0] * (len(bounds) + 1), 0.0

    def add(self, value: float) -> None:
        """One more."""
        self.counts[bisect_left(self.bounds, value)] += 1
        self.sum += value

    def lines(self, name: str, about: str) -> Iterator[str]:
        """As Prometheus reads it."""
        yield f"# HELP {name} {about}"
        yield f"# TYPE {name} histogram"
        *below, total = accumulate(self.counts)
        for bound, count in zip(self.bounds, below, strict=True):
            yield f'{name}_bucket{{le="{bound:g}"}} {count}'
        yield f'{name}_bucket{{le="+Inf"}} {total}'
        yield f"{name}_sum {self.sum:.6f}"
        yield f"{name}_count {total}"


class Metrics:
    """All that a server counts. Of the requests that were accepted, every one is at last done,
    expired, cancelled or failed."""

    def __init__(self) -> None:
        self.ends: Counter[str] = Counter()
        self.statuses: Counter[int] = Counter()
        self.tokens = 0
        self.latency, self.wait = Histogram(SECONDS), Histogram(SECONDS)
        self.batch = Histogram(SIZES)

    def count(self, end: str) -> None:
        """A request was accepted, or came to one of its ends."""
        self.ends[end] += 1

    def answered(self, status: int) -> None:
        """A response began."""
        self.statuses[status if status in STATUSES else 0] += 1

    def text(self, gauges: dict[str, tuple[str, float]]) -> str:
        """The whole page."""
        lines = [
            *_counter(
                "dhyan_requests_total", "Translation requests by what became of them",
                [(f'end="{end}"', self.ends[end]) for end in ENDS],
            ),
            *_counter(
                "dhyan_responses_total", "Responses by status; 0 is any other",
                [(f'status="{one}"', count) for one, count in sorted(self.statuses.items())],
            ),
            *_counter("dhyan_tokens_total", "Source tokens translated", [("", self.tokens)]),
            *self.latency.lines("dhyan_request_seconds", "From acceptance to the end"),
            *self.wait.lines("dhyan_wait_seconds", "From acceptance to a batch"),
            *self.batch.lines("dhyan_batch_texts", "Texts in a batch"),
        ]  # fmt: skip
        for name, (about, value) in gauges.items():
            lines += [f"# HELP {name} {about}", f"# TYPE {name} gauge", f"{name} {value:g}"]
        return "\n".join([*lines, ""])


def _counter(name: str, about: str, found: Sequence[tuple[str, int]]) -> Iterator[str]:
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} counter"
    for label, value in found:
        yield f"{name}{{{label}}} {value}" if label else f"{name} {value}"
