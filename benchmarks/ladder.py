"""The ladder, judged: what was expected of it before it was run, and what its reports say.

The reports are those of `dhyan compare --ladder`: from English to Hindi, and of the two plain
bottlenecks from Hindi to English, where the target is head-initial. Neither a sentence nor a bound
was changed after the first full run.
"""

import json
from pathlib import Path
from statistics import mean
from typing import Any

from benchmarks.predictions import Found, Prediction

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


def bleu(found: Found, model: str, test: str = "random") -> float:
    """A model's BLEU in a test."""
    return float(found["models"][model]["tests"][test]["bleu"]["value"])


def kept(found: Found, model: str) -> float:
    """BLEU of sentences of more than 30 words, as a share of that of up to 10."""
    return float(found["models"][model]["tests"]["random"]["retained"]["share"])


def understood(found: Found, model: str, test: str) -> float:
    """The share of a phenomenon's sentences that were understood."""
    return float(found["models"][model]["tests"][test]["understood"]["share"])


def errors(found: Found, model: str) -> float:
    """The alignment error rate of a model's attention."""
    alignment = found["models"][model]["alignment"]
    return float(alignment["tests"]["random"][alignment["at"]]["error_rate"])


def gain(found: Found, part: int) -> float:
    """By how much reading backwards makes the words of a fifth of the target more often right."""
    shares = [
        found["models"][model]["positions"]["shares"][part]
        for model in ("bottleneck-reversed", "bottleneck-forward")
    ]
    return float(shares[0] - shares[1])


PREDICTIONS = (
    Prediction(
        "Each bottleneck loses at least half its BLEU from sentences of up to 10 words to those of "
        "more than 30.",
        lambda found: max(kept(found, model) for model in BOTTLENECKS) <= 0.5,
    ),
    Prediction(
        "Every model that attends without a window loses less than a tenth.",
        lambda found: min(kept(found, model) for model in ATTENTIVE) >= 0.9,
    ),
    Prediction(
        "Local-p, whose window of 10 words to either side is narrower than a long sentence's "
        "reordering, is the worst of those that attend.",
        lambda found: bleu(found, "luong-local-p") < min(bleu(found, model) for model in ATTENTIVE),
    ),
    Prediction(
        "Reading backwards makes the first fifth of a Hindi target more often right, and the last "
        "fifth less often.",
        lambda found: gain(found, 0) > 0 > gain(found, 4),
    ),
    Prediction(
        "Into English, which is head-initial as the notes' French is, it does so too, and the gain "
        "in the first fifth is larger.",
        lambda found: (
            gain(found["backwards"], 0) > max(0, gain(found, 0)) and gain(found["backwards"], 4) < 0
        ),
    ),
    Prediction(
        "Words that depend on their context, and idioms, are understood in at least 95 of 100 "
        "sentences by every model that attends without a window.",
        lambda found: (
            min(understood(found, m, test) for m in ATTENTIVE for test in ("context", "idiom"))
            >= 0.95
        ),
    ),
    Prediction(
        "Attention aligns: error rates below 0.3 for additive, dot, general and concat scores and "
        "the Transformer.",
        lambda found: max(errors(found, model) for model in GLOBAL) < 0.3,
    ),
    Prediction(
        "Without input feeding BLEU falls by less than 2.",
        lambda found: bleu(found, "luong-general") - bleu(found, "luong-unfed") < 2,
    ),
    Prediction(
        "A Transformer whose encoder looks without learned queries, keys and values is within 2 "
        "BLEU of one that learned them: the decoder does the rest.",
        lambda found: (
            abs(bleu(found, "transformer") - bleu(found, "transformer-parameter-free")) < 2
        ),
    ),
    Prediction(
        "Without any self-attention in the encoder it is more than 2 BLEU worse, but still "
        "understands words by their context, which the decoder can look at.",
        lambda found: (
            bleu(found, "transformer") - bleu(found, "transformer-no-self") > 2
            and understood(found, "transformer-no-self", "context") >= 0.95
        ),
    ),
    Prediction(
        "Four layers do not save the bottleneck: on more than 30 words it stays below half of what "
        "the attentive models reach on average.",
        lambda found: (
            long_bleu(found, "bottleneck-deep")
            < 0.5 * mean(long_bleu(found, model) for model in ATTENTIVE)
        ),
    ),
)


def long_bleu(found: Found, model: str) -> float:
    """BLEU of sentences of more than 30 words."""
    return float(found["models"][model]["tests"]["random"]["retained"]["bleu_long"])


def judged(report: Path, backwards: Path) -> dict[str, Any]:
    """The reports' figures, with the predictions and whether each held."""
    found = json.loads(report.read_text(encoding="utf-8"))
    found["backwards"] = json.loads(backwards.read_text(encoding="utf-8"))
    for model in found["backwards"]["models"].values():  # two models, perhaps not alone
        for speed in SPEEDS:
            model.pop(speed, None)
    verdicts = [{"says": one.says, "held": bool(one.holds(found))} for one in PREDICTIONS]
    return {"predictions": verdicts, **found}
