"""The names and shapes of all weights a recipe's model has, found without building it."""

from collections.abc import Iterator
from math import prod

from dhyan.config import (
    Attention,
    BahdanauDecoder,
    LuongDecoder,
    Recipe,
    RNNEncoder,
    TransformerDecoder,
    TransformerEncoder,
)
from dhyan.model_check.score_shapes import score

Shape = tuple[int, ...]
Named = Iterator[tuple[str, Shape]]
Transformer = TransformerEncoder | TransformerDecoder
Half = RNNEncoder | Transformer | BahdanauDecoder | LuongDecoder

GATES = {"lstm": 4, "gru": 3, "rnn": 1}
PARTS = {"lstm": 2, "gru": 1, "rnn": 1}


def weights_of(recipe: Recipe, source_size: int, target_size: int) -> dict[str, Shape]:
    """What `build_model` builds, weight by weight; tied ones under the first of their names."""
    encoder, decoder = recipe.encoder, recipe.decoder
    longest = recipe.data.max_tokens
    found = dict(_under("encoder", _encoder(encoder, source_size, longest)))
    size = source_size if decoder.share_source_embedding else target_size
    said = _decoder(recipe, size, longest)
    if decoder.copy_mechanism:
        said = _copying(decoder, state_width(encoder), said)
    return found | dict(_under("decoder", said))


def state_width(encoder: RNNEncoder | TransformerEncoder) -> int:
    """How wide the states are that a decoder looks at."""
    match encoder:
        case RNNEncoder():
            return encoder.width * _directions(encoder)
        case TransformerEncoder():
            return encoder.width


def _encoder(chosen: RNNEncoder | TransformerEncoder, size: int, longest: int) -> Named:
    match chosen:
        case RNNEncoder():
            yield from _words(chosen, size)
            inputs = _embedding(chosen, size)
            yield from _under("rnn", _cells(chosen, inputs, _directions(chosen)))
        case TransformerEncoder():
            yield from _under("embed", _places_and_words(chosen, size, longest))
            for layer in range(chosen.layers):
                yield from _under(f"layers.{layer}", _reading_layer(chosen, longest))
            yield from _last_norm(chosen)


def _decoder(recipe: Recipe, size: int, longest: int) -> Named:
    chosen, states = recipe.decoder, state_width(recipe.encoder)
    match chosen:
        case TransformerDecoder():
            own = dict(_places_and_words(chosen, size, longest))
            yield from _under("embed", _less_shared(chosen, own))
            for layer in range(chosen.layers):
                yield from _under(f"layers.{layer}", _saying_layer(chosen, states, longest))
            yield from _last_norm(chosen)
            yield from _output(chosen, chosen.width, size)
        case _:
            yield from _recurrent(recipe, size, longest, states)


def _recurrent(recipe: Recipe, size: int, longest: int, states: int) -> Named:
    """Bahdanau's decoder or Luong's."""
    chosen = recipe.decoder
    assert isinstance(chosen, BahdanauDecoder | LuongDecoder)
    yield from _under("attention", _attention(chosen.attention, chosen.width, states, longest))
    context = chosen.width if chosen.attention.heads > 1 else states
    if chosen.bridge == "learned":
        state = PARTS[chosen.cell] * chosen.layers * chosen.width
        yield from _linear("bridge.map", prod(_summary(recipe.encoder)), state)
    yield from _less_shared(chosen, dict(_words(chosen, size)))
    inputs = _embedding(chosen, size)
    match chosen:
        case BahdanauDecoder():
            told, last = inputs + context, chosen.readout_width
            yield from _linear("readout", chosen.width + told, 2 * last)
        case LuongDecoder():
            told, last = inputs + chosen.width * chosen.input_feeding, chosen.width
            yield from _linear("combine", context + chosen.width, chosen.width)
    yield from _under("recurrence.rnn", _cells(chosen, told, 1))
    yield from _output(chosen, last, size)


def _copying(
    chosen: BahdanauDecoder | LuongDecoder | TransformerDecoder, states: int, said: Named
) -> Named:
    """A decoder inside one that may also copy."""
    width = chosen.readout_width if isinstance(chosen, BahdanauDecoder) else chosen.width
    yield from _under("decoder", said)
    yield from _under("copy_attention.score", score(Attention(score="general"), width, states, 0))
    yield from _linear("gate", width + states, 1)


def _attention(chosen: Attention, width: int, states: int, longest: int) -> Named:
    """The attention of a recurrent decoder."""
    if chosen.score == "bottleneck":
        return
    narrow = width // chosen.heads
    asked, known = (width, states) if chosen.heads == 1 else (narrow, narrow)
    if chosen.heads > 1:
        groups = chosen.kv_heads or chosen.heads
        yield from _heads(width, narrow * groups, states, blind=chosen.score == "location")
    yield from _under("score", score(chosen, asked, known, longest))
    if chosen.window == "predicted":
        yield "sees.hidden.weight", (asked, asked)
        yield "sees.place.weight", (1, asked)


def _looks(chosen: Transformer, longest: int, states: int | None = None) -> Named:
    """One attention of a Transformer's layer, to itself or to other states."""
    narrow = chosen.width // chosen.heads
    groups = chosen.kv_heads or chosen.heads
    blind = chosen.score == "location"
    yield from _heads(chosen.width, narrow * groups, states or chosen.width, blind=blind)
    asked = Attention(score=chosen.score, score_width=narrow)
    yield from _under("score", score(asked, narrow, narrow, longest))


def _heads(width: int, narrow: int, states: int, *, blind: bool) -> Named:
    yield from _linear("query", width, width)
    if not blind:
        yield from _linear("key", states, narrow)
    yield from _linear("value", states, narrow)
    yield from _linear("output", width, width)


def _reading_layer(chosen: TransformerEncoder, longest: int) -> Named:
    if chosen.self_attention == "learned":
        yield from _under("self_attention", _looks(chosen, longest))
    if chosen.self_attention != "none":
        yield from _norm("looking.norm", chosen.width)
    yield from _thought(chosen)


def _saying_layer(chosen: TransformerDecoder, states: int, longest: int) -> Named:
    yield from _under("self_attention", _looks(chosen, longest))
    yield from _under("cross_attention", _looks(chosen, longest, states))
    yield from _norm("recalling.norm", chosen.width)
    yield from _norm("looking.norm", chosen.width)
    yield from _thought(chosen)


def _thought(chosen: Transformer) -> Named:
    yield from _norm("thinking.norm", chosen.width)
    yield from _linear("feed_forward.widen", chosen.width, chosen.feed_forward_width)
    if chosen.activation == "swiglu":
        yield from _linear("feed_forward.gate", chosen.width, chosen.feed_forward_width)
    yield from _linear("feed_forward.narrow", chosen.feed_forward_width, chosen.width)


def _cells(chosen: RNNEncoder | BahdanauDecoder | LuongDecoder, inputs: int, both: int) -> Named:
    """Layers of cells that read in one direction, or in both."""
    wide = GATES[chosen.cell] * chosen.width
    for layer in range(chosen.layers):
        told = chosen.width * both if layer else inputs
        for way in ("", "_reverse")[:both]:
            yield f"weight_ih_l{layer}{way}", (wide, told)
            yield f"weight_hh_l{layer}{way}", (wide, chosen.width)
            yield f"bias_ih_l{layer}{way}", (wide,)
            yield f"bias_hh_l{layer}{way}", (wide,)


def _places_and_words(chosen: Transformer, size: int, longest: int) -> Named:
    yield "words.weight", (size, chosen.width)
    if chosen.positions == "learned":
        yield "positions.table", (longest + 2, chosen.width)


def _words(chosen: RNNEncoder | BahdanauDecoder | LuongDecoder, size: int) -> Named:
    if chosen.input != "one_hot":
        yield "words.weight", (size, chosen.embedding_width)


def _less_shared(
    chosen: BahdanauDecoder | LuongDecoder | TransformerDecoder, own: dict[str, Shape]
) -> Named:
    """Without the table of words, if that is the encoder's."""
    if chosen.share_source_embedding:
        own.pop("words.weight", None)
    yield from own.items()


def _output(
    chosen: BahdanauDecoder | LuongDecoder | TransformerDecoder, width: int, size: int
) -> Named:
    if not chosen.tie_embeddings:
        yield "output.weight", (size, width)
    yield "output.bias", (size,)


def _last_norm(chosen: Transformer) -> Named:
    if chosen.norm == "pre":
        yield from _norm("norm", chosen.width)


def _norm(name: str, width: int) -> Named:
    yield f"{name}.weight", (width,)
    yield f"{name}.bias", (width,)


def _linear(name: str, inputs: int, outputs: int) -> Named:
    yield f"{name}.weight", (outputs, inputs)
    yield f"{name}.bias", (outputs,)


def _under(name: str, inner: Named) -> Named:
    for rest, shape in inner:
        yield f"{name}.{rest}", shape


def _embedding(chosen: RNNEncoder | BahdanauDecoder | LuongDecoder, size: int) -> int:
    return size if chosen.input == "one_hot" else chosen.embedding_width


def _directions(chosen: RNNEncoder) -> int:
    return 2 if chosen.bidirectional else 1


def _summary(encoder: RNNEncoder | TransformerEncoder) -> Shape:
    """Parts, layers and width of what an encoder hands over."""
    match encoder:
        case RNNEncoder():
            return (PARTS[encoder.cell], encoder.layers, state_width(encoder))
        case TransformerEncoder():
            return (1, 1, encoder.width)
