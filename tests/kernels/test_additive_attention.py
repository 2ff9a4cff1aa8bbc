"""Additive attention by kernels equals its definition, gradients too."""

import pytest
import torch

from dhyan.attention import AdditiveScore, CoverageScore, MultiHeadAttention, SingleHeadAttention
from dhyan.attention.masks import causal
from dhyan.kernels import reference
from dhyan.kernels.backend import reference_kernels

pytest.importorskip("triton", reason="needs Triton, for its interpreter")

SHAPES = [  # B H T S A E
    (1, 1, 1, 1, 1, 1),
    (2, 1, 1, 7, 17, 5),
    (2, 2, 3, 5, 8, 3),
    (1, 1, 17, 63, 33, 9),
    (1, 2, 37, 2, 31, 4),
    (3, 1, 5, 40, 2, 8),
]


def random_inputs(shape, dtype=torch.float32, seed=0):
    batch, heads, queries, positions, width, breadth = shape
    generator = torch.Generator().manual_seed(seed)

    def random(*sizes):
        return torch.randn(*sizes, generator=generator).to(dtype)

    return (
        random(batch, heads, queries, width),
        random(batch, heads, positions, width),
        random(batch, heads, positions, breadth),
        random(width),
        torch.rand(batch, 1, queries, positions, generator=generator) > 0.3,
    )


def definition(query, keys, values, energy, mask):
    return reference.attend(reference.additive_scores(query, keys, energy), values, mask)[0]


def with_gradients(function, tensors, *rest):
    """The result of a function and the gradients of a random projection of it."""
    inputs = [tensor.detach().clone().requires_grad_() for tensor in tensors]
    result = function(*inputs, *rest)
    generator = torch.Generator().manual_seed(9)
    upstream = torch.randn(result.shape, generator=generator, dtype=torch.float64)
    result.backward(upstream.to(result.dtype))
    return [result.detach(), *(tensor.grad for tensor in inputs)]


def assert_near(result, exact, half):
    """As near to the exact numbers as plain PyTorch comes in the same precision, or twice that."""
    slack = max(1e-5, torch.finfo(half[0].dtype).eps)
    for ours, expected, theirs in zip(result, exact, half, strict=True):
        assert ours.dtype == theirs.dtype
        assert ours.shape == theirs.shape
        allowed = 2 * (theirs.double() - expected).abs().max() + slack * (1 + expected.abs().max())
        assert (ours.double() - expected).abs().max() <= allowed


@pytest.mark.parametrize("shape", SHAPES)
def test_scores_equal_their_definition(shape):
    from dhyan.kernels.triton.additive_attention import additive_scores

    query, keys, _, energy, _ = random_inputs(shape)
    exact = with_gradients(reference.additive_scores, [x.double() for x in (query, keys, energy)])
    result = with_gradients(additive_scores, [query, keys, energy])
    for ours, expected in zip(result, exact, strict=True):
        assert ours.dtype == torch.float32
        assert (ours.double() - expected).abs().max() <= 1e-6 * (10 + expected.abs().max())


@pytest.mark.parametrize("enough", [0, 10**9])
def test_scores_do_not_depend_on_the_tile_size(enough, monkeypatch):
    from dhyan.kernels.triton import additive_scores as kernels

    monkeypatch.setattr(kernels, "ENOUGH_PROGRAMS", enough)
    query, keys, _, energy, _ = random_inputs((2, 1, 40, 70, 9, 1))
    exact = reference.additive_scores(query.double(), keys.double(), energy.double())
    result = kernels.pairwise_scores(query[:, 0], keys[:, 0], energy)
    torch.testing.assert_close(result, exact[:, 0].float(), atol=1e-5, rtol=1e-5)


def test_gradients_do_not_depend_on_the_group_size(monkeypatch):
    from dhyan.kernels.triton import additive_scores as kernels
    from dhyan.kernels.triton.additive_attention import additive_attention

    *tensors, mask = random_inputs((5, 1, 6, 9, 8, 3))
    at_once = with_gradients(additive_attention, tensors, mask)
    monkeypatch.setattr(kernels, "MAX_EXPONENTIALS", 2 * 8 * 13)
    for grouped, whole in zip(
        with_gradients(additive_attention, tensors, mask), at_once, strict=True
    ):
        assert torch.equal(grouped, whole)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_the_context_equals_its_definition(shape, dtype):
    from dhyan.kernels.triton.additive_attention import additive_attention

    *tensors, mask = random_inputs(shape, dtype)
    exact = with_gradients(definition, [tensor.double() for tensor in tensors], mask)
    half = with_gradients(definition, tensors, mask)
    assert_near(with_gradients(additive_attention, tensors, mask), exact, half)
    with torch.no_grad():
        alone = additive_attention(*tensors, mask)
    assert_near([alone], exact[:1], half[:1])


@pytest.mark.parametrize("size", [5.0, 12.0, 30.0])
def test_large_inputs_saturate_and_cancel(size):
    from dhyan.kernels.triton.additive_attention import additive_scores

    query = torch.tensor([size, -size, 0.0, size]).repeat(1, 2).expand(5, 8).clone()
    keys = torch.tensor([-size, size, 1.0, size, -size, size, 1.0, -3.0]).expand(6, 8).clone()
    query += torch.randn(5, 8)
    energy = torch.randn(8)
    exact = with_gradients(reference.additive_scores, [x.double() for x in (query, keys, energy)])
    result = with_gradients(additive_scores, [query, keys, energy])
    for ours, expected in zip(result, exact, strict=True):
        assert (ours.double() - expected).abs().max() <= 3e-6 * (1 + size)


def test_huge_inputs_stay_finite():
    from dhyan.kernels.triton.additive_attention import additive_scores

    query = torch.tensor([[1e4, -1e4, 300.0], [0.0, 50.0, -torch.inf]])
    keys = torch.tensor([[1e3, -10.0, 1.0], [10.0, 20.0, -28.0]])
    energy = torch.tensor([1.0, 2.0, 4.0])
    result = with_gradients(additive_scores, [query, keys, energy])
    expected = with_gradients(reference.additive_scores, [query, keys, energy])
    for ours, theirs in zip(result, expected, strict=True):
        torch.testing.assert_close(ours, theirs)


def test_nan_inputs_give_nan():
    from dhyan.kernels.triton.additive_attention import additive_attention

    query, keys, values, energy, mask = random_inputs((1, 1, 5, 4, 6, 3))
    query[0, 0, 2, 3] = torch.nan
    mask[:] = True
    context = additive_attention(query, keys, values, energy, mask)
    assert context[0, 0, 2].isnan().all()
    assert context[0, 0, [0, 1, 3, 4]].isfinite().all()


@pytest.mark.parametrize("queries", [1, 6])
def test_a_fully_masked_query_has_zero_context_and_gradient(queries):
    from dhyan.kernels.triton.additive_attention import additive_attention

    *tensors, mask = random_inputs((2, 1, queries, 5, 7, 3))
    mask[0] = False
    context, *gradients = with_gradients(additive_attention, tensors, mask)
    assert (context[0] == 0).all()
    assert all((tensor[0] == 0).all() for tensor in gradients[:3])
    assert all(tensor.isfinite().all() for tensor in gradients)
    with torch.no_grad():
        assert (additive_attention(*tensors, mask)[0] == 0).all()


@pytest.mark.parametrize("lead", [(1, 1), (2, 1), (1, 3), (2, 3)])
@pytest.mark.parametrize("queries", [1, 6])
def test_a_mask_broadcasts_over_rows_and_heads(lead, queries):
    from dhyan.kernels.triton.additive_attention import additive_attention

    *tensors, _ = random_inputs((2, 3, queries, 5, 7, 3))
    mask = torch.rand(*lead, 1, 5).expand(*lead, queries, 5) > 0.4
    expected = with_gradients(definition, tensors, mask)
    for ours, theirs in zip(
        with_gradients(additive_attention, tensors, mask), expected, strict=True
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
    with torch.no_grad():
        torch.testing.assert_close(
            additive_attention(*tensors, mask), expected[0], atol=1e-5, rtol=1e-4
        )


@pytest.mark.parametrize("queries", [1, 6])
def test_heads_may_share_keys(queries):
    from dhyan.kernels.triton.additive_attention import additive_attention

    query, _, _, energy, mask = random_inputs((2, 3, queries, 5, 7, 3))
    _, keys, values, _, _ = random_inputs((2, 1, queries, 5, 7, 3))
    tensors = [query, keys, values, energy]

    def spread(query, keys, values, energy, mask):
        return definition(query, keys.expand(2, 3, 5, 7), values.expand(2, 3, 5, 3), energy, mask)

    expected = with_gradients(spread, tensors, mask)
    for ours, theirs in zip(
        with_gradients(additive_attention, tensors, mask), expected, strict=True
    ):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("queries", [1, 6])
def test_dtypes_may_differ(queries):
    from dhyan.kernels.triton.additive_attention import additive_attention

    *tensors, mask = random_inputs((2, 1, queries, 5, 7, 3))
    query, keys, values, energy = tensors
    mixed = [query.bfloat16(), keys, values.half(), energy]
    result = with_gradients(additive_attention, mixed, mask)
    assert [tensor.dtype for tensor in result] == [
        torch.float16, torch.bfloat16, torch.float32, torch.float16, torch.float32,
    ]  # fmt: skip
    for ours, theirs in zip(result, with_gradients(definition, tensors, mask), strict=True):
        torch.testing.assert_close(ours.float(), theirs, atol=0.05, rtol=0.05)


def test_the_same_call_gives_the_same_bits():
    from dhyan.kernels.triton.additive_attention import additive_attention

    *tensors, mask = random_inputs((2, 1, 9, 5, 7, 3))
    first, second = (with_gradients(additive_attention, tensors, mask) for _ in range(2))
    assert all(torch.equal(a, b) for a, b in zip(first, second, strict=True))


@pytest.mark.parametrize(
    "attention",
    [
        lambda: SingleHeadAttention(AdditiveScore(6, 6, 5)),
        lambda: SingleHeadAttention(AdditiveScore(6, 6, 5), mask=causal),
        lambda: SingleHeadAttention(AdditiveScore(6, 6, 5), need_weights=True),
        lambda: SingleHeadAttention(CoverageScore(6, 6, 5, filters=2, radius=1)),
        lambda: MultiHeadAttention(6, 2, score=AdditiveScore(3, 3, 4)),
        lambda: MultiHeadAttention(6, 2, kv_heads=1, score=AdditiveScore(3, 3, 4)),
    ],
)
@pytest.mark.parametrize("queries", [1, 4])
def test_attention_modules_equal_their_definition(attention, queries):
    torch.manual_seed(1)
    attention = attention()
    mask = torch.tensor([[True] * 5, [True, True, False, False, False]])
    query, states = torch.randn(2, queries, 6), torch.randn(2, 5, 6)

    def run():
        inputs = [query.clone().requires_grad_(), states.clone().requires_grad_()]
        attention.zero_grad()
        context = attention(inputs[0], attention.remember(inputs[1], mask)).context
        context.square().sum().backward()
        return [context, *(tensor.grad for tensor in (*inputs, *attention.parameters()))]

    result = run()
    with reference_kernels():
        expected = run()
    with torch.no_grad():
        alone = attention(query, attention.remember(states, mask)).context
        torch.testing.assert_close(alone, expected[0].detach(), atol=1e-5, rtol=1e-4)
    for ours, theirs in zip(result, expected, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)


def test_weights_exist_if_needed_or_dropped_out():
    memory = torch.randn(2, 5, 6)
    mask = torch.ones(2, 5, dtype=torch.bool)
    for options in ({"need_weights": True}, {"dropout": 0.5}):
        attention = SingleHeadAttention(AdditiveScore(6, 6, 5), **options)
        attended = attention(torch.randn(2, 3, 6), attention.remember(memory, mask))
        assert attended.weights is not None
        torch.testing.assert_close(attended.weights.sum(-1), torch.ones(2, 1, 3))


def test_double_precision_and_empty_inputs_use_the_definition():
    attention = SingleHeadAttention(AdditiveScore(6, 6, 5)).double()
    states = torch.randn(2, 5, 6).double()
    attended = attention(states, attention.remember(states, torch.ones(2, 5, dtype=torch.bool)))
    assert attended.context.dtype == torch.float64
    assert attended.weights is not None
    attention = attention.float()
    none = attention.remember(torch.randn(2, 0, 6), torch.ones(2, 0, dtype=torch.bool))
    assert (attention(torch.randn(2, 3, 6), none).context == 0).all()
