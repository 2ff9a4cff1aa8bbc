"""Every attention and every model: add one here and every law is tested for it."""

from dhyan import config
from dhyan.attention import (
    AdditiveScore,
    AlibiBias,
    BiasedScore,
    CoverageScore,
    DotScore,
    GeneralScore,
    LocalWindow,
    LocationScore,
    MultiHeadAttention,
    PredictedWindow,
    RelativePositionBias,
    RotaryScore,
    SingleHeadAttention,
    bottleneck,
    causal,
    first_position,
    parameter_free_attention,
)
from dhyan.attention.registry import BUILT_IN
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq

WIDTH, VOCABULARY = 32, 14

ATTENTIONS = {
    "bottleneck": bottleneck,
    "bottleneck-backwards": lambda: bottleneck(mask=first_position),
    "additive": lambda: SingleHeadAttention(AdditiveScore(WIDTH, WIDTH, 24)),
    "dot": lambda: SingleHeadAttention(DotScore()),
    "scaled-dot": lambda: SingleHeadAttention(DotScore(scaled=True)),
    "general": lambda: SingleHeadAttention(GeneralScore(WIDTH, WIDTH)),
    "plain": parameter_free_attention,
    "multihead": lambda: MultiHeadAttention(WIDTH, heads=4),
    "multihead-causal": lambda: MultiHeadAttention(WIDTH, heads=4, mask=causal),
    "multihead-additive": lambda: MultiHeadAttention(
        WIDTH, heads=4, score=AdditiveScore(WIDTH // 4, WIDTH // 4, 16)
    ),
    "multihead-general": lambda: MultiHeadAttention(WIDTH, heads=2, score=GeneralScore(16, 16)),
    "location": lambda: SingleHeadAttention(LocationScore(WIDTH, 40)),
    "coverage": lambda: SingleHeadAttention(CoverageScore(WIDTH, WIDTH, 24, filters=3, radius=2)),
    "coverage-of-one-place": lambda: SingleHeadAttention(
        CoverageScore(WIDTH, WIDTH, 24, filters=1, radius=0)
    ),
    "location-aware": lambda: SingleHeadAttention(
        CoverageScore(WIDTH, WIDTH, 24, filters=3, radius=2, last_weights=True)
    ),
    "multihead-location-aware": lambda: MultiHeadAttention(
        WIDTH,
        heads=4,
        kv_heads=2,
        score=CoverageScore(8, 8, 16, filters=2, radius=1, last_weights=True),
    ),
    "local-m": lambda: SingleHeadAttention(AdditiveScore(WIDTH, WIDTH, 24), mask=LocalWindow(2)),
    "local-m-dot": lambda: SingleHeadAttention(DotScore(), mask=LocalWindow(1)),
    "local-p": lambda: SingleHeadAttention(
        GeneralScore(WIDTH, WIDTH), mask=PredictedWindow(WIDTH, 3)
    ),
    "multihead-local-p": lambda: MultiHeadAttention(WIDTH, heads=4, mask=PredictedWindow(8, 2)),
    "multihead-coverage": lambda: MultiHeadAttention(
        WIDTH, heads=4, kv_heads=2, score=CoverageScore(8, 8, 16, filters=2, radius=1)
    ),
    "grouped": lambda: MultiHeadAttention(WIDTH, heads=4, kv_heads=2),
    "grouped-in-one": lambda: MultiHeadAttention(WIDTH, heads=4, kv_heads=1),
    "rotary": lambda: MultiHeadAttention(WIDTH, heads=4, score=RotaryScore(8)),
    "rotary-causal": lambda: MultiHeadAttention(
        WIDTH, heads=4, kv_heads=2, score=RotaryScore(8, scaled=False), mask=causal
    ),
    "alibi": lambda: MultiHeadAttention(WIDTH, heads=4, score=BiasedScore(AlibiBias(4))),
    "relative": lambda: MultiHeadAttention(
        WIDTH, heads=4, score=BiasedScore(RelativePositionBias(4, buckets=8, max_distance=6))
    ),
    "relative-causal": lambda: MultiHeadAttention(
        WIDTH,
        heads=4,
        score=BiasedScore(RelativePositionBias(4, buckets=8, max_distance=6, causal=True)),
        mask=causal,
    ),
    "alibi-causal": lambda: MultiHeadAttention(
        WIDTH, heads=4, score=BiasedScore(AlibiBias(4)), mask=causal
    ),
    "dropout": lambda: MultiHeadAttention(WIDTH, heads=4, dropout=0.3),
}
CAUSAL = {"multihead-causal", "rotary-causal", "alibi-causal", "relative-causal"}
RELATIVE = {*CAUSAL, "rotary", "alibi", "relative"}  # the last query stands at the last position
GAUSSIAN_WINDOWS = {
    "local-p",
    "multihead-local-p",
}  # Gaussian weights around the predicted position

SCORE_NAMES = BUILT_IN
SCORES = [score for score in SCORE_NAMES if score not in ("bottleneck", "concat", "scaled_dot")]
ATTENTION_SETTINGS = {
    **{score: config.Attention(score=score, score_width=24) for score in SCORE_NAMES},
    **{
        f"multihead-{score}": config.Attention(score=score, score_width=12, heads=4, kv_heads=2)
        for score in SCORE_NAMES
        if score != "bottleneck"
    },
    **{
        f"{window}-{score}": config.Attention(
            score=score, score_width=24, window=window, window_radius=2
        )
        for score in SCORE_NAMES
        for window in ("monotonic", "predicted")
        if score not in ("bottleneck", "concat")
    },
    "multihead-predicted": config.Attention(
        score="scaled_dot", heads=4, window="predicted", window_radius=2, dropout=0.2
    ),
}
RNN_ENCODERS = {
    "gru": config.RNNEncoder(embedding_width=16, width=WIDTH),
    "bi-lstm": config.RNNEncoder(
        cell="lstm", embedding_width=16, width=WIDTH // 2, layers=2, bidirectional=True
    ),
    "deep-backwards-lstm": config.RNNEncoder(
        cell="lstm", embedding_width=16, width=WIDTH, layers=2, reverse_source=True
    ),
    "backwards-lstm": config.RNNEncoder(
        cell="lstm", embedding_width=16, width=WIDTH, reverse_source=True
    ),
    "plain-rnn": config.RNNEncoder(cell="rnn", embedding_width=16, width=WIDTH, bidirectional=True),
    "one-hot": config.RNNEncoder(cell="gru", input="one_hot", width=WIDTH),
}
TRANSFORMER_ENCODERS = {
    "transformer": config.TransformerEncoder(width=WIDTH, heads=4, feed_forward_width=48, layers=2),
    "transformer-post-learned": config.TransformerEncoder(
        width=WIDTH, heads=4, feed_forward_width=48, layers=2, norm="post", positions="learned"
    ),
    "transformer-rotary-swiglu-grouped": config.TransformerEncoder(
        width=WIDTH,
        heads=4,
        kv_heads=2,
        feed_forward_width=48,
        layers=2,
        activation="swiglu",
        positions="rotary",
        attention_dropout=0.1,
    ),
    "transformer-alibi-gelu": config.TransformerEncoder(
        width=WIDTH, heads=4, feed_forward_width=48, layers=2, activation="gelu", positions="alibi"
    ),
    "transformer-marian": config.TransformerEncoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        norm="post",
        activation="silu",
        sinusoids="halves",
        scale_embedding=False,
    ),
    "transformer-tensor2tensor": config.TransformerEncoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        sinusoids="tensor2tensor",
        reads_eos=False,
    ),
    "transformer-mbart": config.TransformerEncoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        activation="gelu",
        positions="learned",
        embedding_norm=True,
    ),
    "transformer-t5": config.TransformerEncoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        score="dot",
        activation="geglu",
        normalization="rms",
        positions="relative",
        position_buckets=8,
        position_max_distance=6,
        scale_embedding=False,
    ),
    "transformer-m2m100": config.TransformerEncoder(
        width=WIDTH, heads=4, feed_forward_width=48, layers=2, sinusoids="fairseq"
    ),
    "transformer-plain": config.TransformerEncoder(
        width=WIDTH, heads=4, feed_forward_width=48, layers=2, self_attention="parameter_free"
    ),
    "transformer-plain-post": config.TransformerEncoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        self_attention="parameter_free",
        norm="post",
    ),
    "transformer-none": config.TransformerEncoder(
        width=WIDTH, heads=4, feed_forward_width=48, layers=2, self_attention="none"
    ),
    **{
        f"transformer-{score}": config.TransformerEncoder(
            width=WIDTH, heads=4, feed_forward_width=48, layers=1, score=score, positions="none"
        )
        for score in SCORES
    },
}
ENCODERS = {**RNN_ENCODERS, **TRANSFORMER_ENCODERS}
DECODERS = {
    **{
        f"bahdanau-{name}": config.BahdanauDecoder(
            attention=look, embedding_width=16, width=WIDTH, readout_width=16
        )
        for name, look in ATTENTION_SETTINGS.items()
        if not name.endswith("concat") and not name.startswith(("monotonic", "predicted"))
    },
    **{
        f"luong-{name}": config.LuongDecoder(attention=look, embedding_width=16, width=WIDTH)
        for name, look in ATTENTION_SETTINGS.items()
    },
    "rnn": config.RNNDecoder(embedding_width=16, width=WIDTH),
    "rnn-deep-gru-tied": config.RNNDecoder(
        cell="gru", layers=2, embedding_width=WIDTH, width=WIDTH, tie_embeddings=True
    ),
    "rnn-plain-one-hot": config.RNNDecoder(cell="rnn", input="one_hot", width=WIDTH),
    "rnn-copy": config.RNNDecoder(
        embedding_width=16, width=WIDTH, share_source_embedding=True, copy_mechanism=True
    ),
    "rnn-direct": config.RNNDecoder(bridge="direct", layers=2, embedding_width=16, width=WIDTH),
    "bahdanau-deep-lstm-tied": config.BahdanauDecoder(
        cell="lstm",
        layers=2,
        embedding_width=16,
        width=WIDTH,
        readout_width=16,
        tie_embeddings=True,
    ),
    **{
        f"luong-parallel-{name}": config.LuongDecoder(
            attention=ATTENTION_SETTINGS[name], embedding_width=16, width=WIDTH, input_feeding=False
        )
        for name in (
            "coverage",
            "location_aware",
            "monotonic-dot",
            "predicted-coverage",
            "multihead-coverage",
        )
    },
    "luong-deep-gru-parallel": config.LuongDecoder(
        cell="gru", layers=2, embedding_width=16, width=WIDTH, input_feeding=False
    ),
    "bahdanau-deep-lstm-query-sum": config.BahdanauDecoder(
        cell="lstm",
        layers=2,
        embedding_width=16,
        width=WIDTH,
        readout_width=16,
        query="sum",
    ),
    "bahdanau-plain-rnn-one-hot": config.BahdanauDecoder(
        cell="rnn", input="one_hot", width=WIDTH, readout_width=16
    ),
    "bahdanau-copy": config.BahdanauDecoder(
        embedding_width=16, width=WIDTH, readout_width=16, copy_mechanism=True
    ),
    "luong-shared-copy": config.LuongDecoder(
        embedding_width=16, width=WIDTH, share_source_embedding=True, copy_mechanism=True
    ),
    "luong-direct": config.LuongDecoder(
        bridge="direct",
        layers=2,
        embedding_width=16,
        width=WIDTH,
        attention=ATTENTION_SETTINGS["bottleneck"],
    ),
    "transformer": config.TransformerDecoder(width=WIDTH, heads=4, feed_forward_width=48, layers=2),
    "transformer-post-learned": config.TransformerDecoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        norm="post",
        positions="learned",
        tie_embeddings=False,
    ),
    "transformer-rotary-swiglu-grouped": config.TransformerDecoder(
        width=WIDTH,
        heads=4,
        kv_heads=2,
        feed_forward_width=48,
        layers=2,
        activation="swiglu",
        positions="rotary",
        attention_dropout=0.1,
    ),
    "transformer-alibi-gelu-shared": config.TransformerDecoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=1,
        activation="gelu",
        positions="alibi",
        share_source_embedding=True,
    ),
    "transformer-marian": config.TransformerDecoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        norm="post",
        activation="silu",
        sinusoids="halves",
        scale_embedding=False,
    ),
    "transformer-tensor2tensor": config.TransformerDecoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        sinusoids="tensor2tensor",
    ),
    "transformer-mbart": config.TransformerDecoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        activation="gelu",
        positions="learned",
        embedding_norm=True,
    ),
    "transformer-t5": config.TransformerDecoder(
        width=WIDTH,
        heads=4,
        feed_forward_width=48,
        layers=2,
        score="dot",
        activation="geglu",
        normalization="rms",
        positions="relative",
        position_buckets=8,
        position_max_distance=6,
        scale_embedding=False,
    ),
    "transformer-m2m100": config.TransformerDecoder(
        width=WIDTH, heads=4, feed_forward_width=48, layers=2, sinusoids="fairseq"
    ),
    "transformer-copy": config.TransformerDecoder(
        width=WIDTH, heads=4, feed_forward_width=48, layers=2, score="general", copy_mechanism=True
    ),
    **{
        f"transformer-{score}": config.TransformerDecoder(
            width=WIDTH, heads=4, kv_heads=2, feed_forward_width=48, layers=1, score=score
        )
        for score in SCORES
    },
}


def recipe_of(encoder: str, decoder: str) -> config.Recipe:
    return config.Recipe(
        encoder=ENCODERS[encoder],
        decoder=DECODERS[decoder],
        data=config.Data(max_tokens=40),
        text=config.Text(shared_vocabulary=True),
    )


def build(encoder: str, decoder: str) -> Seq2Seq:
    return build_model(recipe_of(encoder, decoder), VOCABULARY, VOCABULARY)


SPECIAL = {  # they do not fit every encoder
    "luong-direct",
    "rnn-direct",
    "transformer-alibi-gelu-shared",
}
MODELS = [
    *[("gru", decoder) for decoder in DECODERS if decoder not in SPECIAL],
    ("deep-backwards-lstm", "luong-direct"),
    ("bi-lstm", "luong-direct"),
    ("deep-backwards-lstm", "rnn-direct"),
    *[(encoder, "rnn") for encoder in RNN_ENCODERS if encoder != "gru"],
    ("transformer", "rnn"),
    *[(encoder, "bahdanau-additive") for encoder in ENCODERS if encoder != "gru"],
    *[(encoder, "luong-bottleneck") for encoder in RNN_ENCODERS if encoder != "gru"],
    ("transformer", "luong-bottleneck"),
    ("transformer", "transformer"),
    ("transformer-post-learned", "transformer-post-learned"),
    ("transformer-rotary-swiglu-grouped", "transformer-rotary-swiglu-grouped"),
    ("transformer-alibi-gelu", "transformer-alibi-gelu-shared"),
    ("transformer-additive", "transformer-copy"),
    ("transformer-plain", "transformer"),
    ("transformer-none", "transformer"),
    ("bi-lstm", "transformer"),
]
