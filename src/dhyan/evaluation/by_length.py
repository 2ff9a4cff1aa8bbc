"""Scores by the length of the source: where a model without attention falls."""

from collections.abc import Sequence
from dataclasses import dataclass

from dhyan.evaluation.scores import Score, bleu_tokenizer, score

EDGES = (5, 10, 15, 20, 30, 40, 50)


@dataclass(frozen=True)
class Bucket:
    """Sentences of `shortest` to `longest` source words (None: no upper end), and their scores."""

    shortest: int
    longest: int | None
    sentences: int
    scores: dict[str, Score]


def by_length(
    sources: Sequence[str],
    said: Sequence[str],
    references: Sequence[str],
    *,
    language: str = "",
    edges: Sequence[int] = EDGES,
) -> list[Bucket]:
    """Scores of each group of sentences; groups without any are left out."""
    tokenizer = bleu_tokenizer(language, references)
    rows: dict[int, list[int]] = {}
    for row, source in enumerate(sources):
        words = len(source.split())
        rows.setdefault(sum(words > edge for edge in edges), []).append(row)
    starts, ends = [1, *(edge + 1 for edge in edges)], [*edges, None]
    buckets = []
    for group, members in sorted(rows.items()):
        ours, theirs = [said[r] for r in members], [references[r] for r in members]
        scores = score(ours, theirs, tokenizer=tokenizer)
        buckets.append(Bucket(starts[group], ends[group], len(members), scores))
    return buckets
