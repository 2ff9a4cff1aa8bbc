"""The token store: a corpus as ids, ready to be padded into batches."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Protocol, runtime_checkable

import numpy as np
import torch
from jaxtyping import Int32, Int64

from dhyan.batch import Batch, Tokens
from dhyan.data.corpus import Pair, Side, Tally
from dhyan.faults import Fault
from dhyan.special import BOS, EOS, PAD

CHUNK = 4096  # pairs encoded at a time


@runtime_checkable
class EncodesAll(Protocol):
    """Whatever turns sentences into ids, without the special ones: a Tokenizer."""

    def encode_all(self, sentences: list[str], /) -> list[list[int]]:
        """The ids of each sentence."""
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


@dataclass(frozen=True)
class Examples:
    """Every source, ending in EOS, and its target, BOS … EOS, as ids in memory."""

    source: Sentences
    target: Sentences

    def lengths(
        self, rows: Int64[np.ndarray, " R"]
    ) -> tuple[Int64[np.ndarray, " R"], Int64[np.ndarray, " R"]]:
        """How many tokens the sources and the targets of these rows have, special ones included."""
        return self.source.lengths(rows), self.target.lengths(rows)

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
    tally = Tally() if tally is None else tally
    sources, targets = _Growing(), _Growing()
    for chunk in _chunks(pairs):
        encoded = zip(
            source.encode_all([pair.source for pair in chunk]),
            target.encode_all([pair.target for pair in chunk]),
            strict=True,
        )
        for pair, (one, other) in zip(chunk, encoded, strict=True):
            if unfit := _unfit(len(one), len(other), longest):
                tally.drop(*unfit, pair.line)
            else:
                sources.add([*one, EOS])
                targets.add([BOS, *other, EOS])
    tally.kept = len(sources)
    if not len(sources):
        where = tally.names["source"]
        raise Fault(f"{where}: no pair has 1 to {longest} tokens a side; allow longer sentences")
    return Examples(sources.done(), targets.done())


class _Growing:
    """Sentences while they are being gathered."""

    def __init__(self) -> None:
        self.ids, self.offsets = array("i"), array("q", [0])

    def add(self, ids: list[int]) -> None:
        self.ids.extend(ids)
        self.offsets.append(len(self.ids))

    def done(self) -> Sentences:
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
