"""Our recurrent encoders against `torch.nn`, sentence by sentence without padding."""

import pytest
import torch
from torch import nn

from dhyan import config
from dhyan.batch import Tokens
from dhyan.models.build import build_encoder
from dhyan.models.recurrent_layers import Recurrence

THEIRS = {"lstm": nn.LSTM, "gru": nn.GRU, "rnn": nn.RNN}
SOURCE = Tokens.pad([[4, 5, 6, 7, 2], [8, 2], [5, 9, 2]])


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("layers", [1, 3])
@pytest.mark.parametrize("cell", THEIRS)
def test_an_encoder_equals_pytorchs_rnn(cell, layers, bidirectional, backwards):
    torch.manual_seed(0)
    chosen = config.RNNEncoder(
        cell=cell, embedding_width=6, width=5, layers=layers, bidirectional=bidirectional,
        reverse_source=backwards, dropout=0.0,
    )  # fmt: skip
    recipe = config.Recipe(encoder=chosen, decoder=config.RNNDecoder())
    ours = build_encoder(recipe, 12).eval()
    theirs = THEIRS[cell](6, 5, layers, batch_first=True, bidirectional=bidirectional)
    theirs.load_state_dict(ours.rnn.state_dict())
    with torch.no_grad():
        encoded = ours(SOURCE)
        for row, length in enumerate(SOURCE.lengths.tolist()):
            words = ours.token_embedding(SOURCE.ids[row : row + 1, :length])
            read = words.flip(1) if backwards else words
            states, last = theirs(read)
            expected = states.flip(1) if backwards else states
            torch.testing.assert_close(encoded.states[row, :length], expected[0])
            parts = last if isinstance(last, tuple) else (last,)
            summary = torch.cat([part[:, 0].flatten() for part in parts])
            torch.testing.assert_close(encoded.summary[row].flatten(), summary)


@pytest.mark.parametrize("cell", THEIRS)
def test_steps_equal_pytorchs_rnn(cell):
    torch.manual_seed(0)
    ours = Recurrence(cell, 4, 5, 2)
    theirs = THEIRS[cell](4, 5, 2, batch_first=True)
    theirs.load_state_dict(ours.rnn.state_dict())
    inputs, state = torch.randn(3, 6, 4), torch.zeros(3, *ours.state_shape)
    outputs = []
    with torch.no_grad():
        for step_input in inputs.split(1, dim=1):
            output, state = ours(step_input, state)
            outputs.append(output)
        torch.testing.assert_close(torch.cat(outputs, 1), theirs(inputs)[0])
