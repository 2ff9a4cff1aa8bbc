"""Models that `dhyan compare` offers: a ladder from RNNs without attention to the Transformer."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dhyan.compare.budget import Budget
from dhyan.config import TransformerDecoder, load_recipe

Settings = Mapping[str, Any]
WARMUP = "training.warmup_steps"


@dataclass(frozen=True)
class Rung:
    """A shipped recipe with changed settings, and a description."""

    name: str
    recipe: str
    about: str
    settings: Settings = field(default_factory=dict)

    def settings_for(self, preset: "Preset") -> dict[str, Any]:
        """Its settings over those of the preset for its architecture."""
        decoder = load_recipe(self.recipe, self.settings).decoder
        is_transformer = isinstance(decoder, TransformerDecoder)
        return {**(preset.transformer if is_transformer else preset.recurrent), **self.settings}


@dataclass(frozen=True)
class Preset:
    """Default budget, size and settings of a comparison.

    `on_primer` applies to primer data, `by_steps` and `by_time` to a budget of that kind,
    `recurrent` and `transformer` to rungs of the ladder of that architecture.
    """

    budget: str
    parameters: str
    settings: Settings = field(default_factory=dict)
    on_primer: Settings = field(default_factory=dict)
    by_steps: Settings = field(default_factory=dict)
    by_time: Settings = field(default_factory=dict)
    recurrent: Settings = field(default_factory=dict)
    transformer: Settings = field(default_factory=dict)

    def shared_settings(self, budget: Budget, *, primer: bool) -> dict[str, Any]:
        """The settings of all recipes; warm-up takes at most a tenth of the steps."""
        schedule = self.by_steps if budget.steps else self.by_time
        settings = {**self.settings, **(self.on_primer if primer else {}), **schedule}
        if budget.steps and WARMUP in settings:
            settings[WARMUP] = min(settings[WARMUP], budget.steps // 10)
        return settings


_WIDE = {
    "decoder.width": 256
}  # the dot score needs decoder states as wide as the bidirectional encoder's

LADDER = (
    Rung(
        "bottleneck-forward",
        "sutskever2014-small",
        "no attention: the last state of two LSTM layers starts the decoder, which reads nothing else",
        {"encoder.reverse_source": False},
    ),
    Rung(
        "bottleneck-reversed",
        "sutskever2014-small",
        "the same with the source reversed (Sutskever, Vinyals and Le, 2014)",
    ),
    Rung(
        "bottleneck-deep",
        "sutskever2014-small",
        "the same, reversed, with four layers in encoder and decoder",
        {"encoder.layers": 4, "decoder.layers": 4},
    ),
    Rung(
        "cho",
        "cho2014-small",
        "no attention: the decoder reads the last encoder state again at every step (Cho et al., 2014)",
    ),
    Rung(
        "bahdanau",
        "bahdanau2015-small",
        "additive attention before each decoder step (Bahdanau, Cho and Bengio, 2015)",
    ),
    Rung(
        "luong-dot",
        "luong2015-small",
        "dot-product attention after each decoder step (Luong, Pham and Manning, 2015)",
        {**_WIDE, "decoder.attention.score": "dot"},
    ),
    Rung(
        "luong-general",
        "luong2015-small",
        "the general score: a learned bilinear form",
        _WIDE,
    ),
    Rung(
        "luong-concat",
        "luong2015-small",
        "the concat score: a feed-forward layer over both states",
        {
            **_WIDE,
            "decoder.attention.score": "concat",
            "decoder.attention.score_width": 128,
        },
    ),
    Rung(
        "luong-local-p",
        "luong2015-small",
        "the general score in a window around a predicted position (local-p)",
        {**_WIDE, "decoder.attention.window": "predicted"},
    ),
    Rung(
        "luong-unfed",
        "luong2015-small",
        "the general score without input feeding",
        {**_WIDE, "decoder.input_feeding": False},
    ),
    Rung(
        "transformer",
        "transformer2017-small",
        "the Transformer (Vaswani et al., 2017)",
    ),
    Rung(
        "transformer-parameter-free",
        "transformer2017-small",
        "encoder self-attention without learned projections: softmax(X Xᵀ) X",
        {"encoder.self_attention": "parameter_free"},
    ),
    Rung(
        "transformer-no-self",
        "transformer2017-small",
        "no encoder self-attention: source states are independent of each other",
        {"encoder.self_attention": "none"},
    ),
)


def _training(rate: float, dropout: float) -> dict[str, Any]:
    dropped = {"encoder.dropout": dropout, "decoder.dropout": dropout}
    return {"training.learning_rate": rate, **dropped}


_COSINE = {"training.schedule": "cosine", "training.min_learning_rate_ratio": 0.02}
_SLOWING = {"training.schedule": "inverse_sqrt"}
_CHOICE = {"training.early_stopping_metric": "loss", "training.valid_sentences": 20}
_EXACT = {"text.tokenizer": "words", "training.label_smoothing": 0.0}  # the primer has few words

PLAIN = Preset("3000", "")
QUICK = Preset(
    "1500",
    "1M",
    settings={**_CHOICE, "training.tokens_per_batch": 640, WARMUP: 100},
    on_primer={
        **_EXACT,
        "data.pairs": 60_000,
        "data.max_words": 15,
        "data.core_share": 0.1,
        "text.source_vocabulary_size": 4000,
        "text.target_vocabulary_size": 5000,
    },
    by_steps=_COSINE,
    by_time=_SLOWING,
    recurrent=_training(5e-3, 0.0),
    transformer=_training(3e-3, 0.0),
)
FULL = Preset(
    "4000",
    "8M",
    settings={**_CHOICE, "training.tokens_per_batch": 16_384, WARMUP: 200},
    on_primer={
        **_EXACT,
        "data.pairs": 200_000,
        "data.max_words": 60,
        "text.source_vocabulary_size": 6000,
        "text.target_vocabulary_size": 8000,
    },
    by_steps=_COSINE,
    by_time=_SLOWING,
    recurrent=_training(4e-3, 0.1),
    transformer=_training(1e-3, 0.1),
)
