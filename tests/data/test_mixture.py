"""Weighted mixes: how often each pair comes, computed from the epoch alone."""

from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
import torch

from dhyan.data.batches import Batches
from dhyan.data.encode import encode_pairs
from dhyan.data.mixture import Mixture
from dhyan.data.pairs import Pair

MIXES = [
    ((7,), (1.0,)),
    ((10, 4), (1.0, 2.0)),
    ((10, 6), (1.0, 0.5)),
    ((9, 7, 5), (1.5, 0.3, 3.2)),
    ((100, 1), (0.01, 0.2)),
]


def epoch_of(mixture, epoch, seed=1):
    return mixture.rows(np.arange(len(mixture)), epoch=epoch, seed=seed)


def by_part(mixture, rows):
    """How often each row came, corpus by corpus."""
    counts, first = Counter(rows.tolist()), 0
    for size in mixture.sizes:
        yield [counts[row] for row in range(first, first + size)]
        first += size


@pytest.mark.parametrize(("sizes", "weights"), MIXES)
def test_every_epoch_has_each_corpus_by_its_weight(sizes, weights):
    mixture = Mixture(sizes, weights)
    for epoch in range(5):
        for counts, size, weight in zip(
            by_part(mixture, epoch_of(mixture, epoch)), sizes, weights, strict=True
        ):
            assert abs(sum(counts) - weight * size) <= 0.5 or sum(counts) == 1
            assert set(counts) <= {int(weight), int(weight) + 1}


@pytest.mark.parametrize(("sizes", "weights"), MIXES)
def test_after_any_epochs_no_pair_has_come_more_than_once_oftener_than_another(sizes, weights):
    mixture = Mixture(sizes, weights)
    seen = np.array([], dtype=np.int64)
    for epoch in range(12):
        seen = np.concatenate([seen, epoch_of(mixture, epoch)])
        for counts in by_part(mixture, seen):
            assert max(counts) - min(counts) <= 1


def test_a_weight_of_a_half_takes_the_other_half_the_next_time():
    mixture = Mixture((3, 8), (1.0, 0.5))
    halves = [set(epoch_of(mixture, epoch).tolist()) - {0, 1, 2} for epoch in (0, 1)]
    assert [len(half) for half in halves] == [4, 4]
    assert halves[0] | halves[1] == set(range(3, 11))
    others = set(epoch_of(mixture, 0, seed=2).tolist()) - {0, 1, 2}
    assert others not in halves


def test_a_mixture_of_one_whole_corpus_changes_nothing():
    places = np.array([4, 0, 2, 2])
    assert Mixture((5,), (1.0,)).rows(places, epoch=3, seed=9).tolist() == places.tolist()


def test_a_far_epoch_costs_no_more_than_the_first():
    mixture = Mixture((10**9, 10**8), (1.3, 7.7))
    rows = mixture.rows(np.arange(0, len(mixture), 10**6), epoch=10**12, seed=1)
    assert 0 <= rows.min() <= rows.max() < 11 * 10**8


@pytest.mark.parametrize("weight", [0.0, -1.0])
def test_a_weight_that_is_not_positive_is_refused(weight):
    with pytest.raises(ValueError, match="must be positive"):
        Mixture((2, 3), (1.0, weight))


class Numbers:
    """A tokenizer whose tokens are numbers."""

    def encode_batch(self, sentences):
        return [[int(word) for word in text.split()] for text in sentences]


def stream(window=16):
    pairs = [Pair(f"{10 + row} " * (row % 7 + 1), f"{10 + row}", row) for row in range(60)]
    examples = encode_pairs(pairs, Numbers(), Numbers(), max_tokens=20)
    mixed = type(examples)(examples.source, examples.target, Mixture((40, 20), (0.5, 1.7)))
    return Batches(mixed, tokens_per_batch=24, seed=3, window=window)


def test_batches_hold_what_the_mixture_has_epoch_by_epoch():
    batches, position = stream(), 0
    for epoch in range(3):
        seen = []
        while batches.epoch(position) == epoch:
            batch, position = batches.at(position)
            seen += (batch.source.ids[:, 0] - 10).tolist()
        assert sorted(seen) == sorted(epoch_of(batches.mixture, epoch, seed=3).tolist())
        assert position == (epoch + 1) * (20 + 34)


def test_a_mixed_stream_goes_on_from_any_position():
    batches, positions = stream(), [0]
    while positions[-1] < 150:
        positions.append(batches.at(positions[-1])[1])
    for here, after in reversed(list(pairwise(positions))):
        (one, came), (other, again) = batches.at(here), stream().at(here)
        assert came == again == after
        assert torch.equal(one.source.ids, other.source.ids)
