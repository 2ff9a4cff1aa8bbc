"""Attention computed by hand, to the digit, as in the lecture notes."""

import math

import pytest
import torch

import dhyan
from dhyan.attention import (
    AdditiveScore,
    MultiHeadAttention,
    SingleHeadAttention,
    causal,
    parameter_free_attention,
)
from dhyan.batch import Tokens
from dhyan.kernels.backend import reference_kernels
from dhyan.kernels.reference import attend, dot_scores, scaled_dot_scores
from dhyan.training.loss import cross_entropy

close = torch.testing.assert_close


def table(rows, columns, digits=3):
    return {"actual": rows, "expected": torch.tensor(columns), "atol": 0.6 * 10**-digits, "rtol": 0}


def fixed_weights(weights):
    """A score whose softmax is exactly this table."""
    return lambda query, keys: torch.tensor(weights).log()


MONEY = [[0.7, 0.2, 0.1], [0.25, 0.7, 0.05], [0.1, 0.2, 0.7]]
RIVER = [[0.8, 0.15, 0.05], [0.2, 0.78, 0.02], [0.4, 0.01, 0.59]]


def test_a_word_is_a_mix_of_its_sentence():
    money, river, bank, third = torch.randn(4, 5)
    for weights, first in ((MONEY, money), (RIVER, river)):
        words = torch.stack([first, bank, third])
        attended = dhyan.attend(words, words, words, score=fixed_weights(weights))
        close(attended.weights.sum(-1), torch.ones(3))
        for row, (a, b, c) in zip(attended.context, weights, strict=True):
            close(row, a * first + b * bank + c * third)
    with_money = dhyan.attend(
        [[0.0]] * 3, [[0.0]] * 3, [[1.0], [2], [3]], score=fixed_weights(MONEY)
    )
    with_river = dhyan.attend(
        [[0.0]] * 3, [[0.0]] * 3, [[1.0], [2], [3]], score=fixed_weights(RIVER)
    )
    close(**table(with_money.context[1], [0.25 + 1.4 + 0.15]))
    close(**table(with_river.context[1], [0.2 + 1.56 + 0.06]))


def test_without_softmax_the_mix_is_a_sum_of_products():
    x = torch.randn(3, 4)
    bank = sum((x[1] @ x[j]) * x[j] for j in range(3))
    close((dot_scores(x, x) @ x)[1], bank)


def test_parameter_free_self_attention_is_softmax_x_xt_x():
    x = torch.randn(1, 3, 4)
    attention = parameter_free_attention()
    context = attention(x, attention.remember(x, torch.ones(1, 3, dtype=torch.bool))).context
    close(context, (x @ x.transpose(1, 2)).softmax(-1) @ x)
    close(dhyan.attend(x, x, x, score="dot").context, context)
    assert not list(attention.parameters())


def test_without_positions_order_does_not_matter():
    x, order = torch.randn(1, 5, 4), torch.tensor([3, 0, 4, 1, 2])
    attention, real = parameter_free_attention(), torch.ones(1, 5, dtype=torch.bool)
    context = attention(x, attention.remember(x, real)).context
    mixed = x[:, order]
    close(attention(mixed, attention.remember(mixed, real)).context, context[:, order])


def test_a_dictionary_is_sharp_attention():
    keys = torch.eye(3)
    attended = dhyan.attend(keys[:1] * 100, keys, [[2.0], [3], [4]], score="dot")
    close(attended.context, torch.tensor([[2.0]]))


def test_the_cat_sat():
    x = [[1, 0, 1, 0], [0, 1, 0, 1], [1, 1, 1, 1]]
    words = torch.tensor(x, dtype=torch.float)
    close(dot_scores(words, words), torch.tensor([[2.0, 0, 2], [0, 2, 2], [2, 2, 4]]))
    attended = dhyan.attend(x, x, x)
    weights = [[0.422, 0.155, 0.422], [0.155, 0.422, 0.422], [0.212, 0.212, 0.576]]
    close(**table(attended.weights, weights))
    outputs = [[0.845, 0.578, 0.845, 0.578], [0.578, 0.845, 0.578, 0.845], [0.788] * 4]
    close(**table(attended.context, outputs))


MONEY_BANK = torch.tensor([[2.0, 7.0], [9.0, 3.0]])
W_Q = torch.tensor([[2.0, 1.0], [1.0, 2.0]])
W_K = torch.tensor([[3.0, 4.0], [5.0, 1.0]])
W_V = torch.tensor([[4.0, 1.0], [2.0, 1.0]])


def test_money_bank_is_saturated_even_when_scaled():
    q, k, v = MONEY_BANK @ W_Q, MONEY_BANK @ W_K, MONEY_BANK @ W_V
    close(q, torch.tensor([[11.0, 16], [21, 15]]))
    close(k, torch.tensor([[41.0, 15], [42, 39]]))
    close(v, torch.tensor([[22.0, 9], [42, 12]]))
    close(dot_scores(q, k), torch.tensor([[691.0, 1086], [1086, 1467]]))
    close(**table(dhyan.attend(q, k, v).weights, [[0.0, 1.0], [0.0, 1.0]]))


def test_a_tenth_of_money_bank_is_not_saturated():
    q, k, v = (MONEY_BANK / 10 @ w for w in (W_Q, W_K, W_V))
    close(dot_scores(q, k), torch.tensor([[6.91, 10.86], [10.86, 14.67]]))
    raw = dhyan.attend(q, k, v, score="dot").weights
    close(**table(raw, [[0.019, 0.981], [0.022, 0.978]]))
    close(**table(dhyan.attend(q, k, v).weights, [[0.058, 0.942], [0.063, 0.937]]))


def test_a_swapped_query_and_key_would_show():
    w_k = torch.tensor([[3.0, 5.0], [4.0, 1.0]])
    q, k, v = (MONEY_BANK / 10 @ w for w in (W_Q, w_k, W_V))
    close(k, torch.tensor([[3.4, 1.7], [3.9, 4.8]]))
    close(dot_scores(q, k), torch.tensor([[6.46, 11.97], [9.69, 15.39]]))
    attended = dhyan.attend(q, k, v)
    close(**table(attended.weights, [[0.0199, 0.9801], [0.0175, 0.9825]], 4))
    close(**table(attended.context, [[4.1602, 1.1940], [4.1651, 1.1948]], 4))
    swapped = dhyan.attend(k, q, v).weights
    close(**table(swapped, [[0.0925, 0.9075], [0.0818, 0.9182]], 4))


def test_holds_in_the_module_too():
    attention = MultiHeadAttention(2, heads=1)
    w_k = torch.tensor([[3.0, 5.0], [4.0, 1.0]])
    maps = {"query": W_Q, "key": w_k, "value": W_V, "output": torch.eye(2)}
    with torch.no_grad():
        for name, weight in maps.items():
            getattr(attention, name).weight.copy_(weight.T)
            getattr(attention, name).bias.zero_()
    x = (MONEY_BANK / 10).unsqueeze(0)
    memory = attention.remember(x, torch.ones(1, 2, dtype=torch.bool))
    with reference_kernels():
        attended = attention(x, memory)
    for context in (attended.context, attention(x, memory).context):
        close(**table(context[0], [[4.1602, 1.1940], [4.1651, 1.1948]], 4))
    close(**table(attended.weights[0, 0], [[0.0199, 0.9801], [0.0175, 0.9825]], 4))


def test_the_variance_of_a_dot_product_grows_with_the_width_and_scaling_restores_it():
    for width in (4, 64, 256):
        q, k = torch.randn(2, 20_000, 1, width)
        raw = dot_scores(q, k).var()
        scaled = scaled_dot_scores(q, k).var()
        assert raw == pytest.approx(width, rel=0.05)
        assert scaled == pytest.approx(1, rel=0.05)
    spread = torch.arange(10.0, 80, 10)
    assert spread.var(correction=0) == pytest.approx(400)
    assert (spread / 10).var(correction=0) == pytest.approx(4)


@pytest.mark.parametrize(
    ("scores", "weights", "digits"),
    [
        ((6, 4), (0.881, 0.119), 3),
        ((3, 2), (0.731, 0.269), 3),
        ((4, 5), (0.269, 0.731), 3),
        ((1, 10), (0.0001, 0.9999), 4),
    ],
)
def test_large_scores_saturate_the_softmax(scores, weights, digits):
    values = torch.eye(2)
    context, _ = attend(torch.tensor([scores]).float(), values, torch.ones(1, 2, dtype=torch.bool))
    close(**table(context, [list(weights)], digits))


def test_values_may_be_wider_or_narrower_than_keys():
    for width in (1, 7):
        values = torch.randn(2, 5, width)
        attended = dhyan.attend(torch.randn(2, 3, 4), torch.randn(2, 5, 4), values)
        assert attended.context.shape == (2, 3, width)
        close(attended.context, attended.weights @ values)


HOW_ARE_YOU = [[0.2, 0.1, 0.7], [0.3, 0.2, 0.5], [0.6, 0.3, 0.1]]


def test_masked_before_the_softmax_the_rows_are_renormalised():
    zeros, words = torch.zeros(3, 2), torch.eye(3)
    attended = dhyan.attend(zeros, zeros, words, score=fixed_weights(HOW_ARE_YOU), causal=True)
    close(**table(attended.weights, [[1, 0, 0], [0.6, 0.4, 0], [0.6, 0.3, 0.1]]))


def test_masked_after_the_softmax_they_no_longer_sum_to_one():
    zeroed = torch.tensor(HOW_ARE_YOU).tril()
    close(**table(zeroed.sum(-1), [0.2, 0.5, 1.0]))


def test_no_future_token_leaks():
    attention = MultiHeadAttention(8, heads=2, mask=causal)
    x, real = torch.randn(1, 5, 8), torch.ones(1, 5, dtype=torch.bool)
    changed = x.clone()
    changed[:, 3:] += 1
    before = attention(x, attention.remember(x, real)).context
    after = attention(changed, attention.remember(changed, real)).context
    assert torch.equal(before[:, :3], after[:, :3])
    assert not torch.allclose(before[:, 3:], after[:, 3:])


def test_one_parallel_pass_equals_one_run_per_word_loss_and_gradients():
    attention = MultiHeadAttention(8, heads=2, mask=causal)
    x, real = torch.randn(1, 6, 8), torch.ones(1, 6, dtype=torch.bool)

    def gradients(outputs):
        loss = (outputs**2).sum()
        return loss, torch.autograd.grad(loss, list(attention.parameters()))

    together, in_parallel = gradients(attention(x, attention.remember(x, real)).context)
    one_by_one = [
        attention(x[:, t : t + 1], attention.remember(x[:, : t + 1], real[:, : t + 1])).context
        for t in range(6)
    ]
    apart, in_turn = gradients(torch.cat(one_by_one, dim=1))
    close(together, apart)
    for ours, theirs in zip(in_parallel, in_turn, strict=True):
        close(ours, theirs, atol=1e-5, rtol=1e-4)


def remembered(score, states):
    return SingleHeadAttention(score).remember(states[:, 0], torch.ones(states.shape[::2]) > 0)


def test_the_notes_additive_network_has_thirty_parameters_and_splits():
    score = AdditiveScore(4, 4, 3)
    assert sum(p.numel() for p in score.parameters()) == 30
    s, states = torch.randn(1, 1, 1, 4), torch.randn(1, 1, 4, 4)
    whole = torch.cat([score.query.weight, score.key.weight], dim=1)
    rows = torch.stack([torch.cat([s[0, 0, 0], h]) for h in states[0, 0]])
    by_hand = torch.tanh(rows @ whole.T + score.query.bias) @ score.energy
    close(score(s, remembered(score, states))[0, 0, 0], by_hand)
    one_by_one = [score(s, remembered(score, states[:, :, j : j + 1])) for j in range(4)]
    close(torch.cat(one_by_one, dim=-1)[0, 0, 0], by_hand)


def test_a_row_that_may_see_nothing_gives_zeros():
    mask = [[False, False], [True, False]]
    attended = dhyan.attend(torch.randn(2, 3), torch.randn(2, 3), torch.ones(2, 4), mask=mask)
    close(attended.context, torch.tensor([[0.0] * 4, [1.0] * 4]))
    close(attended.weights, torch.tensor([[0.0, 0.0], [1.0, 0.0]]))


def test_double_precision_stays_double():
    inputs = [
        torch.randn(*s, dtype=torch.double, requires_grad=True) for s in ((2, 3), (4, 3), (4, 2))
    ]
    assert dhyan.attend(*inputs).weights.dtype == torch.double
    assert torch.autograd.gradcheck(lambda *x: dhyan.attend(*x, causal=True).context, inputs)


def test_two_axes_and_batches_agree():
    q, k, v = torch.randn(6, 3, 4), torch.randn(6, 5, 4), torch.randn(6, 5, 2)
    together = dhyan.attend(q, k, v, mask=torch.arange(5) < 4)
    for row in range(6):
        alone = dhyan.attend(q[row], k[row], v[row], mask=torch.arange(5) < 4)
        close(alone.context, together.context[row])
    heads = dhyan.attend(*(x.unflatten(0, (2, 3)) for x in (q, k, v)), mask=torch.arange(5) < 4)
    close(heads.context.flatten(0, 1), together.context)


def test_a_causal_query_stands_at_the_end_of_the_memory():
    q, k = torch.randn(2, 4), torch.randn(5, 4)
    weights = dhyan.attend(q, k, k, causal=True).weights
    assert (weights[0] > 0).tolist() == [True] * 4 + [False]
    assert (weights[1] > 0).all()


def test_a_score_module_can_be_the_score():
    score = AdditiveScore(4, 4, 3)
    q, k = torch.randn(1, 1, 2, 4), torch.randn(1, 1, 5, 4)
    context = dhyan.attend(q, k, k, score=lambda q, k: score(q, remembered(score, k))).context
    attention, real = SingleHeadAttention(score), torch.ones(1, 5, dtype=torch.bool)
    close(context[0], attention(q[0], attention.remember(k[0], real)).context)


@pytest.mark.parametrize(
    ("arguments", "settings", "message"),
    [
        (([[1.0]], [[1.0]], [[1.0]]), {"score": "cosine"}, "no score 'cosine'"),
        (([[1.0]], [[1.0], [2.0]], [[1.0]]), {}, "2 keys but 1 values"),
        (([1.0], [[1.0]], [[1.0]]), {}, "at least two dimensions"),
        (([[1.0, 2.0]], [[1.0]], [[1.0]]), {}, "queries are 2 wide and keys 1"),
        (([[1.0]], [[[1.0]]], [[1.0]]), {}, "leading axes"),
        (([[1.0]], [[1.0]], [[1.0]]), {"mask": [[True] * 3]}, "does not broadcast"),
    ],
)
def test_wrong_arguments_are_errors(arguments, settings, message):
    with pytest.raises(ValueError, match=message):
        dhyan.attend(*arguments, **settings)


def test_the_loss_of_the_notes():
    probs = torch.tensor([[0.4, 0.6], [0.1, 0.9], [0.1, 0.9]])
    logits = torch.cat([torch.full((3, 4), -100.0), probs.log()], dim=-1).unsqueeze(0)
    labels = Tokens.pad([[4, 4, 4]])
    loss = cross_entropy(logits, labels, smoothing=0.0)
    assert float(loss) == pytest.approx(5.521, abs=1e-3)
    assert float(loss) / labels.count == pytest.approx(1.840, abs=1e-3)
    assert float(loss) / math.log(10) == pytest.approx(2.398, abs=1e-3)
