"""Scheduled sampling: decoder inputs from the reference, from the model, or mixed."""

import pytest
import torch

from dhyan.batch import Batch, Tokens
from dhyan.special_tokens import BOS, EOS
from dhyan.training.scheduled_sampling import decode_stepwise, decode_with_forcing
from tests.laws.family import VOCABULARY, build

MODELS = [
    ("gru", "bahdanau-additive"),
    ("bi-lstm", "luong-direct"),
    ("gru", "luong-general"),
    ("transformer", "transformer"),
    ("gru", "transformer"),
]


@pytest.fixture(params=MODELS, ids="+".join)
def model(request):
    torch.manual_seed(0)
    return build(*request.param).eval()


@pytest.fixture
def batch():
    rows = torch.randint(4, VOCABULARY, (3, 6)).tolist()
    source = Tokens.pad([[*row[:n], EOS] for row, n in zip(rows, (6, 3, 5), strict=True)])
    target = Tokens.pad([[BOS, *row[:n], EOS] for row, n in zip(rows, (2, 6, 4), strict=True)])
    return Batch(source, target)


def test_stepwise_teacher_forcing_equals_a_parallel_pass(model, batch):
    forced = torch.ones_like(batch.inputs.mask)
    torch.testing.assert_close(
        decode_stepwise(model, batch, forced), model(batch), atol=1e-5, rtol=1e-4
    )
    assert torch.equal(decode_with_forcing(model, batch, 1.0), model(batch))


def test_free_running_continues_from_the_most_likely_token(model, batch):
    logits = decode_with_forcing(model, batch, 0.0)
    state, token = model.start(batch.source), batch.inputs.ids[:, 0]
    for position in range(logits.shape[1]):
        expected, state = model.step(token, state)
        torch.testing.assert_close(logits[:, position], expected)
        token = expected.argmax(dim=-1)


def test_each_token_is_forced_independently(model, batch):
    forced = torch.zeros_like(batch.inputs.mask)
    forced[1, 2] = True
    free_running, partly_forced = (
        decode_with_forcing(model, batch, 0.0),
        decode_stepwise(model, batch, forced),
    )
    other = free_running[1, 1].argmax() != batch.inputs.ids[1, 2]
    assert torch.equal(free_running[[0, 2]], partly_forced[[0, 2]])
    assert torch.equal(free_running[1, :2], partly_forced[1, :2])
    assert torch.equal(free_running[1, 2], partly_forced[1, 2]) != bool(other)


def test_forced_tokens_follow_from_the_seed_and_have_the_probability(monkeypatch, batch):
    masks, model = [], build("gru", "luong-general")

    def record(model, batch, forced):
        masks.append(forced)
        return model(batch)

    monkeypatch.setattr("dhyan.training.scheduled_sampling.decode_stepwise", record)
    long_batch = Batch(batch.source, Tokens.pad([[BOS, *[5] * 100, EOS]] * 3))
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        decode_with_forcing(model, long_batch, 0.3)
    assert torch.equal(masks[0], masks[1])
    assert not torch.equal(masks[0], masks[2])
    assert 0.2 < masks[0].float().mean() < 0.4


def test_every_weight_gets_a_gradient_without_teacher_forcing(model, batch):
    decode_with_forcing(model, batch, 0.5).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
