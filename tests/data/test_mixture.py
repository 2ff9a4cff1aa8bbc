"""Mixtures: how often each pair comes follows from the epoch alone."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from dhyan.data.batches import Batches
from dhyan.data.encode import encode_pairs
from dhyan.data.mixture import Mixture
from dhyan.data.pairs import Pair
from dhyan.text.tokenizer import Tokenizer

MIXES = [
    ((7,), (1.0,)),
    ((10, 4), (1.0, 2.0)),
    ((10, 6), (1.0, 0.5)),
    ((9, 7, 5), (1.5, 0.3, 3.2)),
    ((100, 1), (0.01, 0.2)),
]


def epoch_rows(mixture, epoch, seed=1):
    return mixture.rows(np.arange(len(mixture)), epoch=epoch, seed=seed)


def counts_by_corpus(mixture, rows):
    """The counts of rows, corpus by corpus."""
    counts, first = Counter(rows.tolist()), 0
    for size in mixture.sizes:
        yield [counts[row] for row in range(first, first + size)]
        first += size


@pytest.mark.parametrize(("sizes", "weights"), MIXES)
def test_every_epoch_has_each_corpus_by_its_weight(sizes, weights):
    mixture = Mixture(sizes, weights)
    for epoch in range(5):
        for counts, size, weight in zip(
            counts_by_corpus(mixture, epoch_rows(mixture, epoch)), sizes, weights, strict=True
        ):
            assert abs(sum(counts) - weight * size) <= 0.5 or sum(counts) == 1
            assert set(counts) <= {int(weight), int(weight) + 1}


@pytest.mark.parametrize(("sizes", "weights"), MIXES)
def test_counts_of_pairs_differ_by_at_most_one(sizes, weights):
    mixture = Mixture(sizes, weights)
    rows = np.array([], dtype=np.int64)
    for epoch in range(12):
        rows = np.concatenate([rows, epoch_rows(mixture, epoch)])
        for counts in counts_by_corpus(mixture, rows):
            assert max(counts) - min(counts) <= 1


def test_a_weight_of_a_half_alternates_between_halves():
    mixture = Mixture((3, 8), (1.0, 0.5))
    halves = [set(epoch_rows(mixture, epoch).tolist()) - {0, 1, 2} for epoch in (0, 1)]
    assert [len(half) for half in halves] == [4, 4]
    assert halves[0] | halves[1] == set(range(3, 11))
    others = set(epoch_rows(mixture, 0, seed=2).tolist()) - {0, 1, 2}
    assert others not in halves


def test_a_single_corpus_of_weight_one_is_unchanged():
    positions = np.array([4, 0, 2, 2])
    assert Mixture((5,), (1.0,)).rows(positions, epoch=3, seed=9).tolist() == positions.tolist()


def test_a_far_epoch_costs_no_more_than_the_first():
    mixture = Mixture((10**9, 10**8), (1.3, 7.7))
    rows = mixture.rows(np.arange(0, len(mixture), 10**6), epoch=10**12, seed=1)
    assert 0 <= rows.min() <= rows.max() < 11 * 10**8


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_a_weight_that_is_not_positive_is_refused(weight):
    with pytest.raises(ValueError, match="must be positive"):
        Mixture((2, 3), (1.0, weight))


class NumberTokenizer(Tokenizer):
    """A tokenizer whose tokens are numbers."""

    def __init__(self):
        pass

    def encode_batch(self, sentences):
        return [[int(word) for word in text.split()] for text in sentences]


def stream(window=16):
    pairs = [Pair(f"{10 + row} " * (row % 7 + 1), f"{10 + row}", row) for row in range(60)]
    examples = encode_pairs(pairs, NumberTokenizer(), NumberTokenizer(), max_tokens=20)
    mixed = type(examples)(examples.source, examples.target, Mixture((40, 20), (0.5, 1.7)))
    return Batches(mixed, tokens_per_batch=24, seed=3, window=window)


def test_batches_hold_the_rows_of_the_mixture():
    batches, position = stream(), 0
    for epoch in range(3):
        rows = []
        while batches.epoch(position) == epoch:
            batch, position = batches.at(position)
            rows += (batch.source.ids[:, 0] - 10).tolist()
        assert sorted(rows) == sorted(epoch_rows(batches.mixture, epoch, seed=3).tolist())
        assert position == (epoch + 1) * (20 + 34)


def test_a_mixture_resumes_at_any_position():
    batches, positions = stream(), [0]
    while positions[-1] < 150:
        positions.append(batches.at(positions[-1])[1])
    for position, after in reversed(list(pairwise(positions))):
        (batch, next_position), (resumed, resumed_position) = (
            batches.at(position),
            stream().at(position),
        )
        assert next_position == resumed_position == after
        assert torch.equal(batch.source.ids, resumed.source.ids)
