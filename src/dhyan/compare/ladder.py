"""The ladder, as data: from one state for a whole sentence to a Transformer, rung by rung."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from dhyan.compare.budget import Budget
from dhyan.config import TransformerDecoder, load_recipe

Settings = Mapping[str, Any]
WARMUP = "training.warmup_steps"


@dataclass(frozen=True)
class Rung:
    """A shipped recipe with settings laid over it, and one sentence about it."""

    name: str
    recipe: str
    about: str
    settings: Settings = field(default_factory=dict)

    def of(self, course: "Course") -> dict[str, Any]:
        """Its settings, with what the course has found good for its kind."""
        decoder = load_recipe(self.recipe, self.settings).decoder
        found = isinstance(decoder, TransformerDecoder)
        return {**(course.transformer if found else course.recurrent), **self.settings}


@dataclass(frozen=True)
class Course:
    """How long and how large, and what all recipes are told, where nothing else is asked for.

    `on_primer` is for pairs of the primer, `by_steps` and `by_time` for a budget of either kind,
    `recurrent` and `transformer` for the rungs of the ladder.
    """

    budget: str
    parameters: str
    settings: Settings = field(default_factory=dict)
    on_primer: Settings = field(default_factory=dict)
    by_steps: Settings = field(default_factory=dict)
    by_time: Settings = field(default_factory=dict)
    recurrent: Settings = field(default_factory=dict)
    transformer: Settings = field(default_factory=dict)

    def usual(self, budget: Budget, *, primer: bool) -> dict[str, Any]:
        """What all recipes are told; no warm-up takes more than a tenth of the steps."""
        paced = self.by_steps if budget.steps else self.by_time
        found = {**self.settings, **(self.on_primer if primer else {}), **paced}
        if budget.steps and WARMUP in found:
            found[WARMUP] = min(found[WARMUP], budget.steps // 10)
        return found


_WIDE = {"decoder.width": 256}  # as wide as the states of both directions, which dot needs

LADDER = (
    Rung(
        "bottleneck-forward",
        "sutskever2014-small",
        "no attention: two LSTM layers read the sentence into one state",
        {"encoder.reverse_source": False},
    ),
    Rung(
        "bottleneck-reversed",
        "sutskever2014-small",
        "the same, the sentence read backwards (Sutskever, Vinyals and Le, 2014)",
    ),
    Rung(
        "bottleneck-deep",
        "sutskever2014-small",
        "the same, backwards, with four layers on either side",
        {"encoder.layers": 4, "decoder.layers": 4},
    ),
    Rung(
        "bahdanau",
        "bahdanau2015-small",
        "additive attention that looks before each step (Bahdanau, Cho and Bengio, 2015)",
    ),
    Rung(
        "luong-dot",
        "luong2015-small",
        "the dot product, after each step (Luong, Pham and Manning, 2015)",
        {**_WIDE, "decoder.attention.score": "dot"},
    ),
    Rung(
        "luong-general",
        "luong2015-small",
        "the general score: a learned matrix between the two",
        _WIDE,
    ),
    Rung(
        "luong-concat",
        "luong2015-small",
        "the concat score: a small network sees both",
        {
            **_WIDE,
            "decoder.attention.score": "concat",
            "decoder.attention.score_width": 128,
        },
    ),
    Rung(
        "luong-local-p",
        "luong2015-small",
        "the general score within a window about a place it predicts",
        {**_WIDE, "decoder.attention.window": "predicted"},
    ),
    Rung(
        "luong-unfed",
        "luong2015-small",
        "the general score without input feeding: a step is not told where the last one looked",
        {**_WIDE, "decoder.input_feeding": False},
    ),
    Rung(
        "transformer",
        "transformer2017-small",
        "attention and nothing else (Vaswani et al., 2017)",
    ),
    Rung(
        "transformer-parameter-free",
        "transformer2017-small",
        "its encoder looks without learned queries, keys and values: softmax(X Xᵀ) X",
        {"encoder.self_attention": "parameter_free"},
    ),
    Rung(
        "transformer-no-self",
        "transformer2017-small",
        "its encoder does not look at all: a word's state knows of no other word",
        {"encoder.self_attention": "none"},
    ),
)


def _trained(rate: float, dropout: float) -> dict[str, Any]:
    dropped = {"encoder.dropout": dropout, "decoder.dropout": dropout}
    return {"training.learning_rate": rate, **dropped}


_COSINE = {"training.schedule": "cosine", "training.min_learning_rate_ratio": 0.02}
_SLOWING = {"training.schedule": "inverse_sqrt"}
_CHOICE = {"training.early_stopping_metric": "loss", "training.valid_sentences": 20}
_EXACT = {"text.tokenizer": "words", "training.label_smoothing": 0.0}  # the primer has few words

PLAIN = Course("3000", "")
QUICK = Course(
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
    recurrent=_trained(5e-3, 0.0),
    transformer=_trained(3e-3, 0.0),
)
FULL = Course(
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
    recurrent=_trained(4e-3, 0.1),
    transformer=_trained(1e-3, 0.1),
)
