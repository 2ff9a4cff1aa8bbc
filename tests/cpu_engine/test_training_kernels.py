"""The compiled training kernels of a CPU equal the definitions: outputs and gradients."""

import pytest
import torch
from torch import nn

from dhyan import config
from dhyan.batch import Tokens
from dhyan.cpu_engine.library import library_target
from dhyan.kernels import ops, reference
from dhyan.kernels.backend import reference_kernels
from dhyan.kernels.cpu.products import MATMUL, fast_products
from dhyan.kernels.ops.recurrent import use_loop_kernel
from dhyan.models.build import build_encoder
from dhyan.models.recurrent_layers import Recurrence
from tests.kernels.test_recurrent import (
    ATTENTIONS,
    BAHDANAU,
    LUONG,
    decoder_of,
    outputs_and_gradients,
    random_encoded,
    random_source,
)

pytestmark = pytest.mark.skipif(library_target() is None, reason="the CPU engine is not compiled")


def assert_same(module, run):
    """Outputs and gradients equal those of the definitions, to the rounding of their largest."""
    ours, our_gradients = outputs_and_gradients(module, run())
    with reference_kernels():
        theirs, their_gradients = outputs_and_gradients(module, run())
    assert our_gradients.keys() == their_gradients.keys()
    ours, theirs = [*ours, *our_gradients.values()], [*theirs, *their_gradients.values()]
    for name, actual, desired in zip(range(99), ours, theirs, strict=False):
        error = (actual - desired).abs().max()
        assert error <= 1e-5 * (desired.abs().max() + 0.1), (name, float(error))


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_an_encoder_equals_the_packed_rnn(cell, bidirectional, backwards):
    chosen = config.RNNEncoder(
        cell=cell, embedding_width=5, width=19, layers=2 if cell == "gru" else 1,
        bidirectional=bidirectional, reverse_source=backwards, dropout=0.0,
    )  # fmt: skip
    recipe = config.Recipe(encoder=chosen, decoder=config.RNNDecoder())
    encoder, source = build_encoder(recipe, 11), random_source((3, 1, 4, *range(2, 17)))

    def run():
        encoded = encoder(source)
        return encoded.states, encoded.summary

    assert_same(encoder, run)


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_a_recurrence_equals_pytorchs_layers(cell, layers):
    recurrence = Recurrence(cell, 5, 33, layers)
    inputs = torch.randn(3, 4, 5)
    state = nn.Parameter(torch.randn(3, *recurrence.state_shape))
    recurrence.register_parameter("start", state)
    assert_same(recurrence, lambda: recurrence(inputs, state))


@pytest.mark.parametrize("width", [8, 17, 64])
@pytest.mark.parametrize("kind", [BAHDANAU, LUONG])
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_decoder_equals_its_steps(kind, cell, attention, width):
    if kind is LUONG and attention == "additive":
        attention = "concat"
    chosen = ATTENTIONS.get(attention, config.Attention(score="concat", score_width=9))
    memory = width if attention in ("dot", "scaled_dot") else 8
    decoder = decoder_of(kind, chosen, cell, width=width, memory=memory)
    lengths = (3, 1, 4, *range(1, 12))
    encoded = random_encoded(decoder, random_source(lengths), memory)
    ids = torch.randint(4, 11, (len(lengths), 3))
    operands = decoder.attention.operands(decoder.start(encoded).memory)
    assert use_loop_kernel(decoder.recurrence.rnn, torch.ones(3, 2, 5), operands)

    def run():
        vectors, after = decoder.hidden(ids, decoder.start(encoded))
        return vectors, after.hidden

    assert_same(decoder, run)


@pytest.mark.parametrize("kind", [BAHDANAU, LUONG])
def test_a_fully_masked_source_gives_zero_contexts(kind):
    decoder = decoder_of(kind, config.Attention(score="general"), "lstm")
    source = random_source()
    blind = Tokens(source.ids, source.mask & torch.tensor([[True], [False], [True]]))
    encoded, ids = random_encoded(decoder, blind), torch.randint(4, 11, (3, 2))
    assert_same(decoder, lambda: decoder.hidden(ids, decoder.start(encoded))[:1])


def test_the_number_of_threads_changes_no_state():
    recurrence, inputs = Recurrence("lstm", 5, 33, 1), torch.randn(9, 4, 5)
    state = torch.randn(9, *recurrence.state_shape)
    outputs = []
    for threads in (1, 3):
        torch.set_num_threads(threads)
        outputs.append(recurrence(inputs, state)[0])
    torch.set_num_threads(1)
    torch.testing.assert_close(*outputs, rtol=0, atol=0)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize(("rows", "vocabulary"), [(1, 5), (63, 17), (700, 48)])
def test_cross_entropy_equals_its_definition(rows, vocabulary, smoothing):
    output, labels = nn.Linear(7, vocabulary), torch.randint(0, vocabulary, (rows,))
    hidden = nn.Parameter(torch.randn(rows, 7))
    output.register_parameter("hidden", hidden)
    assert_same(
        output,
        lambda: [
            ops.linear_cross_entropy(hidden, output, labels, smoothing=smoothing, ignore_index=0)
        ],
    )


def test_cross_entropy_in_bfloat16_is_as_accurate_as_the_definition():
    output, labels = nn.Linear(16, 100), torch.randint(1, 100, (90,))
    hidden = torch.randn(90, 16)

    def run():
        output.zero_grad()
        loss = ops.linear_cross_entropy(hidden, output, labels, smoothing=0.1, ignore_index=0)
        loss.backward()
        return loss.detach(), output.weight.grad.clone()

    with reference_kernels():
        exact = run()
        with torch.autocast("cpu", torch.bfloat16):
            half = run()
    with torch.autocast("cpu", torch.bfloat16):
        ours = run()
    for kernel, plain, right in zip(ours, half, exact, strict=True):
        assert (kernel - right).norm() <= 2 * (plain - right).norm() + 1e-3 * right.norm()


def test_a_loss_that_is_not_finite_stays_so():
    output, hidden = nn.Linear(7, 40), torch.randn(5, 7)
    hidden[2, 3] = torch.nan
    labels = torch.tensor([1, 2, 3, 4, 5])
    assert ops.linear_cross_entropy(hidden, output, labels, smoothing=0.1, ignore_index=0).isnan()


def test_labels_outside_the_vocabulary_are_refused():
    with pytest.raises(IndexError, match="between 0 and 39"):
        ops.linear_cross_entropy(
            torch.ones(1, 7), nn.Linear(7, 40), torch.tensor([40]), smoothing=0.1, ignore_index=0
        )


@pytest.mark.parametrize("width", [5, 16, 37])
def test_residual_and_norm_equal_their_definition(width):
    layer, dropout = nn.LayerNorm(width), nn.Dropout(0.0)
    nn.init.normal_(layer.weight), nn.init.normal_(layer.bias)
    for name in ("x", "update"):
        layer.register_parameter(name, nn.Parameter(torch.randn(2, 5, width)))
    assert_same(layer, lambda: ops.add_norm(layer.x, layer.update, layer, dropout))
    assert_same(layer, lambda: ops.residual_norm(layer.x, layer))
    assert_same(layer, lambda: [ops.add(layer.x, layer.update, dropout)])


def test_dropout_keeps_its_share_and_its_gradient_has_the_same_mask():
    residual, dropout = torch.zeros(40, 50, 16), nn.Dropout(0.3)
    update = torch.ones(40, 50, 16, requires_grad=True)
    total = ops.add(residual, update, dropout)
    kept = total != 0
    assert abs(kept.float().mean() - 0.7) < 0.01
    assert abs(kept.float().mean(dim=0) - 0.7).max() < 0.35
    torch.testing.assert_close(total[kept], torch.full_like(total[kept], 1 / 0.7))
    total.sum().backward()
    torch.testing.assert_close(update.grad, total.detach(), rtol=0, atol=0)


def test_dropout_follows_the_default_generator():
    values, dropout = torch.ones(4, 8, 16), nn.Dropout(0.5)

    def draw(seed):
        torch.manual_seed(seed)
        return [ops.add(torch.zeros_like(values), values, dropout) for _ in range(2)]

    first, second = draw(1)
    assert not torch.equal(first, second)
    assert torch.equal(first, draw(1)[0])


@pytest.mark.parametrize("width", [5, 64])
def test_feed_forward_equals_its_definition(width):
    block = nn.ModuleList([nn.Linear(7, width), nn.Linear(width, 7)])
    block.register_parameter("x", nn.Parameter(torch.randn(3, 4, 7)))
    assert_same(
        block,
        lambda: [
            ops.feed_forward(
                block.x, *block, activation=torch.relu, gate=None, dropout=nn.Dropout(0.0)
            )
        ],
    )


def test_feed_forward_drops_the_hidden_units():
    up, down = nn.Linear(4, 2000), nn.Linear(2000, 4, bias=False)
    nn.init.zeros_(up.weight), nn.init.ones_(up.bias), nn.init.ones_(down.weight)
    x = torch.ones(1, 1, 4)
    out = ops.feed_forward(x, up, down, activation=torch.relu, gate=None, dropout=nn.Dropout(0.5))
    assert 0 < abs(out[0, 0, 0].item() - 2000) < 300
    out.sum().backward()
    kept = down.weight.grad[0] != 0
    assert torch.equal(up.bias.grad != 0, kept)
    assert out[0, 0, 0].item() == 2 * kept.sum()


def test_evaluation_runs_the_definitions():
    layer = nn.LayerNorm(5).eval()
    x = torch.randn(1, 2, 5)
    normed = reference.add_norm(x, x, layer, nn.Dropout(0.5).eval())[1]
    ours = ops.add_norm(x, x, layer, nn.Dropout(0.5).eval())[1]
    torch.testing.assert_close(ours, normed, rtol=0, atol=0)


def test_without_the_library_the_definitions_run(monkeypatch):
    monkeypatch.setattr("dhyan.kernels.backend.library_target", lambda: None)
    decoder = decoder_of(LUONG, config.Attention(score="general"), "lstm")
    encoded, ids = random_encoded(decoder, random_source()), torch.randint(4, 11, (3, 2))
    ours = decoder.hidden(ids, decoder.start(encoded))[0]
    with reference_kernels():
        theirs = decoder.hidden(ids, decoder.start(encoded))[0]
    torch.testing.assert_close(ours, theirs, rtol=0, atol=0)
    operands = decoder.attention.operands(decoder.start(encoded).memory)
    assert not use_loop_kernel(decoder.recurrence.rnn, torch.ones(3, 2, 5), operands)


def test_products_by_onednn_keep_all_digits_and_the_setting_is_restored():
    before = MATMUL.fp32_precision
    a, b = torch.randn(50, 256), torch.randn(256, 40)
    exact = a.double() @ b.double()
    plain_error = (a @ b - exact).norm()
    with fast_products():
        error = (a @ b - exact).norm()
    assert error <= 3 * plain_error
    assert MATMUL.fp32_precision == before


def test_an_empty_row_has_zero_states_and_changes_no_other():
    recipe = config.Recipe(
        encoder=config.RNNEncoder(
            cell="lstm", embedding_width=4, width=5, bidirectional=True, dropout=0.0
        ),
        decoder=config.RNNDecoder(),
    )
    encoder, source = build_encoder(recipe, 11), random_source((2, 3))
    empty = Tokens(source.ids, source.mask & torch.tensor([[True], [False]]))
    encoded, full = encoder(empty), encoder(source)
    assert not encoded.states[1].any()
    assert not encoded.summary[1].any()
    torch.testing.assert_close(encoded.states[0], full.states[0], rtol=0, atol=0)
    (encoded.states.sum() + encoded.summary.sum()).backward()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())
