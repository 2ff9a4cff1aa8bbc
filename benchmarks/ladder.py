"""Predictions about the ladder, written before it was run, and whether its reports confirm them.

The reports are those of `dhyan compare --ladder`: from English to Hindi, and of the two plain
bottlenecks from Hindi to English, where the target is head-initial. No statement and no threshold
was changed after the first full run.
"""

import json
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.predictions import Prediction, Results

SPEEDS = ("training_tokens_per_second", "sentences_per_second")
BOTTLENECKS = ("bottleneck-forward", "bottleneck-reversed", "bottleneck-deep")
ATTENTIVE = (
    "bahdanau",
    "luong-dot",
    "luong-general",
    "luong-concat",
    "luong-unfed",
    "transformer",
    "transformer-parameter-free",
    "transformer-no-self",
)
GLOBAL = ("bahdanau", "luong-dot", "luong-general", "luong-concat", "transformer")


def bleu(report: Results, model: str, test: str = "random") -> float:
    """BLEU of a model on a test set."""
    return float(report["models"][model]["tests"][test]["bleu"]["value"])


def retained(report: Results, model: str) -> float:
    """BLEU of sentences of more than 30 words, divided by that of up to 10."""
    return float(report["models"][model]["tests"]["random"]["retained"]["share"])


def understood(report: Results, model: str, test: str) -> float:
    """Accuracy on a phenomenon: the share of its sentences translated correctly."""
    return float(report["models"][model]["tests"][test]["targeted_accuracy"]["share"])


def alignment_error_rate(report: Results, model: str) -> float:
    """Alignment error rate (AER) of a model's attention."""
    alignment = report["models"][model]["alignment"]
    return float(alignment["tests"]["random"][alignment["at"]]["error_rate"])


def reversal_gain(report: Results, part: int) -> float:
    """Change in token accuracy in a fifth of the target when the source is reversed."""
    shares = [
        report["models"][model]["positions"]["shares"][part]
        for model in ("bottleneck-reversed", "bottleneck-forward")
    ]
    return float(shares[0] - shares[1])


PREDICTIONS = (
    Prediction(
        "Each bottleneck loses at least half its BLEU from sentences of up to 10 words to those of "
        "more than 30.",
        lambda report: max(retained(report, model) for model in BOTTLENECKS) <= 0.5,
    ),
    Prediction(
        "Every model that attends without a window loses less than a tenth.",
        lambda report: min(retained(report, model) for model in ATTENTIVE) >= 0.9,
    ),
    Prediction(
        "Local-p, whose window of 10 words to either side is narrower than a long sentence's "
        "reordering, is the worst of those that attend.",
        lambda report: (
            bleu(report, "luong-local-p") < min(bleu(report, model) for model in ATTENTIVE)
        ),
    ),
    Prediction(
        "Reading backwards makes the first fifth of a Hindi target more often right, and the last "
        "fifth less often.",
        lambda report: reversal_gain(report, 0) > 0 > reversal_gain(report, 4),
    ),
    Prediction(
        "Into English, which is head-initial as the notes' French is, it does so too, and the gain "
        "in the first fifth is larger.",
        lambda report: (
            reversal_gain(report["backwards"], 0) > max(0, reversal_gain(report, 0))
            and reversal_gain(report["backwards"], 4) < 0
        ),
    ),
    Prediction(
        "Words that depend on their context, and idioms, are understood in at least 95 of 100 "
        "sentences by every model that attends without a window.",
        lambda report: (
            min(understood(report, m, test) for m in ATTENTIVE for test in ("context", "idiom"))
            >= 0.95
        ),
    ),
    Prediction(
        "Attention aligns: error rates below 0.3 for additive, dot, general and concat scores and "
        "the Transformer.",
        lambda report: max(alignment_error_rate(report, model) for model in GLOBAL) < 0.3,
    ),
    Prediction(
        "Without input feeding BLEU falls by less than 2.",
        lambda report: bleu(report, "luong-general") - bleu(report, "luong-unfed") < 2,
    ),
    Prediction(
        "A Transformer whose encoder looks without learned queries, keys and values is within 2 "
        "BLEU of one that learned them: the decoder does the rest.",
        lambda report: (
            abs(bleu(report, "transformer") - bleu(report, "transformer-parameter-free")) < 2
        ),
    ),
    Prediction(
        "Without any self-attention in the encoder it is more than 2 BLEU worse, but still "
        "understands words by their context, which the decoder can look at.",
        lambda report: (
            bleu(report, "transformer") - bleu(report, "transformer-no-self") > 2
            and understood(report, "transformer-no-self", "context") >= 0.95
        ),
    ),
    Prediction(
        "Four layers do not save the bottleneck: on more than 30 words it stays below half of what "
        "the attentive models reach on average.",
        lambda report: (
            long_bleu(report, "bottleneck-deep")
            < 0.5 * mean(long_bleu(report, model) for model in ATTENTIVE)
        ),
    ),
)


def long_bleu(report: Results, model: str) -> float:
    """BLEU of sentences of more than 30 words."""
    return float(report["models"][model]["tests"]["random"]["retained"]["bleu_long"])


def evaluate_predictions(report_path: Path, backwards_path: Path) -> dict[str, Any]:
    """The figures of both reports, with the predictions and whether each held."""
    report = json.loads(report_path.read_text(encoding="utf-8"))
    report["backwards"] = json.loads(backwards_path.read_text(encoding="utf-8"))
    for model in report["backwards"]["models"].values():  # trained side by side: not comparable
        for speed in SPEEDS:
            model.pop(speed, None)
    verdicts = [
        {"statement": prediction.statement, "held": bool(prediction.holds(report))}
        for prediction in PREDICTIONS
    ]
    return {"predictions": verdicts, **report}
