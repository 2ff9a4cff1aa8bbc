"""Laws that hold for every attention."""

from contextlib import nullcontext

import pytest
import torch

from dhyan.attention import Attention, Memory, MultiHeadAttention
from dhyan.kernels.backend import reference_kernels
from tests.laws.family import ATTENTIONS, GAUSSIAN_WINDOWS, RELATIVE, WIDTH


@pytest.fixture(params=ATTENTIONS)
def attention(request):
    torch.manual_seed(0)
    return ATTENTIONS[request.param]().eval()


@pytest.fixture
def mask(batch):
    return batch.source.mask


def random_query_and_states(attention, mask, queries=5):
    generator = torch.Generator().manual_seed(2)
    states = torch.randn(*mask.shape, WIDTH, generator=generator)
    return torch.randn(len(mask), queries, WIDTH, generator=generator), states


def test_it_is_an_attention(attention):
    assert isinstance(attention, Attention)


def test_weights_are_a_distribution_over_real_positions(attention, mask, request):
    query, states = random_query_and_states(attention, mask, queries=mask.shape[1])
    with reference_kernels():
        weights = attention(query, attention.remember(states, mask)).weights
    total = weights.sum(-1)
    if request.node.callspec.params["attention"] in GAUSSIAN_WINDOWS:
        assert (total > 0).all()
        assert (total < 1).all()
    else:
        torch.testing.assert_close(total, torch.ones_like(total))
    assert (weights >= 0).all()
    assert (weights * ~mask[:, None, None]).sum() == 0


def test_a_fully_masked_query_gets_zero_context(attention, mask):
    query, states = random_query_and_states(attention, mask)
    nothing = torch.zeros_like(mask)
    memory = attention.remember(states, nothing)
    constant = attention(query, Memory(memory.keys, memory.values * 0, nothing)).context
    for fused in (True, False):
        if fused:
            attended = attention(query, memory)
        else:
            with reference_kernels():
                attended = attention(query, memory)
                assert (attended.weights == 0).all()
        assert attended.context.isfinite().all()
        torch.testing.assert_close(attended.context, constant)


@pytest.mark.parametrize("attention", sorted(ATTENTIONS.keys() - RELATIVE), indirect=True)
def test_padding_changes_nothing(attention, mask):
    """Not of one whose queries stand at the end: what they see depends on where the memory ends."""
    query, states = random_query_and_states(attention, mask)
    together = attention(query, attention.remember(states, mask)).context
    for row, length in enumerate(mask.sum(1).tolist()):
        real = attention.remember(states[row : row + 1, :length], mask[row : row + 1, :length])
        alone = attention(query[row : row + 1], real).context
        torch.testing.assert_close(alone[0], together[row], atol=1e-5, rtol=1e-4)


def test_a_fused_kernel_equals_the_definition_gradients_too(attention, mask):
    query, states = random_query_and_states(attention, mask, queries=mask.shape[1])

    def run():
        inputs = [x.clone().requires_grad_() for x in (query, states)]
        context = attention(inputs[0], attention.remember(inputs[1], mask)).context
        weighing = torch.linspace(-1, 1, context.numel()).view_as(context)
        return context, torch.autograd.grad((context * weighing).sum(), inputs, allow_unused=True)

    fused, fused_gradients = run()
    with reference_kernels():
        exact, exact_gradients = run()
    torch.testing.assert_close(fused, exact, atol=1e-5, rtol=1e-4)
    for ours, theirs in zip(fused_gradients, exact_gradients, strict=True):
        if theirs is None:
            assert ours is None
        else:
            torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_selecting_rows_and_attending_commute(attention, mask):
    query, states = random_query_and_states(attention, mask)
    memory, rows = attention.remember(states, mask), torch.tensor([2, 0, 0, 3])
    attended_first = attention(query, memory).context[rows]
    torch.testing.assert_close(attention(query[rows], memory.select(rows)).context, attended_first)


@pytest.mark.parametrize("attention", sorted(ATTENTIONS.keys() - RELATIVE), indirect=True)
def test_queries_one_by_one_equal_all_at_once(attention, mask):
    query, states = random_query_and_states(attention, mask)
    memory, contexts = attention.remember(states, mask), []
    for single_query in query.split(1, dim=1):
        context, _, memory = attention(single_query, memory)
        contexts.append(context)
    together = attention(query, attention.remember(states, mask))
    torch.testing.assert_close(torch.cat(contexts, 1), together.context, atol=1e-5, rtol=1e-4)
    assert memory.steps == together.memory.steps == query.shape[1]
    if memory.coverage is not None:
        torch.testing.assert_close(memory.coverage, together.memory.coverage)
        torch.testing.assert_close(memory.last_weights, together.memory.last_weights)


def test_dropout_acts_in_training_only_and_keeps_the_mean(mask):
    torch.manual_seed(0)
    attention = MultiHeadAttention(WIDTH, heads=4, dropout=0.5)
    query, states = random_query_and_states(attention, mask)
    exact = attention.eval()(query, attention.remember(states, mask)).context
    repeated = query.repeat(500, 1, 1)
    memory = attention.remember(states.repeat(500, 1, 1), mask.repeat(500, 1))
    for defined in (nullcontext, reference_kernels):
        with defined(), torch.no_grad():
            same = attention.eval()(repeated, memory).context
            assert torch.allclose(same, exact.repeat(500, 1, 1), atol=1e-5)
            dropped = [attention.train()(repeated, memory).context for _ in range(6)]
        assert not torch.equal(dropped[0], dropped[1])
        mean = torch.stack(dropped).unflatten(1, (500, -1)).mean((0, 1))
        assert (mean - exact).abs().max() < 0.1


def test_remembering_in_two_parts_is_remembering_once(attention, mask):
    query, states = random_query_and_states(attention, mask)
    once = attention.remember(states, mask)
    early = attention.remember(states[:, :3], mask[:, :3])
    twice = early.append(attention.remember(states[:, 3:], mask[:, 3:]))
    torch.testing.assert_close(
        attention(query, twice).context, attention(query, once).context, atol=1e-5, rtol=1e-4
    )
