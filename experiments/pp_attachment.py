"""Transformers with one, two, four and eight heads: PP attachment, head statistics, state pull."""

from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dhyan.data.primer import Bounds
from dhyan.lessons.self_attention.gravity import EncoderStatePull, gravity
from dhyan.lessons.trained_model import CORE, LONGEST
from dhyan.lessons.transformer_blocks.multi_head import EncoderHeads, encoder_heads
from dhyan.lessons.transformer_blocks.pp_attachment import PPAttachment, pp_attachment

RECIPE = "transformer2017-small"
HEADS, SEEDS, STEPS = (1, 2, 4, 8), tuple(range(1, 9)), 2000
TRACED_RUN, TRACED_STEPS = (
    "transformer",
    5000,
)  # the run whose heads and states are shown, its steps
TELESCOPE = "The man saw the astronomer with a telescope."
TEST_SENTENCES, SENTENCES, PAIRS = 320, 300, 300
SETTINGS = {
    "data.synthetic": "primer",
    "data.pairs": 200_000,
    "data.max_words": LONGEST,
    "data.core_share": 1.0,  # every word: the notes' sentences have rare ones
    "text.tokenizer": "words",
    "text.source_vocabulary_size": 6000,
    "text.target_vocabulary_size": 8000,
    "training.label_smoothing": 0.0,
    "training.tokens_per_batch": 8192,
    "training.learning_rate": 0.001,
    "training.schedule": "cosine",
    "training.min_learning_rate_ratio": 0.02,
    "training.warmup_steps": 200,
    "training.validate_every": 500,
    "training.valid_sentences": 50,
    "training.early_stopping_metric": "loss",
}


def runs() -> dict[str, tuple[str, Mapping[str, Any]]]:
    """A recipe and its settings for every training, by the name of its folder.

    Of one seed and length all begin with the same weights and see the same batches.
    """
    by_heads = {f"h{heads}-s{seed}": _run(heads, seed, STEPS) for heads in HEADS for seed in SEEDS}
    return {TRACED_RUN: _run(8, 1, TRACED_STEPS), **by_heads}


def _run(heads: int, seed: int, steps: int) -> tuple[str, Mapping[str, Any]]:
    run_settings = {
        "encoder.heads": heads,
        "decoder.heads": heads,
        "training.seed": seed,
        "training.steps": steps,
        "training.save_every": steps,
    }
    return RECIPE, {**SETTINGS, **run_settings}


def evaluate_heads(
    folder: Path, *, on_progress: Callable[[str], None] = lambda line: None
) -> PPAttachment:
    """PP attachment accuracy of the runs in a folder."""
    names = (name for name in runs() if name != TRACED_RUN)
    named = [folder / name for name in names if (folder / name / "last.json").exists()]
    result = pp_attachment(named or folder, sentences=TEST_SENTENCES, on_progress=on_progress)
    assert isinstance(result, PPAttachment)
    return result


def encoder_heads_snapshot(folder: Path) -> EncoderHeads:
    """Head roles of a run: attention on one sentence, statistics, and PP attachment pairs."""
    bounds = Bounds(max_words=LONGEST, core_share=CORE)
    return encoder_heads(folder, TELESCOPE, sentences=SENTENCES, pairs=PAIRS, bounds=bounds)


def gravity_snapshot(folder: Path) -> EncoderStatePull:
    """An ambiguous word in the encoder of a run, layer by layer; without the states."""
    result = gravity(model=folder, sentences=SENTENCES)
    assert isinstance(result, EncoderStatePull)
    return replace(result, states=result.states[:, :0], other_states=result.other_states[:, :0])
