"""Build a model (embeddings, encoder, decoder, bridge) from the settings of a recipe."""

from collections.abc import Callable

from torch import nn

from dhyan import config
from dhyan.attention import GeneralScore, SingleHeadAttention, causal
from dhyan.errors import UserError
from dhyan.models.build_attention import (
    build_attention,
    build_heads,
    build_self_attention,
    context_width,
)
from dhyan.models.copy_mechanism import CopyingDecoder
from dhyan.models.embedding import OneHot, TokenEmbedding
from dhyan.models.feed_forward import FeedForward
from dhyan.models.interface import Decoder, Encoder
from dhyan.models.positions import LearnedPositions, NoPositions, Positions, Sinusoids
from dhyan.models.recurrent_layers import STATE_PARTS, DirectBridge, LearnedBridge
from dhyan.models.rnn import BahdanauDecoder, Bridge, LuongDecoder, RNNDecoder, RNNEncoder
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.transformer import (
    DecoderLayer,
    EncoderLayer,
    TransformerDecoder,
    TransformerEmbedding,
    TransformerEncoder,
)
from dhyan.special_tokens import PAD

AnyEncoder = config.RNNEncoder | config.TransformerEncoder
RecurrentDecoder = config.RNNDecoder | config.BahdanauDecoder | config.LuongDecoder
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


def build_encoder(settings: AnyEncoder, vocabulary: int, max_length: int) -> Encoder:
    """Any encoder."""
    token_embedding = build_token_embedding(settings, vocabulary)
    match settings:
        case config.RNNEncoder():
            return RNNEncoder(
                token_embedding,
                width=settings.width,
                layers=settings.layers,
                cell=settings.cell,
                bidirectional=settings.bidirectional,
                reverse=settings.reverse_source,
                dropout=settings.dropout,
            )
        case config.TransformerEncoder():
            pre_norm = settings.norm == "pre"
            layers = [
                EncoderLayer(
                    settings.width,
                    build_self_attention(settings, max_length),
                    build_feed_forward(settings),
                    pre_norm=pre_norm,
                    dropout=settings.dropout,
                )
                for _ in range(settings.layers)
            ]
            embedding = build_transformer_embedding(settings, token_embedding, max_length)
            return TransformerEncoder(
                settings.width,
                embedding,
                layers,
                pre_norm=pre_norm,
                reads_eos=settings.reads_eos,
            )


def build_decoder(recipe: config.Recipe, encoder: Encoder, vocabulary: int) -> Decoder:
    """Any decoder, fitted to the encoder it attends to."""
    settings = recipe.decoder
    shared = settings.share_source_embedding
    embedding = encoder.token_embedding if shared else build_token_embedding(settings, vocabulary)
    longest = recipe.data.max_tokens
    match settings:
        case config.TransformerDecoder():
            decoder: Decoder = build_transformer_decoder(settings, encoder, embedding, longest)
        case _:
            decoder = build_recurrent_decoder(settings, encoder, embedding, longest)
    if not settings.copy_mechanism:
        return decoder
    score = GeneralScore(decoder.width, encoder.width)
    return CopyingDecoder(decoder, SingleHeadAttention(score, need_weights=True), encoder.width)


def build_transformer_decoder(
    settings: config.TransformerDecoder,
    encoder: Encoder,
    token_embedding: TokenEmbedding,
    max_length: int,
) -> TransformerDecoder:
    """A Transformer decoder."""
    pre_norm = settings.norm == "pre"
    layers = [
        DecoderLayer(
            settings.width,
            build_heads(settings, max_length, mask=causal),
            build_heads(settings, max_length, memory_width=encoder.width),
            build_feed_forward(settings),
            pre_norm=pre_norm,
            dropout=settings.dropout,
        )
        for _ in range(settings.layers)
    ]
    embedding = build_transformer_embedding(settings, token_embedding, max_length)
    return TransformerDecoder(
        settings.width, embedding, layers, pre_norm=pre_norm, tied=settings.tie_embeddings
    )


def build_recurrent_decoder(
    settings: RecurrentDecoder, encoder: Encoder, token_embedding: TokenEmbedding, max_length: int
) -> RNNDecoder | BahdanauDecoder | LuongDecoder:
    """A recurrent decoder, with its bridge and the attention it may have."""
    if isinstance(settings, config.RNNDecoder):
        return RNNDecoder(
            token_embedding,
            build_bridge(settings, encoder),
            width=settings.width,
            layers=settings.layers,
            cell=settings.cell,
            dropout=settings.dropout,
            tied=settings.tie_embeddings,
        )
    attention = build_attention(settings.attention, settings.width, encoder, max_length)
    context = context_width(attention, settings.width, encoder.width)
    bridge = build_bridge(settings, encoder)
    match settings:
        case config.BahdanauDecoder():
            return BahdanauDecoder(
                token_embedding,
                attention,
                bridge,
                width=settings.width,
                context_width=context,
                readout_width=settings.readout_width,
                layers=settings.layers,
                cell=settings.cell,
                dropout=settings.dropout,
                tied=settings.tie_embeddings,
            )
        case config.LuongDecoder():
            return LuongDecoder(
                token_embedding,
                attention,
                bridge,
                width=settings.width,
                context_width=context,
                layers=settings.layers,
                cell=settings.cell,
                input_feeding=settings.input_feeding,
                dropout=settings.dropout,
                tied=settings.tie_embeddings,
            )


def build_bridge(settings: RecurrentDecoder, encoder: Encoder) -> Bridge:
    """The bridge from the encoder's last state to a recurrent decoder's first."""
    state = (STATE_PARTS[settings.cell], settings.layers, settings.width)
    bridge_class = LearnedBridge if settings.bridge == "learned" else DirectBridge
    return bridge_class(encoder.summary_shape, state)


def build_token_embedding(settings: AnyEncoder | AnyDecoder, vocabulary: int) -> TokenEmbedding:
    """The embedding of a vocabulary, or one-hot vectors."""
    match settings:
        case config.TransformerEncoder() | config.TransformerDecoder():
            token_embedding = nn.Embedding(vocabulary, settings.width, padding_idx=PAD)
            nn.init.normal_(token_embedding.weight, std=settings.width**-0.5)
        case _ if settings.input == "one_hot":
            return OneHot(vocabulary)
        case _:
            token_embedding = nn.Embedding(vocabulary, settings.embedding_width, padding_idx=PAD)
    if settings.freeze_embedding:
        token_embedding.weight.requires_grad_(False)
    return token_embedding


def build_feed_forward(
    settings: config.TransformerEncoder | config.TransformerDecoder,
) -> FeedForward:
    """The feed-forward network of a layer."""
    return FeedForward(
        settings.width,
        settings.feed_forward_width,
        activation=settings.activation,
        dropout=settings.dropout,
    )


def build_transformer_embedding(
    settings: config.TransformerEncoder | config.TransformerDecoder,
    token_embedding: TokenEmbedding,
    max_length: int,
) -> TransformerEmbedding:
    """Tokens and positions; learned positions cover the longest sentence with BOS and EOS."""
    if isinstance(token_embedding, OneHot):
        raise ValueError("a Transformer needs an embedding: one-hot vectors are for RNNs")
    positions: dict[str, Callable[[], Positions]] = {
        "learned": lambda: LearnedPositions(settings.width, max_length + 2),
        "sinusoidal": lambda: Sinusoids(settings.width, settings.sinusoids),
    }
    build_positions = positions.get(settings.positions, lambda: NoPositions(settings.width))
    return TransformerEmbedding(
        token_embedding,
        build_positions(),
        scaled=settings.scale_embedding,
        dropout=settings.dropout,
    )
