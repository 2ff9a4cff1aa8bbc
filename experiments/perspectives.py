"""Snapshot of the lesson perspectives: summaries for two readers, with one head and with four."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from dhyan.lessons.transformer_blocks.perspectives import Perspectives, measure_perspectives

HEADS, SEEDS = (4, 1), (1, 2, 3)
WIDTH = 48
SIDES = {
    "width": WIDTH,
    "feed_forward_width": 2 * WIDTH,
    "layers": 1,
    "positions": "rotary",
    "dropout": 0.0,
}
SETTINGS = {
    "data.synthetic": "perspectives",
    "data.pairs": 12_000,
    **{f"{side}.{key}": value for side in ("encoder", "decoder") for key, value in SIDES.items()},
    "training.steps": 400,
    "training.tokens_per_batch": 3072,
    "training.learning_rate": 4e-3,
    "training.schedule": "cosine",
    "training.warmup_steps": 50,
    "training.halve_from": 0,
    "training.halve_every": 0,
    "training.validate_every": 400,
    "training.valid_sentences": 2,
    "training.save_every": 400,
    "decoding.beam": 1,
}


def runs() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """A run for each number of heads and each seed; the total width of the heads is the same."""
    return {
        f"perspectives-{heads}-s{seed}": (
            "reverse",
            {
                **SETTINGS,
                "encoder.heads": heads,
                "decoder.heads": heads,
                "training.seed": seed,
            },
        )
        for heads in HEADS
        for seed in SEEDS
    }


def perspectives_snapshot(folder: Path) -> Perspectives:
    """The summaries of every run."""
    return measure_perspectives([folder / name for name in runs()])
