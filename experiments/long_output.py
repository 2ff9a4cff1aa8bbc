"""Snapshot of the lesson long_output: a Transformer that reads six words and writes hundreds."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dhyan.lessons.sequences.long_output import LongOutput, measure_long_output

SEEDS = (1, 2)
SIDES = {
    "width": 64,
    "heads": 4,
    "feed_forward_width": 128,
    "positions": "rotary",
    "dropout": 0.0,
}
SETTINGS = {
    "data.synthetic": "counting",
    "data.pairs": 20_000,
    "data.max_tokens": 512,
    **{f"{side}.{key}": value for side in ("encoder", "decoder") for key, value in SIDES.items()},
    "encoder.layers": 1,
    "decoder.layers": 2,
    "training.steps": 1200,
    "training.tokens_per_batch": 2048,
    "training.learning_rate": 4e-3,
    "training.schedule": "cosine",
    "training.warmup_steps": 50,
    "training.halve_from": 0,
    "training.halve_every": 0,
    "training.validate_every": 1200,
    "training.valid_sentences": 2,
    "training.save_every": 1200,
    "decoding.beam": 1,
    "decoding.max_length": 500,
}


def runs() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """A run for every seed; each takes a minute or two on one thread."""
    return {f"counting-s{seed}": ("reverse", {**SETTINGS, "training.seed": seed}) for seed in SEEDS}


def long_output_snapshot(folder: Path) -> LongOutput:
    """The outputs of every run."""
    return measure_long_output([folder / name for name in runs()])
