"""Scores of parts of a test set: by the length of the source, and by its rarest word."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from dhyan.data.length_filters import words
from dhyan.evaluation.metric_counts import Counts
from dhyan.evaluation.scores import Score, scores_of
from dhyan.text.normalize import normalize

LENGTHS = (1, 6, 11, 16, 21, 31, 41, 51)
RARITIES = (0, 1, 5, 20, 100)


@dataclass(frozen=True)
class Part:
    """The sentences, by number, whose measure is `least` to `most` (None: no upper end)."""

    least: int
    most: int | None
    rows: list[int]


@dataclass(frozen=True)
class Slice:
    """Sentences whose measure is `least` to `most` (None: no upper end), and their scores."""

    least: int
    most: int | None
    sentences: int
    scores: dict[str, Score]


def by_length(
    counts: Mapping[str, Counts], sources: Sequence[str], *, starts: Sequence[int] = LENGTHS
) -> list[Slice]:
    """Scores by the number of source words: where a model without attention falls."""
    return slices(counts, [len(source.split()) for source in sources], starts)


def by_rarity(
    counts: Mapping[str, Counts],
    sources: Sequence[str],
    seen: Mapping[str, int],
    *,
    starts: Sequence[int] = RARITIES,
) -> list[Slice]:
    """Scores by how often the rarest word of the source was `seen` in training.

    Case and punctuation do not count; a source without a word has no rare one.
    """
    rarest = [
        min((seen.get(word, 0) for word in _words(source)), default=starts[-1])
        for source in sources
    ]
    return slices(counts, rarest, starts)


def slices(
    counts: Mapping[str, Counts], measures: Sequence[int], starts: Sequence[int]
) -> list[Slice]:
    """Scores of each group of sentences; groups without any are left out."""
    return [
        Slice(part.least, part.most, len(part.rows), scores_of(counts, part.rows))
        for part in parts(measures, starts)
    ]


def parts(measures: Sequence[int], starts: Sequence[int]) -> list[Part]:
    """The sentences of each group; groups without any are left out.

    A group begins at each of the `starts`, and the first one takes whatever lies below it too.
    """
    rows: dict[int, list[int]] = {}
    for row, measure in enumerate(measures):
        group = max(sum(measure >= start for start in starts) - 1, 0)
        rows.setdefault(group, []).append(row)
    ends = [*(start - 1 for start in starts[1:]), None]
    return [Part(starts[group], ends[group], members) for group, members in sorted(rows.items())]


def frequencies(lines: Iterable[str], wanted: Iterable[str]) -> Counter[str]:
    """How often each word of the `wanted` sentences comes in a text; others are not kept."""
    known = {word for text in wanted for word in _words(text)}
    return Counter(word for line in lines for word in _words(line) if word in known)


def _words(text: str) -> list[str]:
    return words(normalize(text).casefold())
