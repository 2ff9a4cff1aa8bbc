"""Scores of parts of a test set: by source length, rarest word, and position in the target."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.batch import Batch
from dhyan.data.filters import split_words
from dhyan.evaluation.metrics import Counts, Score, scores_of
from dhyan.special_tokens import EOS
from dhyan.text.normalize import normalize

LENGTHS = (1, 6, 11, 16, 21, 31, 41, 51)
RARITIES = (0, 1, 5, 20, 100)
PARTS = 5  # of a target sentence


@dataclass(frozen=True)
class SliceRows:
    """The rows of sentences whose measure is `least` to `most` (None: no upper end)."""

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
    """Scores by the number of source words."""
    return slices(counts, [len(source.split()) for source in sources], starts)


def by_rarity(
    counts: Mapping[str, Counts],
    sources: Sequence[str],
    frequency: Mapping[str, int],
    *,
    starts: Sequence[int] = RARITIES,
) -> list[Slice]:
    """Scores by the training `frequency` of the rarest word of the source.

    Case and punctuation do not count.
    """
    rarest = [
        min((frequency.get(word, 0) for word in _words(source)), default=starts[-1])
        for source in sources
    ]
    return slices(counts, rarest, starts)


def slices(
    counts: Mapping[str, Counts], measures: Sequence[int], starts: Sequence[int]
) -> list[Slice]:
    """Scores of each slice; empty slices are left out."""
    return [
        Slice(part.least, part.most, len(part.rows), scores_of(counts, part.rows))
        for part in slice_rows(measures, starts)
    ]


def slice_rows(measures: Sequence[int], starts: Sequence[int]) -> list[SliceRows]:
    """The rows of each slice; empty slices are left out.

    A slice begins at each of the `starts`; the first one takes smaller measures too.
    """
    rows: dict[int, list[int]] = {}
    for row, measure in enumerate(measures):
        group = max(sum(measure >= start for start in starts) - 1, 0)
        rows.setdefault(group, []).append(row)
    ends = [*(start - 1 for start in starts[1:]), None]
    return [
        SliceRows(starts[group], ends[group], members) for group, members in sorted(rows.items())
    ]


def frequencies(lines: Iterable[str], sentences: Iterable[str]) -> Counter[str]:
    """How often each word of the `sentences` occurs in the lines; other words are not counted."""
    vocabulary = {word for sentence in sentences for word in _words(sentence)}
    return Counter(word for line in lines for word in _words(line) if word in vocabulary)


def _words(text: str) -> list[str]:
    return split_words(normalize(text).casefold())


@dataclass(frozen=True)
class PositionAccuracy:
    """The share of correct tokens in each fifth of the target, and the token counts."""

    shares: tuple[float, ...]
    tokens: tuple[int, ...]


def accuracy_by_position(
    outputs: Iterable[tuple[Float[Tensor, "B T V"], Batch]],
) -> PositionAccuracy:
    """Accuracy over pairs of teacher-forced logits and their batch; EOS does not count.

    The first token is always in the first fifth, and the last in the last fifth of sentences of
    five tokens or more.
    """
    right, total = torch.zeros(PARTS, dtype=torch.long), torch.zeros(PARTS, dtype=torch.long)
    for logits, batch in outputs:
        labels = batch.labels
        mask = labels.mask & (labels.ids != EOS)
        parts = fifths(mask.sum(dim=1), labels.ids.shape[1])[mask].cpu()
        correct = (logits.argmax(dim=-1) == labels.ids)[mask].cpu()
        right += torch.bincount(parts[correct], minlength=PARTS)
        total += torch.bincount(parts, minlength=PARTS)
    shares = (right / total.clamp(min=1)).tolist()
    return PositionAccuracy(tuple(shares), tuple(total.tolist()))


def fifths(lengths: Int[Tensor, " B"], positions: int) -> Int[Tensor, "B T"]:
    """The fifth, from 0, of each position in sentences of these lengths."""
    indices = torch.arange(positions, device=lengths.device)
    parts = PARTS * indices // lengths.clamp(min=1).unsqueeze(1)
    return parts.clamp(max=PARTS - 1)
