"""Batches of few shapes: the laws of rounding, cutting and filling."""

from itertools import islice

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dhyan.batch import Batch, Tokens
from dhyan.data.batches import Batches, BatchShapes
from dhyan.special_tokens import BOS, EOS, PAD
from dhyan.training.loss import Objective
from tests.data.test_batches import batches_from, corpus, padding_share
from tests.laws.family import MODELS, build

batch_shapes = st.builds(
    BatchShapes,
    tokens_per_batch=st.integers(1, 3000),
    multiple=st.integers(2, 16),
    max_length=st.integers(1, 300),
)


def shaped_batches(size, *, tokens=400, multiple=8, window=2**16, max_length=41, examples=None):
    return Batches(
        examples or corpus(size),
        tokens_per_batch=tokens,
        seed=1,
        window=window,
        multiple=multiple,
        max_length=max_length,
    )


@settings(deadline=None)
@given(batch_shapes, st.lists(st.integers(1, 300), min_size=1, max_size=30))
def test_rounding_up_a_length_is_idempotent(shapes, lengths):
    original = np.array(sorted(lengths))
    rounded = shapes.round_up(original)
    assert (rounded >= original).all()
    assert (np.diff(rounded) >= 0).all()
    assert np.array_equal(shapes.round_up(rounded), rounded)
    inside = original <= shapes.max_length
    assert (rounded[inside] <= shapes.max_length).all()
    wasted = rounded - original
    assert (wasted < np.maximum(shapes.multiple, original / 4 + 1)).all()


@settings(deadline=None)
@given(batch_shapes, st.integers(1, 300), st.data())
def test_a_batch_that_is_not_full_has_at_most_twice_its_rows(shapes, length, data):
    full_rows = int(shapes.full_rows(np.array([length]))[0])
    count = data.draw(st.integers(1, full_rows))
    rows = shapes.padded_rows(count, length)
    assert count <= rows <= full_rows
    assert full_rows == 1 or full_rows * length <= shapes.tokens_per_batch
    assert rows == 1 or rows < 2 * count + 1
    assert shapes.padded_rows(rows, length) == rows


@settings(max_examples=30, deadline=None)
@given(
    size=st.integers(1, 200),
    tokens=st.integers(42, 2000),
    multiple=st.sampled_from([2, 4, 8]),
    window=st.integers(1, 100),
)
def test_every_pair_comes_once_an_epoch_for_any_shapes(size, tokens, multiple, window):
    batches = shaped_batches(size, tokens=tokens, multiple=multiple, window=window)
    position, example_numbers, shapes = 0, [], set()
    while position < size:
        batch, after = batches.at(position)
        rows, source = batch.source.ids.shape
        target = batch.target.ids.shape[1] - 1
        assert rows * max(source, target) <= tokens
        assert batch.labels.count > 0
        example_numbers += (batch.source.ids[: after - position, 0] - 100).tolist()
        shapes.add((rows, source, target))
        position = after
    assert sorted(example_numbers) == list(range(size))
    assert position == size


def test_a_full_batch_of_a_shape_always_has_the_same_rows():
    batches, row_counts = shaped_batches(5000, tokens=1000), {}
    for batch, _ in islice(batches_from(batches, 0), 400):
        rows, source = batch.source.ids.shape
        longer = max(source, batch.target.ids.shape[1] - 1)
        full = 1000 // longer
        assert full // 8 * 8 >= rows or full < 8
        row_counts.setdefault((source, batch.target.ids.shape[1]), set()).add(rows)
    assert all(len(rows) <= 3 for rows in row_counts.values())
    assert sum(map(len, row_counts.values())) < 40


def test_resuming_at_any_position_gives_the_same_batches():
    examples = corpus(300)
    uninterrupted = list(
        islice(batches_from(shaped_batches(300, window=100, examples=examples), 0), 60)
    )
    positions = [0, *(position for _, position in uninterrupted)]
    assert positions[-1] > 600
    for index in range(0, 60, 7):
        resumed = shaped_batches(300, window=100, examples=examples)
        batch, position = resumed.at(positions[index])
        assert position == positions[index + 1]
        assert torch.equal(batch.target.ids, uninterrupted[index][0].target.ids)
        assert torch.equal(batch.source.mask, uninterrupted[index][0].source.mask)


def test_under_a_quarter_of_a_batch_is_padding():
    batches = shaped_batches(5000, tokens=4000)
    assert padding_share(batches, 5000) < 0.25


def test_added_rows_have_no_target_tokens():
    batch = Batch(
        Tokens.pad([[5, 6, EOS], [7, EOS], [8, EOS]]),
        Tokens.pad([[BOS, 5, EOS], [BOS, EOS], [BOS, EOS]]),
    )
    padded = BatchShapes(tokens_per_batch=16, multiple=4, max_length=41).pad(batch)
    assert padded.source.ids.shape == (4, 4)
    assert padded.target.ids.shape == (4, 5)
    assert padded.labels.count == batch.labels.count == 4
    assert padded.source.ids[3].tolist() == [EOS, PAD, PAD, PAD]
    assert padded.target.ids[3].tolist() == [BOS, PAD, PAD, PAD, PAD]
    assert padded.source.mask[3].tolist() == [True, False, False, False]
    assert padded.source.ids[:3, :3].equal(batch.source.ids)


def gradients(model, batch, **options):
    model.zero_grad(set_to_none=True)
    torch.manual_seed(1)
    loss = Objective(**options)(model, batch, 1)
    loss.backward()
    grads = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
    return loss.detach(), torch.cat([grad.flatten() for grad in grads])


@pytest.mark.parametrize("names", MODELS, ids="/".join)
def test_added_rows_and_columns_change_neither_loss_nor_gradients(names):
    model = build(*names).double().eval()
    words = [[5, 6, 7, 8, 9], [10, 11, 12], [13, 4, 5, 6]]
    batch = Batch(
        Tokens.pad([[*row, EOS] for row in words]),
        Tokens.pad([[BOS, *row[::-1], EOS] for row in words]),
    )
    padded = BatchShapes(tokens_per_batch=64, multiple=4, max_length=41).pad(batch)
    assert padded.source.ids.shape != batch.source.ids.shape
    assert len(padded.source) > 3
    (loss, grads), (padded_loss, padded_grads) = gradients(model, batch), gradients(model, padded)
    torch.testing.assert_close(padded_loss, loss, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(padded_grads, grads, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize(
    "names", [("bi-lstm", "bahdanau-additive"), ("transformer", "transformer")]
)
@pytest.mark.parametrize(
    "options", [{}, {"r_drop": 1.0}, {"teacher_forcing_schedule": lambda step: 0.5}]
)
def test_a_batch_of_padding_rows_has_no_gradient(names, options):
    empty = Batch(Tokens.pad([[EOS, PAD]] * 4), Tokens.pad([[BOS, PAD, PAD]] * 4))
    for tokens in (empty.source, empty.target):
        tokens.mask[:, 1:] = False
    loss, grads = gradients(build(*names), empty, **options)
    assert loss == 0
    assert (grads == 0).all()
