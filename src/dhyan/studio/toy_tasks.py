"""Toy tasks that are learnt in a minute, each with a probe sentence to watch."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

CHECKPOINTS = 12


@dataclass(frozen=True)
class Toy:
    """A recipe with settings; `probe` is a sentence, `expected` its right translation."""

    recipe: str
    settings: Mapping[str, Any]
    probe: str
    expected: str


def _schedule(steps: int) -> dict[str, Any]:
    """Evenly spaced checkpoints and validations, all of them kept."""
    interval = steps // CHECKPOINTS
    return {
        "training.steps": interval * CHECKPOINTS,
        "training.save_every": interval,
        "training.validate_every": interval,
        "training.valid_sentences": 20,
        "training.keep_checkpoints": 1000,
        "training.report_every": 5,
        "training.schedule": "cosine",
        "decoding.beam": 1,
    }


_SMALL = {
    "data.pairs": 8000,
    "encoder.embedding_width": 32,
    "encoder.width": 48,
    "encoder.dropout": 0.0,
    "decoder.embedding_width": 32,
    "decoder.width": 64,
    "decoder.readout_width": 48,
    "decoder.dropout": 0.0,
    "decoder.attention.score_width": 48,
}

TOYS: Mapping[str, Toy] = {
    "copy": Toy(
        "numbers",
        {**_SMALL, **_schedule(240), "data.task": "copy", "training.warmup_steps": 30},
        "n a m a s t e",
        "n a m a s t e",
    ),
    "reverse": Toy(
        "numbers",
        {**_SMALL, **_schedule(192), "data.task": "reverse", "training.warmup_steps": 30},
        "n a m a s t e",
        "e t s a m a n",
    ),
    "dates": Toy(
        "numbers",
        {
            **_SMALL,
            **_schedule(300),
            "data.task": "dates",
            "text.tokenizer": "characters",
            "training.warmup_steps": 30,
        },
        "25 march 1998",
        "1998-03-25",
    ),
    "hindi": Toy(
        "primer",
        {
            **_schedule(408),
            "data.pairs": 5000,
            "data.max_words": 8,
            "data.core_share": 0.1,
            "training.warmup_steps": 50,
        },
        "Anil sends the money to Ravi.",
        "अनिल रवि को पैसा भेजता है।",
    ),
}
