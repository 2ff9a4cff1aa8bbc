"""Recipes of the models that the speed benchmarks measure."""

from dataclasses import dataclass, replace
from typing import Any

from dhyan.config import (
    Attention,
    BahdanauDecoder,
    Data,
    LuongDecoder,
    Recipe,
    RNNEncoder,
    Text,
    Training,
    TransformerDecoder,
    TransformerEncoder,
)

NEVER = 10**9  # a step that is never reached


@dataclass(frozen=True)
class Size:
    """Sizes of the models, and of the random sentences they train on and translate."""

    width: int = 512
    feed_forward_width: int = 2048
    heads: int = 8
    layers: int = 6
    recurrent: int = 512
    vocabulary: int = 32_000
    pieces: int = 8_000
    length: int = 32
    sentences: int = 768
    max_tokens: int = 1024


FULL = Size()
TINY = Size(32, 64, 2, 1, 16, 96, 300, 6, 4, 48)
TRAINING = Training(
    precision="bf16",
    tokens_per_batch=16_384,
    learning_rate=5e-4,
    schedule="inverse_sqrt",
    warmup_steps=400,
    validate_every=NEVER,
    save_every=NEVER,
    valid_sentences=0,
    report_every=NEVER,
)


def transformer(size: Size, *, shared: bool = True, dropout: float = 0.1) -> Recipe:
    """Transformer-base with post-norm, as `transformers` and CTranslate2 have it."""
    common: dict[str, Any] = {
        "width": size.width,
        "heads": size.heads,
        "feed_forward_width": size.feed_forward_width,
        "layers": size.layers,
        "norm": "post",
        "dropout": dropout,
    }
    return Recipe(
        data=Data(max_tokens=size.max_tokens),
        text=Text(
            tokenizer="bpe",
            source_vocabulary_size=size.pieces,
            target_vocabulary_size=size.pieces,
            shared_vocabulary=shared,
        ),
        encoder=TransformerEncoder(**common),
        decoder=TransformerDecoder(**common, tie_embeddings=True, share_source_embedding=shared),
        training=TRAINING,
    )


def bahdanau(size: Size, *, dropout: float = 0.2) -> Recipe:
    """JoeyNMT's configuration: a bi-LSTM encoder, and an LSTM decoder with additive attention."""
    width = size.recurrent
    return Recipe(
        data=Data(max_tokens=size.max_tokens),
        text=Text(
            tokenizer="bpe", source_vocabulary_size=size.pieces, target_vocabulary_size=size.pieces
        ),
        encoder=_encoder(size, dropout),
        decoder=BahdanauDecoder(
            attention=Attention(score="additive", score_width=width),
            cell="lstm",
            embedding_width=width // 2,
            width=width,
            readout_width=width,
            dropout=dropout,
        ),
        training=replace(TRAINING, learning_rate=1e-3),
    )


def luong(size: Size, *, feeding: bool = True, dropout: float = 0.2) -> Recipe:
    """The same encoder, and an LSTM decoder with Luong's general score."""
    width = size.recurrent
    return Recipe(
        data=Data(max_tokens=size.max_tokens),
        text=Text(
            tokenizer="bpe", source_vocabulary_size=size.pieces, target_vocabulary_size=size.pieces
        ),
        encoder=_encoder(size, dropout),
        decoder=LuongDecoder(
            attention=Attention(score="general"),
            cell="lstm",
            embedding_width=width // 2,
            width=width,
            input_feeding=feeding,
            dropout=dropout,
        ),
        training=replace(TRAINING, learning_rate=1e-3),
    )


def _encoder(size: Size, dropout: float) -> RNNEncoder:
    half = size.recurrent // 2
    return RNNEncoder(
        cell="lstm", embedding_width=half, width=half, bidirectional=True, dropout=dropout
    )


def trained(recipe: Recipe, **settings: object) -> Recipe:
    """The recipe with other training settings; the longest sentence fits into a batch."""
    training = replace(recipe.training, **settings)
    max_tokens = min(recipe.data.max_tokens, training.tokens_per_batch - 2)
    return replace(recipe, training=training, data=replace(recipe.data, max_tokens=max_tokens))
