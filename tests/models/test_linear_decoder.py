"""A linear-chain CRF written as a chain of steps: its probabilities are those of its definition."""

import itertools

import pytest
import torch

from dhyan.batch import Batch, Frames, Tokens
from dhyan.config import load_recipe
from dhyan.decoding.search import beam_search
from dhyan.models.build import build_model
from dhyan.models.interface import Encoded
from dhyan.models.linear_decoder import LinearDecoder
from dhyan.special_tokens import BOS, EOS
from tests.tiny_models import SIZES

WIDTH, SYMBOLS = 5, 6


def random_decoder(*, transitions):
    torch.manual_seed(2)
    decoder = LinearDecoder(WIDTH, SYMBOLS, transitions=transitions).eval()
    for weight in decoder.parameters():
        torch.nn.init.normal_(weight)
    return decoder


def encoded(lengths):
    frames = Frames.pad([torch.randn(length, WIDTH).numpy() for length in lengths])
    return Encoded(frames.values, frames.values.sum(1), frames)


@pytest.mark.parametrize("length", [1, 3])
def test_a_crf_has_the_probabilities_of_its_definition(length):
    decoder, source = random_decoder(transitions=True), encoded([length, 4])
    emission = torch.cat([decoder.emission(source.states[0, :length]), decoder.end[None]])
    transitions = decoder.token_embedding.weight
    sequences = list(itertools.product(range(SYMBOLS), repeat=length + 1))

    def score(sequence):
        before = [BOS, *sequence]
        return sum(
            float(emission[t, symbol] + transitions[before[t], symbol])
            for t, symbol in enumerate(sequence)
        )

    with torch.no_grad():
        scores = torch.tensor([score(sequence) for sequence in sequences])
    wanted = scores - scores.logsumexp(0)
    inputs = torch.tensor([[BOS, *sequence[:-1]] for sequence in sequences])
    state = decoder.start(source).select(torch.zeros(len(sequences), dtype=torch.long))
    logits, _ = decoder(inputs, state)
    chosen = torch.tensor(sequences).unsqueeze(-1)
    found = logits.log_softmax(-1).gather(-1, chosen).sum((1, 2))
    torch.testing.assert_close(found, wanted, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("transitions", [False, True])
def test_one_step_at_a_time_is_the_same(transitions):
    decoder = random_decoder(transitions=transitions)
    ids = torch.tensor([[BOS, 4, 5, 4], [BOS, 5, 5, 3]])
    state = decoder.start(encoded([3, 2]))
    together, _ = decoder(ids, state)
    steps = []
    for t in range(ids.shape[1]):
        logits, state = decoder(ids[:, t : t + 1], state)
        steps.append(logits)
    torch.testing.assert_close(torch.cat(steps, dim=1), together)


def test_without_transitions_no_output_depends_on_another():
    decoder = random_decoder(transitions=False)
    state = decoder.start(encoded([4]))
    first, _ = decoder(torch.tensor([[BOS, 4, 5]]), state)
    second, _ = decoder(torch.tensor([[BOS, 5, 3]]), state)
    assert torch.equal(first, second)


@pytest.mark.parametrize("transitions", [False, True])
def test_it_is_built_from_a_recipe_searched_and_trained(transitions):
    settings = {
        **{key: value for key, value in SIZES["rnn"].items() if key.startswith("encoder")},
        "encoder.kind": "rnn",
        "decoder.kind": "linear",
        "decoder.transitions": transitions,
    }
    model = build_model(load_recipe("numbers", settings), 9, SYMBOLS).eval()
    assert model.attentions() == []
    source = Tokens.pad([[5, 6, EOS], [7, EOS]])
    for hypotheses in beam_search(model, source, beam=3, max_length=4):
        assert len(hypotheses) == 3
    target = Tokens.pad([[BOS, 4, 5, EOS], [BOS, 4, EOS]])
    model(Batch(source, target)).sum().backward()
    trained = {name for name, weight in model.named_parameters() if weight.grad is not None}
    assert {name for name, _ in model.named_parameters()} == trained


def test_transitions_are_for_tags():
    with pytest.raises(ValueError, match="for tags"):
        LinearDecoder(WIDTH, 10_000, transitions=True)
