"""Build a model (embeddings, encoder, decoder, bridge) from the settings of a recipe."""

from torch import nn

from dhyan import config
from dhyan.attention import GeneralScore, SingleHeadAttention, causal
from dhyan.errors import UserError
from dhyan.models.build_attention import (
    build_attention,
    build_heads,
    build_position_bias,
    build_self_attention,
    context_width,
)
from dhyan.models.copy_mechanism import CopyingDecoder
from dhyan.models.embedding import OneHot, TokenEmbedding
from dhyan.models.feed_forward import FeedForward
from dhyan.models.interface import Decoder, Encoder
from dhyan.models.linear_decoder import LinearDecoder
from dhyan.models.positions import LearnedPositions, NoPositions, Positions, Sinusoids
from dhyan.models.recurrent_layers import STATE_PARTS, DirectBridge, LearnedBridge
from dhyan.models.rnn import BahdanauDecoder, Bridge, LuongDecoder, RNNDecoder, RNNEncoder
from dhyan.models.seq2seq import Seq2Seq
from dhyan.models.stems import (
    ConvolutionStem,
    LinearStem,
    SourceEmbedding,
    Stem,
    StripStem,
    WordCharacterStem,
)
from dhyan.models.transformer import (
    NORMALIZATIONS,
    DecoderLayer,
    EncoderLayer,
    FrameEmbedding,
    TransformerDecoder,
    TransformerEmbedding,
    TransformerEncoder,
)
from dhyan.special_tokens import PAD

AnyEncoder = config.RNNEncoder | config.TransformerEncoder
RecurrentDecoder = config.RNNDecoder | config.BahdanauDecoder | config.LuongDecoder
AnyDecoder = RecurrentDecoder | config.TransformerDecoder | config.LinearDecoder


def build_model(recipe: config.Recipe, source_size: int, target_size: int) -> Seq2Seq:
    """The recipe's model over vocabularies of the given sizes, with fresh weights.

    A source of frames has their width in place of a size, or the number of words they know.
    """
    recipe.check()
    try:
        encoder = build_encoder(recipe, source_size)
        decoder = build_decoder(recipe, encoder, target_size)
    except ValueError as error:
        raise UserError(f"this recipe cannot be built: {error}") from None
    return Seq2Seq(encoder, decoder)


def build_encoder(recipe: config.Recipe, source_size: int) -> Encoder:
    """Any encoder."""
    settings, max_length = recipe.encoder, recipe.data.max_tokens
    token_embedding = build_source_embedding(recipe, source_size)
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
            bias = build_position_bias(settings, causal=False)
            layers = [
                EncoderLayer(
                    settings.width,
                    build_self_attention(settings, max_length, bias),
                    build_feed_forward(settings),
                    pre_norm=pre_norm,
                    normalization=NORMALIZATIONS[settings.normalization],
                    dropout=settings.dropout,
                )
                for _ in range(settings.layers)
            ]
            embedding: TransformerEmbedding | FrameEmbedding
            if isinstance(token_embedding, Stem):
                positions = build_positions(settings, max_length)
                embedding = FrameEmbedding(token_embedding, positions, dropout=settings.dropout)
            else:
                embedding = build_transformer_embedding(settings, token_embedding, max_length)
            return TransformerEncoder(
                settings.width,
                embedding,
                layers,
                pre_norm=pre_norm,
                normalization=NORMALIZATIONS[settings.normalization],
                reads_eos=settings.reads_eos,
            )


def build_decoder(recipe: config.Recipe, encoder: Encoder, vocabulary: int) -> Decoder:
    """Any decoder, fitted to the encoder it attends to."""
    settings = recipe.decoder
    if isinstance(settings, config.LinearDecoder):
        return LinearDecoder(
            encoder.width,
            vocabulary,
            transitions=settings.transitions,
            dropout=settings.dropout,
        )
    shared = settings.share_source_embedding
    if shared:
        assert not isinstance(encoder.token_embedding, Stem), "checked with the recipe"
        embedding = encoder.token_embedding
    else:
        embedding = build_token_embedding(settings, vocabulary)
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
    normalization = NORMALIZATIONS[settings.normalization]
    bias = build_position_bias(settings, causal=True)
    layers = [
        DecoderLayer(
            settings.width,
            build_heads(settings, max_length, mask=causal, bias=bias),
            build_heads(settings, max_length, memory_width=encoder.width),
            build_feed_forward(settings),
            pre_norm=pre_norm,
            normalization=normalization,
            dropout=settings.dropout,
        )
        for _ in range(settings.layers)
    ]
    embedding = build_transformer_embedding(settings, token_embedding, max_length)
    return TransformerDecoder(
        settings.width,
        embedding,
        layers,
        pre_norm=pre_norm,
        normalization=normalization,
        tied=settings.tie_embeddings,
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
                query_sum=settings.query == "sum",
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


def build_source_embedding(recipe: config.Recipe, source_size: int) -> SourceEmbedding:
    """The embedding of the source vocabulary; for a source of frames, its stem."""
    settings, frames = recipe.encoder, recipe.frames
    match recipe.text.source_codec:
        case "word_characters":
            width = settings.embedding_width
            if isinstance(settings, config.TransformerEncoder):  # both parts make up its width
                width -= frames.filters
            return WordCharacterStem(
                source_size,
                frames.characters,
                width=width,
                character_width=frames.character_width,
                filters=frames.filters,
                word_dropout=frames.word_dropout,
                frozen=settings.freeze_embedding,
            )
        case "image_columns" | "image_patches":
            width = settings.embedding_width
            match frames.stem:
                case "linear":
                    return LinearStem(source_size, width)
                case "convolution":
                    return ConvolutionStem(source_size, width, kernel=frames.kernel)
                case "strips":
                    return StripStem(
                        source_size, width, height=frames.height, channels=frames.channels
                    )
    return build_token_embedding(settings, source_size)


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


def build_positions(
    settings: config.TransformerEncoder | config.TransformerDecoder, max_length: int
) -> Positions:
    """Position embeddings; learned ones cover the longest sentence with BOS and EOS."""
    match settings.positions:
        case "learned":
            return LearnedPositions(settings.width, max_length + 2)
        case "sinusoidal":
            return Sinusoids(settings.width, settings.sinusoids)
    return NoPositions(settings.width)


def build_transformer_embedding(
    settings: config.TransformerEncoder | config.TransformerDecoder,
    token_embedding: TokenEmbedding,
    max_length: int,
) -> TransformerEmbedding:
    """The embedding of tokens and positions."""
    if isinstance(token_embedding, OneHot):
        raise ValueError("a Transformer needs an embedding: one-hot vectors are for RNNs")
    return TransformerEmbedding(
        token_embedding,
        build_positions(settings, max_length),
        scaled=settings.scale_embedding,
        normalized=settings.embedding_norm,
        dropout=settings.dropout,
    )
