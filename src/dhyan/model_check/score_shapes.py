"""The weights of each score, by name and shape."""

from collections.abc import Callable, Iterator, Mapping

from dhyan.config import Attention

Named = Iterator[tuple[str, tuple[int, ...]]]


def score(chosen: Attention, asked: int, known: int, longest: int) -> Named:
    """The weights of a score between queries and states of these widths."""
    yield from SCORES[chosen.score](chosen, asked, known, longest)


def _none(chosen: Attention, asked: int, known: int, longest: int) -> Named:
    yield from ()


def _additive(chosen: Attention, asked: int, known: int, longest: int) -> Named:
    yield "query.weight", (chosen.score_width, asked)
    yield "query.bias", (chosen.score_width,)
    yield "key.weight", (chosen.score_width, known)
    yield "energy", (chosen.score_width,)


def _general(chosen: Attention, asked: int, known: int, longest: int) -> Named:
    yield "key.weight", (asked, known)


def _location(chosen: Attention, asked: int, known: int, longest: int) -> Named:
    yield "places.weight", (longest + 1, asked)


def _coverage(chosen: Attention, asked: int, known: int, longest: int) -> Named:
    for name, shape in _additive(chosen, asked, known, longest):
        yield f"score.{name}", shape
    yield "filters.weight", (chosen.coverage_filters, 2 * chosen.coverage_filter_radius + 1)
    yield "past.weight", (chosen.score_width, chosen.coverage_filters)


SCORES: Mapping[str, Callable[[Attention, int, int, int], Named]] = {
    "bottleneck": _none,
    "dot": _none,
    "scaled_dot": _none,
    "additive": _additive,
    "concat": _additive,
    "general": _general,
    "location": _location,
    "coverage": _coverage,
}
