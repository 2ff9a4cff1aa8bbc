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
from tests.data.test_batches import corpus, going_on
from tests.laws.family import MODELS, build

frames = st.builds(
    BatchShapes,
    tokens_per_batch=st.integers(1, 3000),
    multiple=st.integers(2, 16),
    max_length=st.integers(1, 300),
)


def framed_stream(size, *, tokens=400, multiple=8, window=2**16, max_length=41, examples=None):
    return Batches(
        examples or corpus(size),
        tokens_per_batch=tokens,
        seed=1,
        window=window,
        multiple=multiple,
        max_length=max_length,
    )


@settings(deadline=None)
@given(frames, st.lists(st.integers(1, 300), min_size=1, max_size=30))
def test_a_rounded_length_is_no_less_and_stays_as_it_is(made, lengths):
    given_lengths = np.array(sorted(lengths))
    found = made.round_up(given_lengths)
    assert (found >= given_lengths).all()
    assert (np.diff(found) >= 0).all()
    assert np.array_equal(made.round_up(found), found)
    inside = given_lengths <= made.max_length
    assert (found[inside] <= made.max_length).all()
    wasted = found - given_lengths
    assert (wasted < np.maximum(made.multiple, given_lengths / 4 + 1)).all()


@settings(deadline=None)
@given(frames, st.integers(1, 300), st.data())
def test_a_batch_that_is_not_full_has_at_most_twice_its_rows(made, length, data):
    most = int(made.full_rows(np.array([length]))[0])
    count = data.draw(st.integers(1, most))
    rows = made.padded_rows(count, length)
    assert count <= rows <= most
    assert most == 1 or most * length <= made.tokens_per_batch
    assert rows == 1 or rows < 2 * count + 1
    assert made.padded_rows(rows, length) == rows


@settings(max_examples=30, deadline=None)
@given(
    size=st.integers(1, 200),
    tokens=st.integers(42, 2000),
    multiple=st.sampled_from([2, 4, 8]),
    window=st.integers(1, 100),
)
def test_every_pair_comes_once_an_epoch_whatever_the_shapes(size, tokens, multiple, window):
    batches = framed_stream(size, tokens=tokens, multiple=multiple, window=window)
    position, seen, shapes = 0, [], set()
    while position < size:
        batch, after = batches.at(position)
        rows, source = batch.source.ids.shape
        target = batch.target.ids.shape[1] - 1
        assert rows * max(source, target) <= tokens
        assert batch.labels.count > 0
        seen += (batch.source.ids[: after - position, 0] - 100).tolist()
        shapes.add((rows, source, target))
        position = after
    assert sorted(seen) == list(range(size))
    assert position == size


def test_a_full_batch_of_a_shape_always_has_the_same_rows():
    batches, most = framed_stream(5000, tokens=1000), {}
    for batch, _ in islice(going_on(batches, 0), 400):
        rows, source = batch.source.ids.shape
        longer = max(source, batch.target.ids.shape[1] - 1)
        full = 1000 // longer
        assert full // 8 * 8 >= rows or full < 8
        most.setdefault((source, batch.target.ids.shape[1]), set()).add(rows)
    assert all(len(rows) <= 3 for rows in most.values())
    assert sum(map(len, most.values())) < 40


def test_going_on_from_any_position_gives_the_same_framed_batches():
    examples = corpus(300)
    whole = list(islice(going_on(framed_stream(300, window=100, examples=examples), 0), 60))
    positions = [0, *(position for _, position in whole)]
    assert positions[-1] > 600
    for place in range(0, 60, 7):
        again = framed_stream(300, window=100, examples=examples)
        batch, position = again.at(positions[place])
        assert position == positions[place + 1]
        assert torch.equal(batch.target.ids, whole[place][0].target.ids)
        assert torch.equal(batch.source.mask, whole[place][0].source.mask)


def test_little_of_framed_batches_is_padding():
    batches = framed_stream(5000, tokens=4000)
    real = padded = position = 0
    while position < 5000:
        batch, position = batches.at(position)
        for side in (batch.source, batch.target):
            real += int(side.mask.sum())
            padded += side.mask.numel()
    assert 1 - real / padded < 0.25


def test_added_rows_have_no_target_tokens():
    batch = Batch(
        Tokens.pad([[5, 6, EOS], [7, EOS], [8, EOS]]),
        Tokens.pad([[BOS, 5, EOS], [BOS, EOS], [BOS, EOS]]),
    )
    found = BatchShapes(tokens_per_batch=16, multiple=4, max_length=41).pad(batch)
    assert found.source.ids.shape == (4, 4)
    assert found.target.ids.shape == (4, 5)
    assert found.labels.count == batch.labels.count == 4
    assert found.source.ids[3].tolist() == [EOS, PAD, PAD, PAD]
    assert found.target.ids[3].tolist() == [BOS, PAD, PAD, PAD, PAD]
    assert found.source.mask[3].tolist() == [True, False, False, False]
    assert found.source.ids[:3, :3].equal(batch.source.ids)


def gradients(model, batch, **options):
    model.zero_grad(set_to_none=True)
    torch.manual_seed(1)
    loss = Objective(**options)(model, batch, 1)
    loss.backward()
    found = [torch.zeros_like(p) if p.grad is None else p.grad for p in model.parameters()]
    return loss.detach(), torch.cat([one.flatten() for one in found])


@pytest.mark.parametrize("kind", MODELS, ids="/".join)
def test_added_rows_and_columns_change_neither_loss_nor_gradients(kind):
    model = build(*kind).double().eval()
    words = [[5, 6, 7, 8, 9], [10, 11, 12], [13, 4, 5, 6]]
    batch = Batch(
        Tokens.pad([[*row, EOS] for row in words]),
        Tokens.pad([[BOS, *row[::-1], EOS] for row in words]),
    )
    wider = BatchShapes(tokens_per_batch=64, multiple=4, max_length=41).pad(batch)
    assert wider.source.ids.shape != batch.source.ids.shape
    assert len(wider.source) > 3
    (loss, slopes), (again, others) = gradients(model, batch), gradients(model, wider)
    torch.testing.assert_close(again, loss, rtol=1e-6, atol=1e-6)
    torch.testing.assert_close(others, slopes, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", [("bi-lstm", "bahdanau-additive"), ("transformer", "transformer")])
@pytest.mark.parametrize(
    "options", [{}, {"r_drop": 1.0}, {"teacher_forcing_schedule": lambda step: 0.5}]
)
def test_a_batch_of_nothing_but_added_rows_has_no_gradient(kind, options):
    empty = Batch(Tokens.pad([[EOS, PAD]] * 4), Tokens.pad([[BOS, PAD, PAD]] * 4))
    for tokens in (empty.source, empty.target):
        tokens.mask[:, 1:] = False
    loss, slopes = gradients(build(*kind), empty, **options)
    assert loss == 0
    assert (slopes == 0).all()
