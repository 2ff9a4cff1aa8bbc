"""Batches of similar lengths: every example once an epoch, resumed from any position."""

from dataclasses import replace
from itertools import islice, pairwise

import numpy as np
import pytest
import torch

from dhyan.data.batches import Batches, sorted_batches
from dhyan.data.encode import encode_pairs
from dhyan.data.mixture import Mixture
from dhyan.data.pairs import Pair
from dhyan.data.store import Examples
from dhyan.special_tokens import BOS, EOS
from dhyan.text.tokenizer import Tokenizer


class NumberTokenizer(Tokenizer):
    """A tokenizer whose tokens are numbers."""

    def __init__(self):
        pass

    def encode_batch(self, sentences):
        return [[int(word) for word in text.split()] for text in sentences]


def corpus(size, *, seed=0, max_length=40):
    """Examples of random lengths; the first token of both sides is 100 + the example's number."""
    sizes = np.random.default_rng(seed)
    pairs = []
    for row in range(size):
        source = int(sizes.integers(1, max_length + 1))
        target = int(np.clip(source + sizes.integers(-3, 4), 1, max_length))
        sides = [" ".join([str(100 + row)] * length) for length in (source, target)]
        pairs.append(Pair(*sides, row + 1))
    return encode_pairs(pairs, NumberTokenizer(), NumberTokenizer(), max_tokens=max_length)


def stream(size, *, seed=1, window=2**16, tokens=200, examples=None):
    return Batches(examples or corpus(size), tokens_per_batch=tokens, seed=seed, window=window)


def padding_share(batches, size):
    """The share of padding among all token positions of an epoch."""
    real = padded = position = 0
    while position < size:
        batch, position = batches.at(position)
        for side in (batch.source, batch.target):
            real += int(side.mask.sum())
            padded += side.mask.numel()
    return 1 - real / padded


def example_numbers(batch):
    """Which examples a batch holds; both sides must agree, in every token."""
    assert (batch.target.ids[:, 0] == BOS).all()
    rows = batch.source.ids[:, 0] - 100
    for side, first in ((batch.source, 0), (batch.target, 1)):
        inner = side.mask.clone()
        inner[:, :first] = False
        inner &= side.ids != EOS
        assert (torch.where(inner, side.ids - 100, rows[:, None]) == rows[:, None]).all()
        assert ((side.ids == EOS).sum(dim=1) == 1).all()
    return rows.tolist()


def read_epoch(batches, position=0):
    epoch, rows = batches.epoch(position), []
    while batches.epoch(position) == epoch:
        batch, position = batches.at(position)
        rows.append(example_numbers(batch))
    return rows, position


def batches_from(batches, position):
    """Every batch from a position on, each with the position after it."""
    while True:
        batch, position = batches.at(position)
        yield batch, position


@pytest.mark.parametrize(
    ("size", "window"),
    [(1, 1), (1, 64), (2, 1), (63, 64), (64, 64), (65, 64), (128, 64), (500, 64)],
)
def test_every_pair_comes_once_an_epoch_unchanged(size, window):
    batches = stream(size, window=window)
    position = 0
    for epoch in range(3):
        assert batches.epoch(position) == epoch
        rows, position = read_epoch(batches, position)
        assert sorted(sum(rows, [])) == list(range(size))
        assert position == (epoch + 1) * size


def test_resuming_at_any_position_gives_the_same_batches():
    examples = corpus(300)
    uninterrupted = list(islice(batches_from(stream(300, window=100, examples=examples), 0), 120))
    positions = [0, *(position for _, position in uninterrupted)]
    assert positions[-1] > 600, "the test should pass the end of an epoch"
    for index in range(0, 120, 7):
        resumed = batches_from(stream(300, window=100, examples=examples), positions[index])
        for (batch, position), (other, after) in zip(uninterrupted[index:], resumed, strict=False):
            assert position == after
            assert torch.equal(batch.source.ids, other.source.ids)
            assert torch.equal(batch.target.ids, other.target.ids)


def test_batches_can_be_read_in_any_order():
    batches = stream(300, window=100)
    positions = [0, *(position for _, position in islice(batches_from(batches, 0), 40))]
    forwards = [example_numbers(batches.at(position)[0]) for position in positions]
    backwards = [example_numbers(batches.at(position)[0]) for position in reversed(positions)]
    assert forwards == backwards[::-1]


def test_a_position_inside_a_batch_is_refused():
    batches = stream(300)
    _, position = batches.at(0)
    assert position > 1
    for wrong in (position - 1, 1, -1, -300, 10**9 * 300 + 1):
        with pytest.raises(ValueError, match=f"no batch begins at position {wrong}"):
            batches.at(wrong)


@pytest.mark.parametrize("tokens", [42, 100, 1000, 10**6])
def test_no_batch_is_over_its_budget(tokens):
    batches = stream(400, tokens=tokens)
    for batch, _ in islice(batches_from(batches, 0), 30):
        rows = len(batch.source)
        assert rows * max(batch.source.ids.shape[1], batch.target.ids.shape[1]) <= tokens
    counts = [len(rows) for rows in read_epoch(batches)[0]]
    assert len(counts) == 1 if tokens == 10**6 else len(counts) > 1


def test_a_pair_over_the_budget_is_a_batch_of_its_own():
    batches, _ = read_epoch(stream(20, tokens=1))
    assert [len(rows) for rows in batches] == [1] * 20


def test_under_a_tenth_of_a_batch_is_padding():
    batches = stream(5000, tokens=2000)
    assert padding_share(batches, 5000) < 0.1


def test_the_order_changes_with_the_epoch_and_the_seed():
    examples = corpus(300)
    batches = stream(300, examples=examples)
    first, position = read_epoch(batches)
    second, _ = read_epoch(batches, position)
    other, _ = read_epoch(stream(300, seed=2, examples=examples))
    assert first != second
    assert first != other
    assert {frozenset(rows) for rows in first} != {frozenset(rows) for rows in second}


def test_short_batches_do_not_come_first():
    batches = stream(5000, tokens=500)
    widths = [batch.target.ids.shape[1] for batch, _ in islice(batches_from(batches, 0), 200)]
    assert abs(np.corrcoef(widths, np.arange(200))[0, 1]) < 0.2


def test_a_window_of_a_far_epoch_is_planned_at_once():
    size = 2_000_000
    offsets = np.arange(size + 1) * 4
    ids = np.full(size * 4, 7, dtype=np.int32)
    source = type(corpus(1).source)(ids, offsets)
    batches = stream(size, tokens=4096, examples=Examples(source, source))
    far = 10**6 * size
    batch, position = batches.at(far)
    assert batches.epoch(far) == 10**6
    assert len(batch.source) == position - far == 1024


def test_a_batch_ends_where_the_next_row_is_over_the_budget():
    batches = sorted_batches(corpus(300), 200)
    for batch, after in pairwise(batches):
        rows = [side.lengths for side in (batch.source, batch.target, after.source, after.target)]
        width = max(int(rows[0].max()), int(rows[1].max()), int(rows[2][0]), int(rows[3][0]))
        assert width * (len(batch.source) + 1) > 200


def test_validation_has_each_pair_once_from_short_to_long():
    examples = corpus(300)
    batches = sorted_batches(examples, 200)
    assert sorted(sum(map(example_numbers, batches), [])) == list(range(300))
    lengths = torch.cat([batch.target.lengths for batch in batches])
    assert (lengths.diff() >= 0).all()
    for batch in batches:
        assert max(batch.source.ids.numel(), batch.target.ids.numel()) <= 200


def test_a_budget_of_zero_tokens_is_refused():
    with pytest.raises(ValueError, match="tokens_per_batch=0, window=8"):
        stream(3, tokens=0, window=8)


@pytest.mark.parametrize("window", [2**16, 50])
@pytest.mark.parametrize("weights", [None, (1.0, 2.0), (1.0, 1.5)])
def test_the_batches_of_epochs_are_counted_exactly(window, weights):
    examples = corpus(120)
    mixture = Mixture((50, 70), weights) if weights else None
    batches = stream(0, window=window, examples=replace(examples, mixture=mixture))
    epochs, position, count = 3, 0, 0
    while batches.epoch(position) < epochs:
        position, count = batches.at(position)[1], count + 1
    assert batches.count(epochs) == count
