"""Gradients by distance."""

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.sequences.vanishing_gradients import gradient_norms, vanishing_gradients


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


def test_one_backward_pass_gives_the_norm_of_the_whole_matrix():
    torch.manual_seed(3)
    layer = torch.nn.RNN(3, 3, batch_first=True).double()
    words = torch.randn(5, 3, dtype=torch.float64)
    whole = torch.autograd.functional.jacobian(lambda x: layer(x.unsqueeze(0))[0][0, -1], words)
    by_distance = whole.square().sum(dim=(0, 2)).sqrt().flip(0)
    torch.testing.assert_close(gradient_norms("rnn", 4, 3, 3), by_distance)


def test_an_lstm_fades_less_than_a_plain_rnn_and_both_fade():
    shown = vanishing_gradients(length=20, width=16, seeds=4)
    plain, gru, lstm, opened = shown.cells
    assert plain.factor < lstm.factor < opened.factor < 1
    assert plain.factor < gru.factor < 1
    assert plain.mean[-1] < lstm.mean[-1]
    assert "more slowly in an LSTM holds here" in flat_text(shown)
    assert "यहाँ सही है" in flat_text(shown, "hi")


def test_a_gate_that_never_forgets_keeps_the_gradient():
    [_, kept] = vanishing_gradients(["rnn"], length=20, width=8, seeds=2, forget=8.0).cells
    assert kept.thousandth is None
    assert kept.factor > 0.95


def test_the_verdict_follows_the_numbers():
    shown = vanishing_gradients(length=10, width=8, seeds=1, forget=None)
    names = [one.name for one in shown.cells]
    swapped = dict(zip(("LSTM", "GRU", "RNN"), names, strict=True))
    turned = type(shown)(
        tuple(type(one)(swapped[one.name], one.norms) for one in shown.cells), 10, 8, 1
    )
    assert ("LSTM holds" in flat_text(shown)) != ("LSTM holds" in flat_text(turned))


def test_one_seed_is_no_mean():
    one, two = (
        vanishing_gradients(["gru"], length=5, width=4, seeds=n, forget=None) for n in (1, 2)
    )
    assert "random words, for one seed." in flat_text(one)
    assert "mean of 2 seeds" in flat_text(two)
    assert "माध्य" not in flat_text(one, "hi")


def test_the_same_seeds_give_the_same_numbers():
    one, other = (
        vanishing_gradients(["gru"], length=5, width=4, seeds=2, forget=None) for _ in range(2)
    )
    assert torch.equal(one.cells[0].norms, other.cells[0].norms)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"cells": ["qrnn"]}, "cell is 'qrnn': give one of lstm, gru, rnn"),
        ({"cells": []}, "cells: give at least one of rnn, gru, lstm"),
        ({"length": 1}, "length is 1: give a whole number of at least 2"),
        ({"seeds": 0}, "seeds is 0"),
    ],
)
def test_wrong_arguments_are_errors(given, message):
    with pytest.raises(UserError, match=message):
        vanishing_gradients(**given)
