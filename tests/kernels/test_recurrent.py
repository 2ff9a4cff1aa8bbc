"""Fused recurrent layers and decoders equal PyTorch's layers and the decoders' cells."""

import pytest
import torch

from dhyan import config
from dhyan.attention import LocalWindow
from dhyan.attention_maps import watch
from dhyan.batch import Tokens
from dhyan.kernels.backend import reference_kernels
from dhyan.kernels.ops import maxout
from dhyan.kernels.ops.recurrent import use_loop_kernel
from dhyan.models.build import build_decoder, build_encoder
from dhyan.models.interface import Encoded
from dhyan.models.recurrent_layers import Recurrence

CLOSE = {"atol": 2e-6, "rtol": 1e-4}
LENGTHS = (3, 1, 4)
HALF = torch.float16  # the interpreter cannot multiply matrices of bfloat16


def relative_error(actual, desired):
    """The norm of the difference, relative to the expected norm."""
    return float(
        (actual.double() - desired.double()).norm() / desired.double().norm().clamp_min(1e-9)
    )


def random_source(lengths=LENGTHS, vocabulary=11):
    return Tokens.pad([torch.randint(4, vocabulary, (n,)).tolist() for n in lengths])


def outputs_and_gradients(module, outputs):
    """The outputs, and the gradients of a loss over all of them."""
    module.zero_grad()
    generator = torch.Generator().manual_seed(3)
    loss = sum((out.float() * torch.randn(out.shape, generator=generator)).sum() for out in outputs)
    loss.backward()
    gradients = {
        name: p.grad.clone() for name, p in module.named_parameters() if p.grad is not None
    }
    return [out.detach() for out in outputs], gradients


def assert_same(module, run):
    ours, our_gradients = outputs_and_gradients(module, run())
    with reference_kernels():
        theirs, their_gradients = outputs_and_gradients(module, run())
    for actual, desired in zip(ours, theirs, strict=True):
        torch.testing.assert_close(actual, desired, **CLOSE)
    assert our_gradients.keys() == their_gradients.keys()
    for name, gradient in their_gradients.items():
        torch.testing.assert_close(
            our_gradients[name],
            gradient,
            msg=lambda message, name=name: f"{name}: {message}",
            **CLOSE,
        )


@pytest.mark.parametrize("backwards", [False, True])
@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_an_encoder_equals_the_packed_rnn(cell, bidirectional, backwards):
    chosen = config.RNNEncoder(
        cell=cell, embedding_width=5, width=7, layers=2 if cell == "gru" else 1,
        bidirectional=bidirectional, reverse_source=backwards, dropout=0.0,
    )  # fmt: skip
    recipe = config.Recipe(encoder=chosen, decoder=config.RNNDecoder())
    encoder, source = build_encoder(recipe, 11), random_source()

    def run():
        encoded = encoder(source)
        return encoded.states, encoded.summary

    assert_same(encoder, run)


def test_an_empty_row_has_zero_states_and_changes_no_other():
    recipe = config.Recipe(
        encoder=config.RNNEncoder(cell="lstm", embedding_width=4, width=5, bidirectional=True),
        decoder=config.RNNDecoder(),
    )
    encoder = build_encoder(recipe, 11).eval()
    source = random_source((2, 3))
    empty = Tokens(source.ids, source.mask & torch.tensor([[True], [False]]))
    encoded, full = encoder(empty), encoder(source)
    assert not encoded.states[1].any()
    assert not encoded.summary[1].any()
    torch.testing.assert_close(encoded.states[0], full.states[0], rtol=0, atol=0)
    (encoded.states.sum() + encoded.summary.sum()).backward()
    assert all(p.grad.isfinite().all() for p in encoder.parameters())


@pytest.mark.parametrize("layers", [1, 2])
@pytest.mark.parametrize("cell", ["lstm", "gru", "rnn"])
def test_a_recurrence_equals_pytorchs_layers(cell, layers):
    recurrence = Recurrence(cell, 5, 6, layers)
    inputs = torch.randn(3, 4, 5)
    state = torch.nn.Parameter(torch.randn(3, *recurrence.state_shape))
    recurrence.register_parameter("start", state)
    assert_same(recurrence, lambda: recurrence(inputs, state))


ATTENTIONS = {kind: config.Attention(score=kind, score_width=9) for kind in ("additive", "general")}
ATTENTIONS |= {kind: config.Attention(score=kind) for kind in ("dot", "scaled_dot")}
BAHDANAU, LUONG = config.BahdanauDecoder, config.LuongDecoder


def decoder_of(kind, attention, cell, *, width=8, memory=8, **more):
    """A decoder of this kind for an encoder of this width."""
    sizes = {"embedding_width": 5, "width": width, "cell": cell, "dropout": 0.0, **more}
    if kind is BAHDANAU:
        sizes["readout_width"] = 3
    recipe = config.Recipe(
        encoder=config.RNNEncoder(embedding_width=4, width=memory),
        decoder=kind(attention=attention, **sizes),
        data=config.Data(max_tokens=40),
    )
    return build_decoder(recipe, build_encoder(recipe, 11), 11)


def random_encoded(decoder, source, memory=8):
    """Random encoder states, with gradients of their own."""
    states = torch.nn.Parameter(torch.randn(*source.ids.shape, memory))
    summary = torch.nn.Parameter(torch.randn(len(source), memory))
    decoder.register_parameter("states", states)
    decoder.register_parameter("summary", summary)
    return Encoded(states, summary, source)


def is_fused(decoder, memory):
    """Whether the kernels run this decoder's loop."""
    operands = decoder.attention.operands(memory)
    rnn = decoder.recurrence.rnn
    return operands is not None and use_loop_kernel(rnn, torch.ones(3, 2, 5), operands)


@pytest.mark.parametrize("kind", [BAHDANAU, LUONG])
@pytest.mark.parametrize("cell", ["lstm", "gru"])
@pytest.mark.parametrize("attention", ATTENTIONS)
def test_a_fused_decoder_equals_its_cell(kind, cell, attention):
    if kind is LUONG and attention == "additive":
        attention = "concat"
    chosen = ATTENTIONS.get(attention, config.Attention(score="concat", score_width=9))
    decoder = decoder_of(kind, chosen, cell)
    encoded, ids = random_encoded(decoder, random_source()), torch.randint(4, 11, (3, 3))
    assert is_fused(decoder, decoder.start(encoded).memory)

    def run():
        vectors, after = decoder.hidden(ids, decoder.start(encoded))
        return vectors, after.hidden

    assert_same(decoder, run)


@pytest.mark.parametrize("kind", [BAHDANAU, LUONG])
def test_a_fused_decoder_equals_its_cell_at_odd_sizes(kind):
    decoder = decoder_of(kind, config.Attention(score="general"), "rnn", width=17)
    encoded, ids = random_encoded(decoder, random_source((37,))), torch.randint(4, 11, (1, 2))
    assert_same(decoder, lambda: decoder.hidden(ids, decoder.start(encoded))[:1])


def test_a_fused_additive_decoder_equals_its_cell_at_odd_sizes():
    decoder = decoder_of(
        BAHDANAU, config.Attention(score="additive", score_width=67), "gru", width=17
    )
    encoded, ids = random_encoded(decoder, random_source((37, 2))), torch.randint(4, 11, (2, 2))
    assert_same(decoder, lambda: decoder.hidden(ids, decoder.start(encoded))[:1])


@pytest.mark.parametrize("kind", [BAHDANAU, LUONG])
def test_a_fully_masked_source_gives_zero_contexts(kind):
    decoder = decoder_of(kind, config.Attention(score="general"), "lstm")
    source = random_source()
    blind = Tokens(source.ids, source.mask & torch.tensor([[True], [False], [True]]))
    encoded, ids = random_encoded(decoder, blind), torch.randint(4, 11, (3, 2))
    assert_same(decoder, lambda: decoder.hidden(ids, decoder.start(encoded))[:1])


@pytest.mark.parametrize("kind", [BAHDANAU, LUONG])
def test_half_precision_is_as_accurate_as_the_definition(kind):
    decoder = decoder_of(kind, ATTENTIONS["general"], "lstm")
    encoded, ids = random_encoded(decoder, random_source()), torch.randint(4, 11, (3, 4))

    def run():
        return decoder.hidden(ids, decoder.start(encoded))[:1]

    with reference_kernels():
        (exact,), exact_gradients = outputs_and_gradients(decoder, run())
        with torch.autocast("cpu", HALF):
            (half,), half_gradients = outputs_and_gradients(decoder, run())
    with torch.autocast("cpu", HALF):
        (ours,), our_gradients = outputs_and_gradients(decoder, run())
    assert ours.dtype == HALF
    assert relative_error(ours, exact) <= 2 * relative_error(half, exact) + 5e-3
    for name, gradient in exact_gradients.items():
        half_error = relative_error(half_gradients[name], gradient)
        assert relative_error(our_gradients[name], gradient) <= 2 * half_error + 1e-2, name


@pytest.mark.parametrize("kind", [BAHDANAU, LUONG])
def test_a_token_at_a_time_equals_the_fused_decoder(kind):
    decoder = decoder_of(kind, ATTENTIONS["general"], "lstm")
    encoded, ids = random_encoded(decoder, random_source()), torch.randint(4, 11, (3, 4))
    with torch.no_grad():
        together, end = decoder.hidden(ids, decoder.start(encoded))
        state, apart = decoder.start(encoded), []
        for token_ids in ids.split(1, dim=1):
            vector, state = decoder.hidden(token_ids, state)
            apart.append(vector)
    torch.testing.assert_close(torch.cat(apart, 1), together, **CLOSE)
    torch.testing.assert_close(state.hidden, end.hidden, **CLOSE)
    assert state.memory.steps == end.memory.steps == 4


def test_watch_records_every_step_of_a_recurrent_decoder():
    decoder = decoder_of(BAHDANAU, ATTENTIONS["general"], "lstm")
    encoded, ids = random_encoded(decoder, random_source()), torch.randint(4, 11, (3, 2))
    with watch(decoder) as recorder:
        decoder.hidden(ids, decoder.start(encoded))
    [recorded] = recorder.weights()
    assert (recorded.name, recorded.role) == ("attention", "cross")
    assert recorded.weights.shape == (3, 1, 2, 4)


def test_other_attentions_use_the_definition():
    def knows(attention, **more):
        decoder = decoder_of(BAHDANAU, config.Attention(**attention), "lstm", **more)
        memory = decoder.start(random_encoded(decoder, random_source())).memory
        return is_fused(decoder, memory)

    assert knows({"score": "general"})
    assert not knows({"score": "general"}, layers=2)
    assert not knows({"score": "general", "dropout": 0.1})
    assert not knows({"score": "coverage"})
    assert not knows({"score": "general", "heads": 2})
    assert not knows({"score": "bottleneck"})


def test_a_window_uses_the_definition():
    decoder = decoder_of(LUONG, config.Attention(score="general"), "lstm")
    decoder.attention.mask = LocalWindow(1)
    memory = decoder.start(random_encoded(decoder, random_source())).memory
    assert not is_fused(decoder, memory)


@pytest.mark.parametrize("shape", [(1, 1, 2), (3, 5, 14), (2, 3, 700)])
def test_maxout_gradient_goes_to_the_larger_and_ties_split_it(shape):
    pairs = torch.randn(shape).requires_grad_()
    with torch.no_grad():
        pairs[0, 0, :2] = 0.5
    upstream = torch.randn(*shape[:-1], shape[-1] // 2)
    ours, gradient_of_pairs = maxout(pairs), torch.autograd.grad(maxout(pairs), pairs, upstream)
    with reference_kernels():
        assert torch.equal(ours, maxout(pairs))
        assert torch.equal(*gradient_of_pairs, *torch.autograd.grad(maxout(pairs), pairs, upstream))
