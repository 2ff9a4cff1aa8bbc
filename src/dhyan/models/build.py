"""From a recipe to a model: the last place that knows about settings."""

from dhyan import config
from dhyan.attention import (
    AdditiveScore,
    Attention,
    DotScore,
    GeneralScore,
    MultiHeadAttention,
    Score,
    SingleHeadAttention,
    bottleneck,
    the_past,
)
from dhyan.faults import Fault
from dhyan.models.interface import Decoder, Encoder
from dhyan.models.positions import LearnedPositions, Positions, Sinusoids
from dhyan.models.recurrence import PARTS, DirectBridge, LearnedBridge
from dhyan.models.rnn import BahdanauDecoder, LuongDecoder, RNNEncoder
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import (
    DecoderLayer,
    Embedding,
    EncoderLayer,
    TransformerDecoder,
    TransformerEncoder,
)


def build_model(recipe: config.Recipe, source_size: int, target_size: int) -> Seq2Seq:
    """The recipe's model over vocabularies of the given sizes, with fresh weights."""
    try:
        encoder = build_encoder(recipe.encoder, source_size, recipe.data.longest)
        decoder = build_decoder(recipe, encoder, target_size)
    except ValueError as error:
        raise Fault(f"this recipe cannot be built: {error}") from None
    return Seq2Seq(encoder, decoder)


def build_encoder(
    chosen: config.RNNEncoder | config.TransformerEncoder, vocabulary: int, longest: int
) -> Encoder:
    """Any encoder."""
    match chosen:
        case config.RNNEncoder():
            return RNNEncoder(
                vocabulary,
                embedding=chosen.embedding,
                width=chosen.width,
                layers=chosen.layers,
                cell=chosen.cell,
                bidirectional=chosen.bidirectional,
                backwards=chosen.backwards,
                dropout=chosen.dropout,
            )
        case config.TransformerEncoder():
            pre_norm = chosen.norm == "pre"
            layers = [
                EncoderLayer(
                    chosen.width,
                    MultiHeadAttention(chosen.width, chosen.heads),
                    hidden=chosen.hidden,
                    pre_norm=pre_norm,
                    dropout=chosen.dropout,
                )
                for _ in range(chosen.layers)
            ]
            embed = build_embedding(chosen, vocabulary, longest)
            return TransformerEncoder(chosen.width, embed, layers, pre_norm=pre_norm)


def build_decoder(recipe: config.Recipe, encoder: Encoder, vocabulary: int) -> Decoder:
    """Any decoder, fitted to the encoder it will listen to."""
    chosen = recipe.decoder
    match chosen:
        case config.BahdanauDecoder() | config.LuongDecoder():
            return build_recurrent_decoder(chosen, encoder, vocabulary)
        case config.TransformerDecoder():
            pre_norm = chosen.norm == "pre"
            layers = [
                DecoderLayer(
                    chosen.width,
                    MultiHeadAttention(chosen.width, chosen.heads, sees=the_past),
                    MultiHeadAttention(chosen.width, chosen.heads, memory_width=encoder.width),
                    hidden=chosen.hidden,
                    pre_norm=pre_norm,
                    dropout=chosen.dropout,
                )
                for _ in range(chosen.layers)
            ]
            embed = build_embedding(chosen, vocabulary, recipe.data.longest)
            return TransformerDecoder(
                chosen.width, embed, layers, pre_norm=pre_norm, tied=chosen.tied
            )


def build_recurrent_decoder(
    chosen: config.BahdanauDecoder | config.LuongDecoder, encoder: Encoder, vocabulary: int
) -> BahdanauDecoder | LuongDecoder:
    """A decoder that steps, with the attention and the bridge it asks for."""
    attention, context_width = build_attention(chosen.attention, chosen.width, encoder)
    state = (PARTS[chosen.cell], chosen.layers, chosen.width)
    kind = LearnedBridge if chosen.bridge == "learned" else DirectBridge
    bridge: LearnedBridge | DirectBridge = kind(encoder.summary_shape, state)
    match chosen:
        case config.BahdanauDecoder():
            return BahdanauDecoder(
                vocabulary,
                attention,
                bridge,
                embedding=chosen.embedding,
                width=chosen.width,
                context_width=context_width,
                readout=chosen.readout,
                layers=chosen.layers,
                cell=chosen.cell,
                dropout=chosen.dropout,
                tied=chosen.tied,
            )
        case config.LuongDecoder():
            return LuongDecoder(
                vocabulary,
                attention,
                bridge,
                embedding=chosen.embedding,
                width=chosen.width,
                context_width=context_width,
                layers=chosen.layers,
                cell=chosen.cell,
                input_feeding=chosen.input_feeding,
                dropout=chosen.dropout,
                tied=chosen.tied,
            )


def build_attention(
    chosen: config.Attention, width: int, encoder: Encoder
) -> tuple[Attention, int]:
    """The attention of a decoder so wide to an encoder's states, and how wide its context is."""
    if chosen.kind == "bottleneck":
        return bottleneck(sees=encoder.last), encoder.width
    if chosen.heads == 1:
        score = build_score(chosen, width, encoder.width)
        return SingleHeadAttention(score), encoder.width
    score = build_score(chosen, width // chosen.heads, width // chosen.heads)
    heads = MultiHeadAttention(width, chosen.heads, memory_width=encoder.width, score=score)
    return heads, width


def build_score(chosen: config.Attention, query_width: int, key_width: int) -> Score:
    """Any score between vectors of these widths."""
    match chosen.kind:
        case "additive":
            return AdditiveScore(query_width, key_width, chosen.hidden)
        case "general":
            return GeneralScore(query_width, key_width)
    if query_width != key_width:
        raise ValueError(
            f"the {chosen.kind} score needs equal widths: the decoder is {query_width} wide, the "
            f"encoder's states {key_width}; use attention.kind = 'general'"
        )
    return DotScore(scaled=chosen.kind == "scaled_dot")


def build_embedding(
    chosen: config.TransformerEncoder | config.TransformerDecoder, vocabulary: int, longest: int
) -> Embedding:
    """Tokens and places; a learned table has room for the longest sentence and its ends."""
    positions: Positions
    if chosen.positions == "learned":
        positions = LearnedPositions(chosen.width, longest + 2)
    else:
        positions = Sinusoids(chosen.width)
    return Embedding(vocabulary, chosen.width, positions, dropout=chosen.dropout)
