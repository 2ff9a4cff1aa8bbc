"""Kernels of a decoding step against their definitions."""

from dataclasses import fields

import pytest
import torch

from dhyan.kernels.backend import reference_kernels
from dhyan.kernels.decode import attention
from dhyan.kernels.decode.next_token import backtrace, beam_step, greedy_step
from dhyan.kernels.decode.residual_stream import (
    Linear,
    Norm,
    RowSums,
    add_norm,
    embed,
    layer_norm,
    linear,
    linear_add,
    linear_add_norm,
    norm_linear,
)
from dhyan.kernels.search_state import BeamSearchState, GreedySearchState
from dhyan.special_tokens import EOS

CPU = torch.device("cpu")
DTYPES = [torch.float32, torch.float16]  # Triton's interpreter has no products in bfloat16


def defined(function, *arguments, **options):
    """The definition, in single precision, on copies."""
    with reference_kernels():
        return function(
            *map(single, arguments), **{name: single(value) for name, value in options.items()}
        )


def single(value):
    if isinstance(value, Norm):
        return Norm(value.weight.float(), value.bias.float(), value.epsilon)
    if isinstance(value, torch.Tensor):
        return value.float() if value.is_floating_point() else value.clone()
    return value


def close(kernel, expected, dtype):
    scale = expected.abs().max().clamp(min=1)
    assert not kernel.isnan().any()
    assert (kernel.float() - expected).abs().max() <= scale * (
        1e-5 if dtype == torch.float32 else 2e-2
    )


def norm_of(width):
    return Norm(torch.rand(width) + 0.5, torch.randn(width), 1e-5)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("sentences", "beam", "heads", "kv_heads", "width", "capacity"),
    [(1, 1, 1, 1, 1, 8), (3, 1, 4, 2, 5, 40), (2, 3, 2, 2, 8, 70), (2, 2, 3, 1, 7, 300)],
)
def test_self_attention(sentences, beam, heads, kv_heads, width, capacity, dtype):
    rows = sentences * beam
    qkv = torch.randn(rows, (heads + 2 * kv_heads) * width).to(dtype)
    keys, values = torch.randn(2, rows + 1, kv_heads, capacity, width).to(dtype)
    steps = torch.tensor([0, capacity - 1, 37][:sentences], dtype=torch.int32)
    cache_rows = None
    if beam > 1:
        cache_rows = torch.randint(beam, (2, sentences, beam, capacity), dtype=torch.int8)
    caches = keys.float(), values.float()
    options = {"heads": heads, "scale": 0.7}
    with reference_kernels():
        expected = attention.self_attention(qkv.float(), *caches, steps, cache_rows, **options)
    result = attention.self_attention(qkv, keys, values, steps, cache_rows, **options)
    close(result, expected, dtype)
    assert torch.equal(keys.float(), caches[0])
    assert torch.equal(values.float(), caches[1])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize(
    ("queries", "heads", "kv_heads", "width", "capacity"),
    [(1, 2, 2, 8, 6), (1, 2, 1, 5, 70), (5, 3, 3, 7, 33), (17, 2, 1, 16, 70), (67, 1, 1, 4, 67)],
)
def test_cross_attention(queries, heads, kv_heads, width, capacity, dtype):
    query = torch.randn(3, queries, heads, width).to(dtype)
    memory = torch.randn(3, capacity, 2 * kv_heads, width).to(dtype)
    keys, values = memory.transpose(1, 2).split(kv_heads, dim=1)
    lengths = torch.tensor([1, 0, capacity], dtype=torch.int32)
    expected = defined(attention.cross_attention, query, keys, values, lengths, scale=0.5)
    result = attention.cross_attention(query, keys, values, lengths, scale=0.5)
    close(result, expected, dtype)
    assert not result[1].any()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("width", [1, 17, 64])
def test_embedding(width, dtype):
    embedding, position_vectors = torch.randn(9, width).to(dtype), torch.randn(5, width)
    tokens = torch.tensor([8, 0, 3, 3], dtype=torch.int32)
    steps = torch.tensor([4, 0], dtype=torch.int32)
    for norm in (None, norm_of(width)):
        arguments = (tokens, steps, embedding, position_vectors, norm)
        expected = defined(embed, *arguments, scale=3.0)
        for part, reference in zip(embed(*arguments, scale=3.0), expected, strict=True):
            close(part, reference, dtype)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("post_norm", [False, True])
@pytest.mark.parametrize("width", [2, 17, 64])
def test_add_norm(width, post_norm, dtype):
    residual, norm = torch.randn(3, width), norm_of(width)
    result, bias = torch.randn(3, width).to(dtype), torch.randn(width).to(dtype)
    reference = residual.clone()
    with reference_kernels():
        expected = add_norm(reference, result.float(), bias.float(), norm, post_norm=post_norm)
    close(add_norm(residual, result, bias, norm, post_norm=post_norm), expected, dtype)
    close(residual, reference, torch.float32)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("activation", ["none", "relu", "gelu"])
@pytest.mark.parametrize(
    ("rows", "width", "outputs"), [(1, 16, 3), (2, 67, 19), (3, 16, 5), (7, 67, 40), (33, 40, 70)]
)
def test_norm_linear_and_linear_add(rows, width, outputs, activation, dtype):
    """Embed, project from the residual, add to it, and project again."""
    embedding, position_vectors = torch.randn(9, width).to(dtype), torch.randn(4, width)
    tokens, steps = torch.randint(9, (rows,)).int(), torch.randint(4, (rows,)).int()
    into, out_of = linear_layer(width, outputs, dtype), linear_layer(outputs, width, dtype)
    plain = Norm(torch.ones(width), torch.zeros(width), 1e-5)

    def through():
        row_sums = RowSums.empty(rows, embedding)
        residual, _ = embed(
            tokens, steps, embedding, position_vectors, None, scale=3.0, row_sums=row_sums
        )
        result = norm_linear(residual, into, plain, row_sums, activation=activation)
        linear_add(residual, result, out_of, row_sums)
        return result, residual, norm_linear(residual, into, plain, row_sums, single_precision=True)

    with reference_kernels():
        assert RowSums.empty(rows, embedding) is None
        expected = through()
    for part, reference in zip(through(), expected, strict=True):
        close(part, reference.float(), dtype)


def test_norm_linear_with_weight_and_bias():
    residual, norm, out_of = torch.randn(2, 40), norm_of(40), linear_layer(40, 19, torch.float32)
    with reference_kernels():
        expected = norm_linear(residual, out_of, norm, None)
        hidden = layer_norm(residual, norm, like=out_of.weight)
    close(norm_linear(residual, out_of, norm, None), expected, torch.float32)
    close(layer_norm(residual, norm, like=out_of.weight), hidden, torch.float32)


def test_write_cache():
    keys_values, slots = torch.randn(3, 37, 2 * 2 * 3 * 5), torch.tensor([4, 0, 2])
    ours, theirs = torch.zeros(2, 2, 2, 5, 3, 40, 5)
    attention.write_cache(keys_values, slots, ours)
    with reference_kernels():
        attention.write_cache(keys_values, slots, theirs)
    assert torch.equal(ours, theirs)
    assert torch.equal(ours[1, 0, 4, 2, :37], keys_values[0, :, 40:45])


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("rows", [1, 2])
def test_linear_add_after_a_norm(rows, dtype):
    residual, result, before = torch.randn(rows, 40), torch.randn(rows, 19).to(dtype), norm_of(40)
    out_of = linear_layer(19, 40, dtype)
    with reference_kernels():
        expected = linear_add(
            residual, result.float(), in_dtype(out_of, torch.float32), None, before
        )
        projected = norm_linear(
            residual, in_dtype(linear_layer(40, 7, dtype), torch.float32), None, None
        )
    before_call = residual.clone()
    close(linear_add(residual, result, out_of, None, before), expected, dtype)
    assert torch.equal(residual, before_call)
    assert projected.shape == (rows, 7)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("post_norm", [False, True])
@pytest.mark.parametrize(("rows", "width", "outputs"), [(3, 16, 5), (17, 67, 40), (33, 40, 70)])
def test_linear_add_norm(rows, width, outputs, post_norm, dtype):
    """Twice: the block counters are zero again after a launch."""
    residual, out_of, norm = (
        torch.randn(rows, outputs),
        linear_layer(width, outputs, dtype),
        norm_of(outputs),
    )
    block_counters, ours, theirs = (
        torch.zeros(4, dtype=torch.int32),
        residual.clone(),
        residual.clone(),
    )
    for _ in range(2):
        result = torch.randn(rows, width).to(dtype)
        hidden = linear_add_norm(ours, result, out_of, norm, block_counters, post_norm=post_norm)
        with reference_kernels():
            in_single_precision = in_dtype(out_of, torch.float32)
            expected = linear_add_norm(
                theirs,
                result.float(),
                in_single_precision,
                norm,
                block_counters,
                post_norm=post_norm,
            )
        assert hidden.dtype == dtype
        close(hidden, expected, dtype)
        close(ours, theirs, dtype)
    assert not block_counters.any()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_linear_with_prefetched_weights(dtype):
    hidden, into = torch.randn(17, 67).to(dtype), linear_layer(67, 40, dtype)
    with reference_kernels():
        expected = linear(hidden.float(), in_dtype(into, torch.float32))
    close(linear(hidden, into), expected, dtype)


def in_dtype(value, dtype):
    return Linear(value.weight.to(dtype), value.bias.to(dtype), value.row_sums)


def linear_layer(inputs, outputs, dtype):
    weight = (torch.randn(outputs, inputs) / inputs**0.5).to(dtype)
    return Linear(weight, torch.randn(outputs).to(dtype), weight.float().sum(dim=1))


def steps_of_both(step_function, searches, rows, vocabulary, steps):
    """Run definition and kernel on the same logits, step by step."""
    defined, kernel = searches
    for step in range(steps):
        logits = torch.randn(rows, vocabulary) * 3
        logits[:, EOS] += step - 1.0
        with reference_kernels():
            step_function(defined, logits)
        step_function(kernel, logits)
        yield


@pytest.mark.parametrize("vocabulary", [4, 37, 5000])
def test_greedy_step(vocabulary):
    searches = [GreedySearchState.empty(5, 9, CPU) for _ in range(2)]
    for search in searches:
        search.assign(torch.tensor([0, 1, 3, 4]), torch.tensor([8, 1, 3, 8], dtype=torch.int32))
    for _ in steps_of_both(greedy_step, searches, 5, vocabulary, 6):
        for part in fields(GreedySearchState):
            ours, theirs = (getattr(search, part.name) for search in searches)
            assert torch.allclose(ours.float(), theirs.float(), atol=1e-4), part.name


@pytest.mark.parametrize(("width", "vocabulary"), [(2, 5), (3, 37), (5, 4200)])
def test_beam_step(width, vocabulary):
    searches = [BeamSearchState.empty(3, width, 12, CPU) for _ in range(2)]
    for search in searches:
        search.set_length_penalty(0.8)
        search.assign(torch.tensor([0, 2]), torch.tensor([11, 4], dtype=torch.int32))
    for _ in steps_of_both(beam_step, searches, 3 * width, vocabulary, 6):
        ours, theirs = searches
        for part in fields(BeamSearchState):
            value, other = (getattr(search, part.name) for search in searches)
            if part.name in ("finished_length", "finished_parent"):
                no_end = ours.finished_score.isneginf()
                value, other = value.masked_fill(no_end, 0), other.masked_fill(no_end, 0)
            assert torch.allclose(value.float(), other.float(), atol=1e-4), part.name


def test_backtrace():
    search = BeamSearchState.empty(4, 3, 9, CPU)
    search.ids.copy_(torch.randint(4, 99, search.ids.shape))
    search.backpointers.copy_(torch.randint(3, search.ids.shape))
    slots = torch.tensor([3, 0])
    lengths = torch.tensor([[7, 0], [1, 4]], dtype=torch.int32)
    last = torch.tensor([[2, 1], [0, 2]], dtype=torch.int32)
    with reference_kernels():
        expected = backtrace(search, slots, lengths, last, max_length=7)
    result = backtrace(search, slots, lengths, last, max_length=7)
    assert torch.equal(result, expected)
    at = 2
    for step in range(6, -1, -1):
        assert result[0, 0, step] == search.ids[3, step, at]
        at = search.backpointers[3, step, at]
    assert not result[0, 1].any()


def test_nan_logits_end_with_a_score_of_minus_infinity():
    logits = torch.full((2, 8), torch.nan)
    logits[1] = torch.inf
    greedy, beams = GreedySearchState.empty(2, 4, CPU), BeamSearchState.empty(1, 2, 4, CPU)
    for search, step_function in ((greedy, greedy_step), (beams, beam_step)):
        slots = torch.arange(len(search.steps))
        search.assign(slots, torch.full_like(slots, 3).int())
        step_function(search, logits)
        assert not search.active.any()
        assert search.score.isneginf().all()
    assert not greedy.ids[:, 1].any()
