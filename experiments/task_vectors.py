"""Snapshots of the lessons idioms, word_senses and task_specific_vectors."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS
from dhyan.lessons.self_attention.idioms import (
    Idioms,
    LadderScores,
    MixerComparison,
    MixerScores,
    measure_idioms,
)
from dhyan.lessons.self_attention.task_specific_vectors import (
    SENTENCE,
    TaskSpecificVectors,
    measure_tasks,
    train_two_tasks,
)
from dhyan.lessons.self_attention.word_senses import WordSenseProbes, word_senses
from dhyan.lessons.trained_model import load_translator

MIXERS = (
    "none",
    "mean",
    "parameter-free",
    "parameter-free, cosine",
    "learned V",
    "learned Q, K",
    "learned Q, K, V",
)
TRANSFORMERS = ("transformer", "transformer-parameter-free", "transformer-no-self")


def idioms_snapshot(run: Path) -> Idioms:
    """Idioms of a run, with the figures of the mixers and the ladder."""
    return replace(measure_idioms(load_translator(run)), mixer_comparison=mixer_comparison())


def word_senses_snapshot(run: Path) -> WordSenseProbes:
    """Word senses in the encoder of a run."""
    return word_senses(run)


def task_vectors_snapshot(*, steps: int = 1500, device: str = "cpu") -> TaskSpecificVectors:
    """What two tasks make of one encoder, trained longer than a reader would wait."""
    encoders, reseeded = (train_two_tasks(steps=steps, seed=seed, device=device) for seed in (1, 2))
    return measure_tasks(encoders, reseeded, SENTENCE, steps)


def mixer_comparison() -> MixerComparison:
    """The newest results of `experiments mixer` and of the ladder."""
    results, models = _newest("mixer")["found"], _newest("ladder_h200")["models"]
    mixers = tuple(_mixer_scores(name, results["idioms"], results["senses"]) for name in MIXERS)
    common = results["idioms"]["commonest"], results["senses"]["commonest"]
    seen, new = common[0]["seen"], common[0]["held_out"]
    guess = MixerScores("commonest reading", 0, seen, new, common[1]["held_out"], (new, new))
    return MixerComparison(
        (guess, *mixers), tuple(_ladder_scores(name, models[name]) for name in TRANSFORMERS)
    )


def _mixer_scores(name: str, idiom: Any, senses: Any) -> MixerScores:
    arm, sense_accuracy = idiom["arms"][name], senses["arms"][name]["accuracy"]
    seen, new = (arm["accuracy"][key] for key in ("seen", "held_out"))
    spread = new["least"], new["most"]
    senses = sense_accuracy["held_out"]["mean"]
    return MixerScores(name, arm["parameters"], seen["mean"], new["mean"], senses, spread)


def _ladder_scores(name: str, model: Any) -> LadderScores:
    tests = (model["tests"][test]["targeted_accuracy"] for test in ("idiom", "context"))
    shares = (round(test["share"], 4) for test in tests)
    return LadderScores(name, *shares)


def _newest(what: str) -> Any:
    """Figures of the newest result file of a benchmark."""
    return json.loads(sorted(RESULTS.glob(f"{what}_*.json"))[-1].read_text("utf-8"))["figures"]
