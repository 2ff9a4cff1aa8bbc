"""The token store: a corpus as ids, ready to be padded into batches."""

from array import array
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int32, Int64

from dhyan.batch import Batch, Tokens
from dhyan.data.mixture import Mixture
from dhyan.data.pairs import Pair, Side, Tally
from dhyan.data.permutation import derive
from dhyan.errors import UserError
from dhyan.special_tokens import BOS, EOS, PAD

CHUNK = 4096  # pairs encoded at a time


class NoneFits(UserError):
    """A corpus of which every pair is too long, or empty once it is encoded."""


@runtime_checkable
class EncodesAll(Protocol):
    """Whatever turns sentences into ids, without the special ones: a Tokenizer."""

    def encode_all(self, sentences: list[str], /) -> list[list[int]]:
        """The ids of each sentence."""
        ...


@runtime_checkable
class Recut(Protocol):
    """Whatever cuts the text of some ids anew, as the seed has it: a MergeDropout."""

    def __call__(self, ids: Sequence[int], seed: int, /) -> list[int]:
        """Other ids of the same text."""
        ...


@dataclass(frozen=True)
class Sentences:
    """Sentences end to end; sentence i is ids[offsets[i] : offsets[i + 1]]."""

    ids: Int32[np.ndarray, " W"]
    offsets: Int64[np.ndarray, " M"]

    def lengths(self, rows: Int64[np.ndarray, " R"]) -> Int64[np.ndarray, " R"]:
        """How many tokens each of these sentences has."""
        return self.offsets[rows + 1] - self.offsets[rows]

    def padded(self, rows: Int64[np.ndarray, " R"]) -> Tokens:
        """These sentences side by side."""
        lengths = self.lengths(rows)
        columns = np.arange(lengths.max())
        mask = columns < lengths[:, None]
        places = np.where(mask, self.offsets[rows][:, None] + columns, 0)
        ids = np.where(mask, self.ids[places], PAD).astype(np.int64)
        return Tokens(torch.from_numpy(ids), torch.from_numpy(mask))

    def recut(
        self, rows: Int64[np.ndarray, " R"], cut: Recut, *, most: int, seeds: Iterable[int]
    ) -> "Sentences":
        """These sentences alone, cut anew; one that would pass `most` stays as it is."""
        chosen = Growing()
        for row, seed in zip(rows.tolist(), seeds, strict=True):
            old = self.ids[self.offsets[row] : self.offsets[row + 1]].tolist()
            new = cut(old, seed)
            chosen.add(new if len(new) <= most else old)
        return chosen.done()


@dataclass(frozen=True)
class Dropout:
    """How both sides are cut anew whenever they are trained on; `longest` is in tokens a side."""

    source: Recut
    target: Recut
    longest: int


@dataclass(frozen=True)
class Examples:
    """Every source, ending in EOS, and its target, BOS … EOS, as ids in memory or in a file.

    `mixture` says how often they come an epoch, once if there is none.
    """

    source: Sentences
    target: Sentences
    mixture: Mixture | None = None
    dropout: Dropout | None = None

    def lengths(
        self, rows: Int64[np.ndarray, " R"]
    ) -> tuple[Int64[np.ndarray, " R"], Int64[np.ndarray, " R"]]:
        """How many tokens the sources and the targets of these rows have, special ones included."""
        return self.source.lengths(rows), self.target.lengths(rows)

    def recut(self, rows: Int64[np.ndarray, " R"], seeds: Sequence[int]) -> "Examples":
        """These rows alone, as they are trained on: each is cut anew, by a seed of its own."""
        assert self.dropout is not None
        source, target = (
            side.recut(
                rows,
                cut,
                most=self.dropout.longest + specials,
                seeds=(derive(seed, specials) for seed in seeds),
            )
            for side, cut, specials in (
                (self.source, self.dropout.source, 1),
                (self.target, self.dropout.target, 2),
            )
        )
        return Examples(source, target)

    def batch(self, rows: Int64[np.ndarray, " R"]) -> Batch:
        """These rows, padded."""
        return Batch(self.source.padded(rows), self.target.padded(rows))

    def __len__(self) -> int:
        return len(self.source.offsets) - 1


def encode_pairs(
    pairs: Iterable[Pair],
    source: EncodesAll,
    target: EncodesAll,
    *,
    longest: int,
    tally: Tally | None = None,
) -> Examples:
    """Encode a corpus; pairs with no token, or more than `longest`, on a side go to the tally."""
    sources, targets = Growing(), Growing()
    for one, other in encoded(pairs, source, target, longest=longest, tally=tally):
        sources.add(one)
        targets.add(other)
    return Examples(sources.done(), targets.done())


def encoded(
    pairs: Iterable[Pair],
    source: EncodesAll,
    target: EncodesAll,
    *,
    longest: int,
    tally: Tally | None = None,
) -> Iterator[tuple[list[int], list[int]]]:
    """The ids of pair after pair, special ones included; it is a UserError if there is none."""
    tally = Tally() if tally is None else tally
    kept = tally.kept = 0
    for chunk in _chunks(pairs):
        sources = source.encode_all([pair.source for pair in chunk])
        targets = target.encode_all([pair.target for pair in chunk])
        for pair, one, other in zip(chunk, sources, targets, strict=True):
            if unfit := _unfit(len(one), len(other), longest):
                tally.drop(*unfit, pair.line)
            else:
                kept += 1
                yield [*one, EOS], [BOS, *other, EOS]
    tally.kept = kept
    if not kept:
        where = tally.names["source"]
        raise NoneFits(f"{where}: no pair has 1 to {longest} tokens a side; allow longer sentences")


class Growing:
    """Sentences while they are being gathered."""

    def __init__(self) -> None:
        self.ids, self.offsets = array("i"), array("q", [0])

    def add(self, ids: list[int]) -> None:
        """One more sentence."""
        self.ids.extend(ids)
        self.offsets.append(len(self.ids))

    def done(self) -> Sentences:
        """All of them."""
        return Sentences(np.frombuffer(self.ids, np.int32), np.frombuffer(self.offsets, np.int64))

    def __len__(self) -> int:
        return len(self.offsets) - 1


def _unfit(source: int, target: int, longest: int) -> tuple[str, Side] | None:
    counts: dict[Side, int] = {"source": source, "target": target}
    for side, count in counts.items():
        if not count:
            return f"no token in the {side}", side
        if count > longest:
            return f"more than {longest} tokens in the {side}", side
    return None


def _chunks(pairs: Iterable[Pair]) -> Iterator[list[Pair]]:
    left = iter(pairs)
    while chunk := list(islice(left, CHUNK)):
        yield chunk
