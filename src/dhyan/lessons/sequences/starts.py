"""Embeddings that start in different ways: what each start is worth, by model and by pairs."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from dhyan.insight.blocks import Part, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.sequences.gains import Gain, signed

Embedding = Literal["learned", "skip-gram", "random"]
KINDS: tuple[Embedding, ...] = ("learned", "skip-gram", "random")


@dataclass(frozen=True)
class Start:
    """A model trained on so many pairs with embeddings of some kind: the BLEU of every seed.

    "learned" ones begin at random and are trained, "skip-gram" ones begin from vectors that were
    learned from single sentences, "random" ones stay as they were drawn. `gain` is what the mean
    over the seeds has more than with learned ones; its interval holds those of every seed, drawn
    over the test sentences, so that what is sure is so for each of them.
    """

    model: str
    pairs: int
    kind: Embedding
    bleu: tuple[float, ...]
    gain: Gain | None = None

    @property
    def mean(self) -> float:
        """Over the seeds."""
        return sum(self.bleu) / len(self.bleu)


def told_starts(starts: Sequence[Start], text: Text) -> tuple[Part, ...]:
    """A row for every model and number of pairs: the scores, the gains, and where they are sure."""
    by = {(one.model, one.pairs, one.kind): one for one in starts}
    tried = list(dict.fromkeys((one.model, one.pairs) for one in starts))
    rows = [text("seq2seq_improvements.pairs", m=m, n=n) for m, n in tried]
    found = [[by[*one, kind] for kind in KINDS] for one in tried]
    gains = [[_wide(one.gain) for one in own[1:]] for own in found]
    columns = (
        text("seq2seq_improvements.learned"),
        text("seq2seq_improvements.skip_gram"),
        text("seq2seq_improvements.random_fixed"),
    )
    ends = (
        text("seq2seq_improvements.gain"),
        text("seq2seq_improvements.from"),
        text("seq2seq_improvements.to"),
    )
    seeds = len(starts[0].bleu)
    return (
        Words(
            text(
                "seq2seq_improvements.embeddings_mean_bleu_learned",
                seeds=seeds,
                several_seeds=seeds > 1,
            )
        ),
        table("BLEU", [[one.mean for one in own] for own in found], rows, columns, digits=1),
        table(columns[1], [own[0] for own in gains], rows, ends, digits=1),
        table(columns[2], [own[1] for own in gains], rows, ends, digits=1),
        Words(_judged(starts, text)),
    )


def _judged(starts: Sequence[Start], text: Text) -> str:
    told = []
    for kind, name in (
        ("skip-gram", text("seq2seq_improvements.vectors_skip_gram")),
        ("random", text("seq2seq_improvements.fixed_random_vectors")),
    ):
        own = [one for one in starts if one.kind == kind and one.gain is not None]
        better, worse = (
            _listed([one for one in own if one.gain and one.gain.sign == sign], text)
            for sign in (1, -1)
        )
        told.append(
            text(
                "seq2seq_improvements.better_learned_ones_worse",
                name=name,
                better=better or text("seq2seq_improvements.nowhere"),
                worse=worse or text("seq2seq_improvements.nowhere"),
            )
        )
    return " ".join(told)


def _wide(gain: Gain | None) -> tuple[float, float, float]:
    assert gain is not None
    low, high = (gain.value if end is None else end for end in (gain.low, gain.high))
    return gain.value, low, high


def _listed(starts: Sequence[Start], text: Text) -> str:
    return ", ".join(
        text(
            "seq2seq_improvements.pairs_2",
            model=one.model,
            pairs=one.pairs,
            signed=signed(one.gain.value),
        )
        for one in starts
        if one.gain is not None
    )
