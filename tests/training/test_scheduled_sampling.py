"""What the decoder is told: the correct words, its own, or some of each."""

import pytest
import torch

from dhyan.batch import Batch, Tokens
from dhyan.special_tokens import BOS, EOS
from dhyan.training.scheduled_sampling import decode_stepwise, decode_with_forcing
from tests.laws.family import VOCABULARY, build

KINDS = [
    ("gru", "bahdanau-additive"),
    ("bi-lstm", "luong-direct"),
    ("gru", "luong-general"),
    ("transformer", "transformer"),
    ("gru", "transformer"),
]


@pytest.fixture(params=KINDS, ids="+".join)
def model(request):
    torch.manual_seed(0)
    return build(*request.param).eval()


@pytest.fixture
def batch():
    rows = torch.randint(4, VOCABULARY, (3, 6)).tolist()
    source = Tokens.pad([[*row[:n], EOS] for row, n in zip(rows, (6, 3, 5), strict=True)])
    target = Tokens.pad([[BOS, *row[:n], EOS] for row, n in zip(rows, (2, 6, 4), strict=True)])
    return Batch(source, target)


def test_stepwise_teacher_forcing_equals_one_pass(model, batch):
    told = torch.ones_like(batch.inputs.mask)
    torch.testing.assert_close(
        decode_stepwise(model, batch, told), model(batch), atol=1e-5, rtol=1e-4
    )
    assert torch.equal(decode_with_forcing(model, batch, 1.0), model(batch))


def test_free_running_continues_from_the_most_likely_token(model, batch):
    logits = decode_with_forcing(model, batch, 0.0)
    state, word = model.start(batch.source), batch.inputs.ids[:, 0]
    for place in range(logits.shape[1]):
        wanted, state = model.step(word, state)
        torch.testing.assert_close(logits[:, place], wanted)
        word = wanted.argmax(dim=-1)


def test_each_token_is_forced_independently(model, batch):
    told = torch.zeros_like(batch.inputs.mask)
    told[1, 2] = True
    nothing, something = decode_with_forcing(model, batch, 0.0), decode_stepwise(model, batch, told)
    other = nothing[1, 1].argmax() != batch.inputs.ids[1, 2]
    assert torch.equal(nothing[[0, 2]], something[[0, 2]])
    assert torch.equal(nothing[1, :2], something[1, :2])
    assert torch.equal(nothing[1, 2], something[1, 2]) != bool(other)


def test_forced_tokens_follow_from_the_seed_and_have_the_probability(monkeypatch, batch):
    seen, model = [], build("gru", "luong-general")

    def spied(model, batch, told):
        seen.append(told)
        return model(batch)

    monkeypatch.setattr("dhyan.training.scheduled_sampling.decode_stepwise", spied)
    many = Batch(batch.source, Tokens.pad([[BOS, *[5] * 100, EOS]] * 3))
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        decode_with_forcing(model, many, 0.3)
    assert torch.equal(seen[0], seen[1])
    assert not torch.equal(seen[0], seen[2])
    assert 0.2 < seen[0].float().mean() < 0.4


def test_every_weight_gets_a_gradient_without_teacher_forcing(model, batch):
    decode_with_forcing(model, batch, 0.5).sum().backward()
    assert all(p.grad is not None for p in model.parameters())
