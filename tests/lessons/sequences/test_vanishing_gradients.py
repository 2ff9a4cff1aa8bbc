"""Gradients by distance."""

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.sequences.vanishing_gradients import gradient_norms, vanishing_gradients


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


def test_one_backward_pass_gives_the_norm_of_the_jacobian():
    torch.manual_seed(3)
    layer = torch.nn.RNN(3, 3, batch_first=True).double()
    words = torch.randn(5, 3, dtype=torch.float64)
    jacobian = torch.autograd.functional.jacobian(lambda x: layer(x.unsqueeze(0))[0][0, -1], words)
    by_distance = jacobian.square().sum(dim=(0, 2)).sqrt().flip(0)
    torch.testing.assert_close(gradient_norms("rnn", 4, 3, 3), by_distance)


def test_an_lstm_fades_less_than_a_plain_rnn_and_both_fade():
    result = vanishing_gradients(length=20, width=16, seeds=4)
    plain, gru, lstm, opened = result.cells
    assert plain.factor < lstm.factor < opened.factor < 1
    assert plain.factor < gru.factor < 1
    assert plain.mean[-1] < lstm.mean[-1]
    assert "more slowly in an LSTM holds here" in flat_text(result)
    assert "यहाँ सही है" in flat_text(result, "hi")


def test_an_open_forget_gate_preserves_the_gradient():
    [_, lstm] = vanishing_gradients(["rnn"], length=20, width=8, seeds=2, forget=8.0).cells
    assert lstm.thousandth is None
    assert lstm.factor > 0.95


def test_the_verdict_follows_the_numbers():
    result = vanishing_gradients(length=10, width=8, seeds=1, forget=None)
    names = [cell.name for cell in result.cells]
    swapped = dict(zip(("LSTM", "GRU", "RNN"), names, strict=True))
    swapped_result = type(result)(
        tuple(type(cell)(swapped[cell.name], cell.norms) for cell in result.cells), 10, 8, 1
    )
    assert ("LSTM holds" in flat_text(result)) != ("LSTM holds" in flat_text(swapped_result))


def test_one_seed_is_no_mean():
    single, several = (
        vanishing_gradients(["gru"], length=5, width=4, seeds=n, forget=None) for n in (1, 2)
    )
    assert "random words, for one seed." in flat_text(single)
    assert "mean of 2 seeds" in flat_text(several)
    assert "माध्य" not in flat_text(single, "hi")


def test_the_same_seeds_give_the_same_numbers():
    first, other = (
        vanishing_gradients(["gru"], length=5, width=4, seeds=2, forget=None) for _ in range(2)
    )
    assert torch.equal(first.cells[0].norms, other.cells[0].norms)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"cells": ["qrnn"]}, "cell is 'qrnn': give one of lstm, gru, rnn"),
        ({"cells": []}, "cells: give at least one of rnn, gru, lstm"),
        ({"length": 1}, "length is 1: give a whole number of at least 2"),
        ({"seeds": 0}, "seeds is 0"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        vanishing_gradients(**arguments)
