"""An epoch of a billion examples: any position is reached without reading the epoch."""

import random
import tracemalloc

import numpy as np
import pytest
from numpy.lib.stride_tricks import as_strided

from dhyan.data.batches import Batches
from dhyan.data.permutation import Permutation
from dhyan.data.store import Examples, TokenSequences

SIZE, WORDS = 10**9, 8


class EvenOffsets(np.ndarray):
    """Offsets of sentences of equal length, computed; counts how many are read."""

    reads = 0

    def __getitem__(self, rows):
        type(self).reads += np.size(rows)
        return np.asarray(rows) * WORDS


def billion_examples():
    """A billion equal examples that take no memory."""
    offsets = as_strided(np.zeros(1, np.int64), (SIZE + 1,), (0,)).view(EvenOffsets)
    ids = as_strided(np.full(1, 7, np.int32), (SIZE * WORDS,), (0,))
    return Examples(TokenSequences(ids, offsets), TokenSequences(ids, offsets))


def test_a_permutation_of_a_billion_is_a_bijection():
    indices = np.unique(np.random.default_rng(3).integers(0, SIZE, 300_000))
    images = Permutation(SIZE, (1, 0)).permute(indices)
    assert images.min() >= 0
    assert images.max() < SIZE
    assert len(np.unique(images)) == len(indices)
    first = Permutation(SIZE, (1, 0)).permute(np.arange(1000))
    assert len({*first.tolist()}) == 1000


@pytest.mark.parametrize("epoch", [0, 1, 40])
def test_any_position_is_reached_with_few_reads_and_little_memory(epoch):
    examples, rng = billion_examples(), random.Random(epoch)
    window = Batches(examples, tokens_per_batch=4096, seed=1).window
    position = epoch * SIZE + rng.randrange(SIZE // window) * window
    batches = Batches(examples, tokens_per_batch=4096, seed=1)
    for _ in range(rng.randrange(1, 20)):
        position = batches.at(position)[1]
    uninterrupted = [batches.at(position)]
    uninterrupted.append(batches.at(uninterrupted[0][1]))
    EvenOffsets.reads = 0
    tracemalloc.start()
    resumed = Batches(examples, tokens_per_batch=4096, seed=1)
    resumed_batches = [resumed.at(position)]
    memory = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    resumed_batches.append(resumed.at(resumed_batches[0][1]))
    print(f"epoch {epoch}: {EvenOffsets.reads:,} offsets, {memory / 1e6:.1f} MB")
    assert EvenOffsets.reads < 20 * window
    assert memory < 100e6
    assert [after for _, after in resumed_batches] == [after for _, after in uninterrupted]
    members = resumed.example_ids(position)
    assert len(set(members)) == len(members) == resumed_batches[0][1] - position
    assert members == batches.example_ids(position)
