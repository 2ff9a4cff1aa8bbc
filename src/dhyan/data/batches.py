"""Batches bucketed by length; each is computed from its position in the epoch, for exact resume."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from jaxtyping import Int64

from dhyan.batch import Batch
from dhyan.data.mixture import Mixture
from dhyan.data.permutation import Permutation
from dhyan.data.store import Examples
from dhyan.seeds import derive_seeds
from dhyan.special_tokens import BOS, EOS

WINDOW = 2**16
FINE_STEPS = 8  # up to so many times the multiple, lengths are rounded to the multiple itself

Rows = Int64[np.ndarray, " _"]
Lengths = Int64[np.ndarray, " N"]


class Batches:
    """The endless stream of training batches; a position counts the examples before it.

    An epoch is a keyed permutation of all examples. Every `window` of them is resegmented, if
    there is BPE dropout, each example by its own position; then sorted by length and split where
    rows × the longest side would pass `tokens_per_batch`; the batches of a window are visited in a
    keyed order of their own. Each example comes once an epoch, or as often as its mixture has it,
    and nothing but the position needs to be saved to resume.

    With a `multiple` over 1 the batches have few shapes (`BatchShapes`), none longer than
    `max_length`.
    """

    def __init__(
        self,
        examples: Examples,
        *,
        tokens_per_batch: int,
        seed: int,
        window: int = WINDOW,
        multiple: int = 1,
        max_length: int = 2**31,
    ) -> None:
        if not len(examples):
            raise ValueError("there are no examples to make batches of")
        if min(tokens_per_batch, window, multiple) < 1:
            raise ValueError(f"{tokens_per_batch=}, {window=} and {multiple=} must be at least 1")
        self.examples = examples
        self.mixture = examples.mixture or Mixture((len(examples),), (1.0,))
        self.size = len(self.mixture)
        self.tokens_per_batch = tokens_per_batch
        self.seed = seed
        self.window = window
        self.multiple = multiple
        self.shapes = (
            BatchShapes(tokens_per_batch=tokens_per_batch, multiple=multiple, max_length=max_length)
            if multiple > 1
            else None
        )
        self._planned_window = lru_cache(maxsize=1)(self._plan_window)

    def epoch(self, position: int) -> int:
        """The number of completed epochs at a position."""
        return position // self.size

    def at(self, position: int) -> tuple[Batch, int]:
        """The batch at a position, and the next position."""
        examples, rows = self._rows_at(position)
        batch = examples.batch(rows)
        return self.shapes.pad(batch) if self.shapes else batch, position + len(rows)

    def size_at(self, position: int) -> tuple[int, int]:
        """The number of labels of the batch at a position, and the next position."""
        examples, rows = self._rows_at(position)
        _, targets = examples.lengths(rows)
        return int(targets.sum()) - len(rows), position + len(rows)  # BOS is no label

    def count(self, epochs: int) -> int:
        """The number of batches in the first epochs.

        With BPE dropout, which resegments every example, only the first epoch is counted.
        """
        whole = all(weight.is_integer() for weight in self.mixture.weights)
        epochs_alike = whole and self.size <= self.window  # they differ in the order of batches
        if epochs_alike or self.examples.bpe_dropout:
            return epochs * self._count_epoch(0)
        return sum(map(self._count_epoch, range(epochs)))

    def _count_epoch(self, epoch: int) -> int:
        windows = range(-(-self.size // self.window))
        return sum(len(self._plan_window(epoch, number)[1]) for number in windows)

    def example_ids(self, position: int) -> list[int]:
        """The rows in the corpus of the examples of the batch at a position."""
        examples, rows = self._rows_at(position)
        if examples is self.examples:
            return rows.tolist()
        epoch, offset = divmod(position, self.size)
        positions = offset // self.window * self.window + rows
        return self._corpus_rows(epoch, positions).tolist()

    def _rows_at(self, position: int) -> tuple[Examples, Rows]:
        """The rows of the batch that begins at a position, and the examples they are rows of."""
        epoch, offset = divmod(position, self.size)
        examples, plan = self._planned_window(epoch, offset // self.window)
        rows = plan.get(position)
        if position < 0 or rows is None:
            raise ValueError(
                f"no batch begins at position {position}; continue from 0 or from a position that "
                f"came with a batch of the same data, tokens_per_batch, seed, window and multiple"
            )
        return examples, rows

    def _plan_window(self, epoch: int, number: int) -> tuple[Examples, dict[int, Rows]]:
        """The examples of a window, and the rows of each batch by the position it begins at."""
        start = number * self.window
        positions = np.arange(start, min(start + self.window, self.size))
        examples, rows = self._window_examples(epoch, positions)
        parts = (
            self.shapes.split(examples, rows)
            if self.shapes
            else split_by_length(examples, rows, self.tokens_per_batch)
        )
        order = Permutation(len(parts), (self.seed, epoch, number)).permute(np.arange(len(parts)))
        plan, position = {}, epoch * self.size + start
        for part in order:
            plan[position] = parts[part]
            position += len(parts[part])
        return examples, plan

    def _window_examples(self, epoch: int, positions: Rows) -> tuple[Examples, Rows]:
        """The examples at these positions of an epoch, after BPE dropout if there is any."""
        rows = self._corpus_rows(epoch, positions)
        if not self.examples.bpe_dropout:
            return self.examples, rows
        seeds = derive_seeds(self.seed, epoch, positions.astype(np.uint64))
        return self.examples.resegmented(rows, seeds), np.arange(len(rows))

    def _corpus_rows(self, epoch: int, positions: Rows) -> Rows:
        """The rows of the corpus at these positions of an epoch."""
        shuffled = Permutation(self.size, (self.seed, epoch)).permute(positions)
        return self.mixture.rows(shuffled, epoch=epoch, seed=self.seed)


def split_by_length(examples: Examples, rows: Rows, tokens_per_batch: int) -> list[Rows]:
    """Rows sorted by length and split so that a padded part has at most so many tokens a side."""
    sources, targets = examples.lengths(rows)
    order = np.lexsort((sources, targets))
    lengths = np.maximum(sources, targets)[order].tolist()
    ends, width, start = [], 0, 0
    for index, length in enumerate(lengths):
        width = max(width, length)
        if width * (index + 1 - start) > tokens_per_batch and index > start:
            ends.append(index)
            width, start = length, index
    return np.split(rows[order], ends)


def sorted_batches(examples: Examples, tokens_per_batch: int) -> list[Batch]:
    """Every example once, shortest first: for validation, where the order does not matter."""
    parts = split_by_length(examples, np.arange(len(examples)), tokens_per_batch)
    return [examples.batch(rows) for rows in parts]


@dataclass(frozen=True, kw_only=True)
class BatchShapes:
    """The few lengths and row counts that batches for a GPU have; others are rounded up to them.

    Lengths are multiples of `multiple`, from eight times that on of twice as much, and so on, but
    none is over `max_length`. The target is as long as the decoder's input. A batch has as many
    rows as the budget allows its longer side; one that is not full has a half of that, a quarter,
    and so on.
    """

    tokens_per_batch: int
    multiple: int
    max_length: int

    def round_up(self, lengths: Lengths) -> Lengths:
        """Every length, rounded up to an allowed one."""
        units = -(-lengths // self.multiple)
        coarse = 2 ** np.maximum(np.ceil(np.log2(units / FINE_STEPS)), 0).astype(np.int64)
        rounded = -(-units // coarse) * coarse * self.multiple
        return np.maximum(lengths, np.minimum(rounded, self.max_length))

    def full_rows(self, lengths: Lengths) -> Lengths:
        """How many rows of each length a full batch has; a multiple where there are as many."""
        rows = np.maximum(1, self.tokens_per_batch // lengths)
        return np.where(rows < self.multiple, rows, rows - rows % self.multiple)

    def padded_rows(self, count: int, length: int) -> int:
        """The number of rows of a batch that holds `count` sequences of this length."""
        rows = int(self.full_rows(np.array([length]))[0])
        while count <= (half := -(-rows // 2)) < rows:
            rows = half
        return rows

    def split(self, examples: Examples, rows: Rows) -> list[Rows]:
        """Rows split into batches, sorted by target, then by source, to keep padding small.

        Sources ascend and descend in turn, so that those at the end of one target length and at
        the beginning of the next, which may share a batch, have similar lengths.
        """
        source_lengths, target_lengths = examples.lengths(rows)
        sources, targets = self.round_up(source_lengths), self.round_up(target_lengths - 1)
        descending = np.unique(targets, return_inverse=True)[1] % 2
        order = np.lexsort((np.where(descending, -source_lengths, source_lengths), targets))
        longer = np.maximum(sources, targets)[order]
        ends, start = [], 0
        while start < len(order):
            candidates = longer[start : start + self.full_rows(longer[start : start + 1])[0]]
            allowed = self.full_rows(np.maximum.accumulate(candidates))
            fits = np.arange(1, len(candidates) + 1) <= allowed
            start += len(candidates) if fits.all() else max(1, int(fits.argmin()))
            ends.append(start)
        return np.split(rows[order], ends[:-1])

    def pad(self, batch: Batch) -> Batch:
        """A batch padded to an allowed shape; an added row has the source EOS and no target."""
        widths = (batch.source.mask.shape[1], batch.target.ids.shape[1] - 1)
        source, target = self.round_up(np.array(widths)).tolist()
        rows = self.padded_rows(len(batch.source), max(source, target))
        return Batch(
            batch.source.padded(rows, source, first=EOS),
            batch.target.padded(rows, target + 1, first=BOS),
        )
