"""Every attention and every model: add one here and every law is tested for it."""

from typing import get_args, get_type_hints

from dhyan import config
from dhyan.attention import (
    AdditiveScore,
    DotScore,
    GeneralScore,
    MultiHeadAttention,
    SingleHeadAttention,
    bottleneck,
    plain,
    the_first,
    the_past,
)
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq

WIDTH, VOCABULARY = 32, 14

ATTENTIONS = {
    "bottleneck": bottleneck,
    "bottleneck-backwards": lambda: bottleneck(sees=the_first),
    "additive": lambda: SingleHeadAttention(AdditiveScore(WIDTH, WIDTH, 24)),
    "dot": lambda: SingleHeadAttention(DotScore()),
    "scaled-dot": lambda: SingleHeadAttention(DotScore(scaled=True)),
    "general": lambda: SingleHeadAttention(GeneralScore(WIDTH, WIDTH)),
    "plain": plain,
    "multihead": lambda: MultiHeadAttention(WIDTH, heads=4),
    "multihead-causal": lambda: MultiHeadAttention(WIDTH, heads=4, sees=the_past),
    "multihead-additive": lambda: MultiHeadAttention(
        WIDTH, heads=4, score=AdditiveScore(WIDTH // 4, WIDTH // 4, 16)
    ),
    "multihead-general": lambda: MultiHeadAttention(WIDTH, heads=2, score=GeneralScore(16, 16)),
}
CAUSAL = {"multihead-causal"}

KINDS = get_args(get_type_hints(config.Attention)["kind"])
LOOKS = {
    **{kind: config.Attention(kind=kind, hidden=24) for kind in KINDS},
    **{
        f"multihead-{kind}": config.Attention(kind=kind, hidden=12, heads=4)
        for kind in KINDS
        if kind != "bottleneck"
    },
}
RNN_ENCODERS = {
    "gru": config.RNNEncoder(embedding=16, width=WIDTH),
    "bi-lstm": config.RNNEncoder(
        cell="lstm", embedding=16, width=WIDTH // 2, layers=2, bidirectional=True
    ),
    "deep-backwards-lstm": config.RNNEncoder(
        cell="lstm", embedding=16, width=WIDTH, layers=2, backwards=True
    ),
    "backwards-lstm": config.RNNEncoder(cell="lstm", embedding=16, width=WIDTH, backwards=True),
}
TRANSFORMER_ENCODERS = {
    "transformer": config.TransformerEncoder(width=WIDTH, heads=4, hidden=48, layers=2),
    "transformer-post-learned": config.TransformerEncoder(
        width=WIDTH, heads=4, hidden=48, layers=2, norm="post", positions="learned"
    ),
}
ENCODERS = {**RNN_ENCODERS, **TRANSFORMER_ENCODERS}
DECODERS = {
    **{
        f"bahdanau-{name}": config.BahdanauDecoder(
            attention=look, embedding=16, width=WIDTH, readout=16
        )
        for name, look in LOOKS.items()
    },
    **{
        f"luong-{name}": config.LuongDecoder(attention=look, embedding=16, width=WIDTH)
        for name, look in LOOKS.items()
    },
    "bahdanau-deep-lstm-tied": config.BahdanauDecoder(
        cell="lstm", layers=2, embedding=16, width=WIDTH, readout=16, tied=True
    ),
    "luong-deep-gru-parallel": config.LuongDecoder(
        cell="gru", layers=2, embedding=16, width=WIDTH, input_feeding=False
    ),
    "luong-direct": config.LuongDecoder(
        bridge="direct", layers=2, embedding=16, width=WIDTH, attention=LOOKS["bottleneck"]
    ),
    "transformer": config.TransformerDecoder(width=WIDTH, heads=4, hidden=48, layers=2),
    "transformer-post-learned": config.TransformerDecoder(
        width=WIDTH, heads=4, hidden=48, layers=2, norm="post", positions="learned", tied=False
    ),
}


def build(encoder: str, decoder: str) -> Seq2Seq:
    recipe = config.Recipe(
        encoder=ENCODERS[encoder], decoder=DECODERS[decoder], data=config.Data(longest=40)
    )
    return build_model(recipe, VOCABULARY, VOCABULARY)


MODELS = [
    *[("gru", decoder) for decoder in DECODERS if decoder != "luong-direct"],
    ("deep-backwards-lstm", "luong-direct"),
    ("bi-lstm", "luong-direct"),
    *[(encoder, "bahdanau-additive") for encoder in ENCODERS if encoder != "gru"],
    *[(encoder, "luong-bottleneck") for encoder in ENCODERS if encoder != "gru"],
    ("transformer", "transformer"),
    ("transformer-post-learned", "transformer-post-learned"),
    ("bi-lstm", "transformer"),
]
