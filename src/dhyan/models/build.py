"""From a recipe to a model: the last place that knows about settings."""

from collections.abc import Callable

from torch import nn

from dhyan import config
from dhyan.attention import GeneralScore, SingleHeadAttention, the_past
from dhyan.errors import UserError
from dhyan.models.build_attention import (
    build_attention,
    build_heads,
    build_self_attention,
    context_width,
)
from dhyan.models.copy_mechanism import CopyingDecoder, Thinking
from dhyan.models.embedding import OneHot, Words
from dhyan.models.feed_forward import FeedForward
from dhyan.models.interface import Decoder, Encoder
from dhyan.models.positions import LearnedPositions, NoPositions, Positions, Sinusoids
from dhyan.models.recurrent_layers import PARTS, DirectBridge, LearnedBridge
from dhyan.models.rnn import BahdanauDecoder, LuongDecoder, RNNEncoder
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import (
    DecoderLayer,
    Embedding,
    EncoderLayer,
    TransformerDecoder,
    TransformerEncoder,
)
from dhyan.special_tokens import PAD

AnyEncoder = config.RNNEncoder | config.TransformerEncoder
RecurrentDecoder = config.BahdanauDecoder | config.LuongDecoder
AnyDecoder = RecurrentDecoder | config.TransformerDecoder


def build_model(recipe: config.Recipe, source_size: int, target_size: int) -> Seq2Seq:
    """The recipe's model over vocabularies of the given sizes, with fresh weights."""
    recipe.check()
    try:
        encoder = build_encoder(recipe.encoder, source_size, recipe.data.max_tokens)
        decoder = build_decoder(recipe, encoder, target_size)
    except ValueError as error:
        raise UserError(f"this recipe cannot be built: {error}") from None
    return Seq2Seq(encoder, decoder)


def build_encoder(chosen: AnyEncoder, vocabulary: int, longest: int) -> Encoder:
    """Any encoder."""
    words = build_words(chosen, vocabulary)
    match chosen:
        case config.RNNEncoder():
            return RNNEncoder(
                words,
                width=chosen.width,
                layers=chosen.layers,
                cell=chosen.cell,
                bidirectional=chosen.bidirectional,
                backwards=chosen.reverse_source,
                dropout=chosen.dropout,
            )
        case config.TransformerEncoder():
            pre_norm = chosen.norm == "pre"
            layers = [
                EncoderLayer(
                    chosen.width,
                    build_self_attention(chosen, longest),
                    build_feed_forward(chosen),
                    pre_norm=pre_norm,
                    dropout=chosen.dropout,
                )
                for _ in range(chosen.layers)
            ]
            embed = build_embedding(chosen, words, longest)
            return TransformerEncoder(chosen.width, embed, layers, pre_norm=pre_norm)


def build_decoder(recipe: config.Recipe, encoder: Encoder, vocabulary: int) -> Decoder:
    """Any decoder, fitted to the encoder it will listen to."""
    chosen = recipe.decoder
    words = encoder.words if chosen.share_source_embedding else build_words(chosen, vocabulary)
    match chosen:
        case config.TransformerDecoder():
            decoder: Thinking = build_transformer_decoder(
                chosen, encoder, words, recipe.data.max_tokens
            )
        case _:
            decoder = build_recurrent_decoder(chosen, encoder, words, recipe.data.max_tokens)
    if not chosen.copy_mechanism:
        return decoder
    score = GeneralScore(decoder.width, encoder.width)
    return CopyingDecoder(decoder, SingleHeadAttention(score, fuse=False), encoder.width)


def build_transformer_decoder(
    chosen: config.TransformerDecoder, encoder: Encoder, words: Words, longest: int
) -> TransformerDecoder:
    """A decoder of layers that look back and across."""
    pre_norm = chosen.norm == "pre"
    layers = [
        DecoderLayer(
            chosen.width,
            build_heads(chosen, longest, sees=the_past),
            build_heads(chosen, longest, memory_width=encoder.width),
            build_feed_forward(chosen),
            pre_norm=pre_norm,
            dropout=chosen.dropout,
        )
        for _ in range(chosen.layers)
    ]
    embed = build_embedding(chosen, words, longest)
    return TransformerDecoder(
        chosen.width, embed, layers, pre_norm=pre_norm, tied=chosen.tie_embeddings
    )


def build_recurrent_decoder(
    chosen: RecurrentDecoder, encoder: Encoder, words: Words, longest: int
) -> BahdanauDecoder | LuongDecoder:
    """A decoder that steps, with the attention and the bridge it asks for."""
    attention = build_attention(chosen.attention, chosen.width, encoder, longest)
    context = context_width(attention, chosen.width, encoder.width)
    state = (PARTS[chosen.cell], chosen.layers, chosen.width)
    kind = LearnedBridge if chosen.bridge == "learned" else DirectBridge
    bridge: LearnedBridge | DirectBridge = kind(encoder.summary_shape, state)
    match chosen:
        case config.BahdanauDecoder():
            return BahdanauDecoder(
                words,
                attention,
                bridge,
                width=chosen.width,
                context_width=context,
                readout=chosen.readout_width,
                layers=chosen.layers,
                cell=chosen.cell,
                dropout=chosen.dropout,
                tied=chosen.tie_embeddings,
            )
        case config.LuongDecoder():
            return LuongDecoder(
                words,
                attention,
                bridge,
                width=chosen.width,
                context_width=context,
                layers=chosen.layers,
                cell=chosen.cell,
                input_feeding=chosen.input_feeding,
                dropout=chosen.dropout,
                tied=chosen.tie_embeddings,
            )


def build_words(chosen: AnyEncoder | AnyDecoder, vocabulary: int) -> Words:
    """The table of a vocabulary, or one-hot vectors."""
    match chosen:
        case config.TransformerEncoder() | config.TransformerDecoder():
            words = nn.Embedding(vocabulary, chosen.width, padding_idx=PAD)
            nn.init.normal_(words.weight, std=chosen.width**-0.5)
        case _ if chosen.input == "one_hot":
            return OneHot(vocabulary)
        case _:
            words = nn.Embedding(vocabulary, chosen.embedding_width, padding_idx=PAD)
    if chosen.freeze_embedding:
        words.weight.requires_grad_(False)
    return words


def build_feed_forward(
    chosen: config.TransformerEncoder | config.TransformerDecoder,
) -> FeedForward:
    """What happens between looks."""
    return FeedForward(
        chosen.width,
        chosen.feed_forward_width,
        activation=chosen.activation,
        dropout=chosen.dropout,
    )


def build_embedding(
    chosen: config.TransformerEncoder | config.TransformerDecoder, words: Words, longest: int
) -> Embedding:
    """Tokens and places; a learned table has room for the longest sentence and its ends."""
    if isinstance(words, OneHot):
        raise ValueError("a Transformer needs an embedding: one-hot vectors are for RNNs")
    kinds: dict[str, Callable[[], Positions]] = {
        "learned": lambda: LearnedPositions(chosen.width, longest + 2),
        "sinusoidal": lambda: Sinusoids(chosen.width),
    }
    make = kinds.get(chosen.positions, lambda: NoPositions(chosen.width))
    return Embedding(words, make(), dropout=chosen.dropout)
