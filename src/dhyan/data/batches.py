"""Batches of similar lengths, as a pure function of how many examples came before."""

from functools import lru_cache

import numpy as np

from dhyan.batch import Batch
from dhyan.data.batch_shapes import Frames, Rows
from dhyan.data.examples import Examples
from dhyan.data.mixture import Mixture
from dhyan.data.permutation import Permutation, derive

WINDOW, RECUT_WINDOW = 2**16, 2**12  # the smaller where each example is cut anew: that takes time


class Batches:
    """The endless stream of training batches; a position counts the examples before it.

    An epoch is a keyed permutation of all examples. Every `window` of them is cut anew, if they
    are to be, each by its own place; then sorted by length and parted where rows × the longest side
    would pass `tokens_per_batch`; its batches are then visited in a keyed order of their own. Each
    example comes once an epoch, or as often as its mixture has it, and nothing but the position
    needs to be saved to go on from it.

    With a `multiple` over 1 the batches have few shapes (`Frames`), none longer than `longest`.
    """

    def __init__(
        self,
        examples: Examples,
        *,
        tokens_per_batch: int,
        seed: int,
        window: int | None = None,
        multiple: int = 1,
        longest: int = 2**31,
    ) -> None:
        if not len(examples):
            raise ValueError("there are no examples to make batches of")
        if window is None:
            window = RECUT_WINDOW if examples.dropout else WINDOW
        if min(tokens_per_batch, window, multiple) < 1:
            raise ValueError(f"{tokens_per_batch=}, {window=} and {multiple=} must be at least 1")
        self.examples = examples
        self.mixture = examples.mixture or Mixture((len(examples),), (1.0,))
        self.size = len(self.mixture)
        self.tokens_per_batch = tokens_per_batch
        self.seed = seed
        self.window = window
        self.frames = (
            Frames(tokens_per_batch=tokens_per_batch, multiple=multiple, longest=longest)
            if multiple > 1
            else None
        )
        self._window = lru_cache(maxsize=1)(self._planned)

    def epoch(self, position: int) -> int:
        """How many epochs have been seen by then."""
        return position // self.size

    def at(self, position: int) -> tuple[Batch, int]:
        """The batch at a position, and the next position."""
        examples, rows = self._begun(position)
        batch = examples.batch(rows)
        return self.frames.framed(batch) if self.frames else batch, position + len(rows)

    def members(self, position: int) -> list[int]:
        """Which examples the batch at a position has, each by its row in the corpus."""
        examples, rows = self._begun(position)
        if examples is self.examples:
            return rows.tolist()
        epoch, done = divmod(position, self.size)
        places = done // self.window * self.window + rows
        return self._placed(epoch, places).tolist()

    def _begun(self, position: int) -> tuple[Examples, Rows]:
        """The rows of the batch that begins at a position, and the examples they are rows of."""
        epoch, done = divmod(position, self.size)
        examples, plan = self._window(epoch, done // self.window)
        rows = plan.get(position)
        if position < 0 or rows is None:
            raise ValueError(
                f"no batch begins at position {position}; go on from 0 or from a position that "
                f"came with a batch of the same data, tokens_per_batch, seed, window and multiple"
            )
        return examples, rows

    def _planned(self, epoch: int, number: int) -> tuple[Examples, dict[int, Rows]]:
        """A window's examples, and which rows of them each batch has, by where it begins."""
        start = number * self.window
        places = np.arange(start, min(start + self.window, self.size))
        examples, rows = self._drawn(epoch, places)
        cuts = (
            self.frames.cut(examples, rows)
            if self.frames
            else by_length(examples, rows, self.tokens_per_batch)
        )
        order = Permutation(len(cuts), (self.seed, epoch, number)).permute(np.arange(len(cuts)))
        plan, position = {}, epoch * self.size + start
        for cut in order:
            plan[position] = cuts[cut]
            position += len(cuts[cut])
        return examples, plan

    def _drawn(self, epoch: int, places: Rows) -> tuple[Examples, Rows]:
        """What stands at these places of an epoch, as it is trained on."""
        rows = self._placed(epoch, places)
        if not self.examples.dropout:
            return self.examples, rows
        seeds = [derive(self.seed, epoch, place) for place in places.tolist()]
        return self.examples.recut(rows, seeds), np.arange(len(rows))

    def _placed(self, epoch: int, places: Rows) -> Rows:
        """The rows that stand at these places of an epoch."""
        drawn = Permutation(self.size, (self.seed, epoch)).permute(places)
        return self.mixture.rows(drawn, epoch=epoch, seed=self.seed)


def by_length(examples: Examples, rows: Rows, tokens_per_batch: int) -> list[Rows]:
    """Cut rows, shortest first, so that each part, padded, holds at most so many tokens a side."""
    sources, targets = examples.lengths(rows)
    order = np.lexsort((sources, targets))
    longest = np.maximum(sources, targets)[order].tolist()
    cuts, width, start = [], 0, 0
    for place, length in enumerate(longest):
        width = max(width, length)
        if width * (place + 1 - start) > tokens_per_batch and place > start:
            cuts.append(place)
            width, start = length, place
    return np.split(rows[order], cuts)


def fixed_batches(examples: Examples, tokens_per_batch: int) -> list[Batch]:
    """Every example once, shortest first: for validation, where the order does not matter."""
    rows = by_length(examples, np.arange(len(examples)), tokens_per_batch)
    return [examples.batch(part) for part in rows]
