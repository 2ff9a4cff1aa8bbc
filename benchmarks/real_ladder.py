"""Predictions about the ladder on real corpora, written before it was run, each with its test.

The figures are those of `python -m experiments.real_ladder score`: every model with several seeds on
Multi30k (English to German) and Tatoeba (English to French). No statement and no threshold was
changed after the first run.
"""

from typing import Any

from benchmarks.predictions import Prediction, Results

DE, FR = CORPORA = ("multi30k-en-de", "tatoeba-en-fr")
SIGNIFICANT = 0.05
WITHOUT_ATTENTION = ("bottleneck-forward", "bottleneck-reversed", "bottleneck-deep", "cho")
RECURRENT = (
    "bahdanau",
    "luong-dot",
    "luong-general",
    "luong-concat",
    "luong-local-p",
    "luong-unfed",
)
TRANSFORMERS = ("transformer", "transformer-parameter-free", "transformer-no-self")
ATTENTIVE = (*RECURRENT, *TRANSFORMERS)


def model_figures(figures: Results, corpus: str, model: str) -> dict[str, Any]:
    """The figures of a model on a corpus."""
    result: dict[str, Any] = figures["corpora"][corpus]["models"][model]
    return result


def bleu(figures: Results, corpus: str, model: str) -> float:
    """Mean BLEU over the seeds."""
    return float(model_figures(figures, corpus, model)["bleu"]["mean"])


def perplexity(figures: Results, corpus: str, model: str) -> float:
    """Mean test perplexity per token over the seeds."""
    return float(model_figures(figures, corpus, model)["perplexity"]["mean"])


def retained(figures: Results, corpus: str, model: str) -> float:
    """BLEU of the longest sentences divided by that of the shortest."""
    groups = model_figures(figures, corpus, model)["by_length"]
    return float(groups[-1]["bleu"] / groups[0]["bleu"])


def gain(figures: Results, corpus: str, better: str, worse: str) -> float:
    """Mean BLEU of one model less that of another."""
    return bleu(figures, corpus, better) - bleu(figures, corpus, worse)


def p_value(figures: Results, corpus: str, first: str, second: str) -> float:
    """The p value of the difference in BLEU of two models."""
    return next(
        float(pair["p"])
        for pair in figures["corpora"][corpus]["differences"]
        if {pair["model"], pair["other"]} == {first, second}
    )


def reversal_gain(figures: Results, corpus: str, part: int) -> float:
    """Change in token accuracy in a fifth of the target when the source is reversed, in points."""
    reversed_share, forward_share = (
        model_figures(figures, corpus, model)["positions"][part]["mean"]
        for model in ("bottleneck-reversed", "bottleneck-forward")
    )
    return 100 * float(reversed_share - forward_share)


def significant_share(figures: Results, corpus: str) -> float:
    """The share of all pairs of models whose BLEU differs significantly."""
    pairs = figures["corpora"][corpus]["differences"]
    return sum(pair["p"] < SIGNIFICANT for pair in pairs) / len(pairs)


def best(figures: Results, corpus: str) -> str:
    """The model with the highest mean BLEU."""
    models = figures["corpora"][corpus]["models"]
    return max(models, key=lambda model: bleu(figures, corpus, model))


PREDICTIONS = (
    Prediction(
        "Real language tells the models apart: on both corpora at least half of all pairs of models "
        "differ significantly (p < 0.05).",
        lambda figures: min(significant_share(figures, corpus) for corpus in CORPORA) >= 0.5,
    ),
    Prediction(
        "The best model without attention is at least 5 BLEU below the worst with it on Multi30k, "
        "and at least 3 on Tatoeba, whose sentences are shorter.",
        lambda figures: all(
            min(bleu(figures, corpus, model) for model in ATTENTIVE)
            - max(bleu(figures, corpus, model) for model in WITHOUT_ATTENTION)
            >= margin
            for corpus, margin in ((DE, 5), (FR, 3))
        ),
    ),
    Prediction(
        "On Multi30k every model without attention keeps a smaller share of its BLEU from the "
        "shortest sentences to the longest than every model with attention (Bahdanau's curve).",
        lambda figures: (
            max(retained(figures, DE, model) for model in WITHOUT_ATTENTION)
            < min(retained(figures, DE, model) for model in ATTENTIVE)
        ),
    ),
    Prediction(
        "On Multi30k's longest sentences Bahdanau's model has at least half as much BLEU again as "
        "Cho's, as in the paper on all (26.8 and 17.8).",
        lambda figures: (
            model_figures(figures, DE, "bahdanau")["by_length"][-1]["bleu"]
            >= 1.5 * model_figures(figures, DE, "cho")["by_length"][-1]["bleu"]
        ),
    ),
    Prediction(
        "Reversing the source gains BLEU from English to French, significantly, but less than "
        "Sutskever's 4.7: the sentences are short.",
        lambda figures: (
            0 < gain(figures, FR, "bottleneck-reversed", "bottleneck-forward") < 4.7
            and p_value(figures, FR, "bottleneck-reversed", "bottleneck-forward") < SIGNIFICANT
        ),
    ),
    Prediction(
        "It lowers the test perplexity too, as in the paper (5.8 to 4.7).",
        lambda figures: (
            perplexity(figures, FR, "bottleneck-reversed")
            < perplexity(figures, FR, "bottleneck-forward")
        ),
    ),
    Prediction(
        "Its gain in token accuracy is larger in the first fifth of a French target than in the last.",
        lambda figures: reversal_gain(figures, FR, 0) > reversal_gain(figures, FR, 4),
    ),
    Prediction(
        "Four layers instead of two, at equal size, lower BLEU on both corpora.",
        lambda figures: all(
            gain(figures, corpus, "bottleneck-deep", "bottleneck-reversed") < 0
            for corpus in CORPORA
        ),
    ),
    Prediction(
        "Reading the encoder's state at every step (Cho) is better than reading it once, on both "
        "corpora.",
        lambda figures: all(
            gain(figures, corpus, "cho", "bottleneck-forward") > 0 for corpus in CORPORA
        ),
    ),
    Prediction(
        "Luong's dot and general score are within 1 BLEU of each other on both corpora (18.6 and "
        "17.3 in the paper, of equal perplexity).",
        lambda figures: all(
            abs(gain(figures, corpus, "luong-dot", "luong-general")) < 1 for corpus in CORPORA
        ),
    ),
    Prediction(
        "Concat, with its whole matrix, is no worse: its perplexity is within 5 % of the general "
        "score's on both corpora (6.7 against 6.1 in the paper, which fixed half of the matrix).",
        lambda figures: all(
            abs(
                perplexity(figures, corpus, "luong-concat")
                / perplexity(figures, corpus, "luong-general")
                - 1
            )
            < 0.05
            for corpus in CORPORA
        ),
    ),
    Prediction(
        "Local-p is not the best of Luong's variants, as it is in the paper, on either corpus: a "
        "window of 21 tokens holds nearly every sentence.",
        lambda figures: all(
            bleu(figures, corpus, "luong-local-p")
            < max(bleu(figures, corpus, model) for model in RECURRENT if model.startswith("luong"))
            for corpus in CORPORA
        ),
    ),
    Prediction(
        "Input feeding gains less than the paper's 1.3 BLEU on both corpora.",
        lambda figures: all(
            gain(figures, corpus, "luong-general", "luong-unfed") < 1.3 for corpus in CORPORA
        ),
    ),
    Prediction(
        "Bahdanau's model and Luong's general one are within 2 BLEU on both corpora.",
        lambda figures: all(
            abs(gain(figures, corpus, "bahdanau", "luong-general")) < 2 for corpus in CORPORA
        ),
    ),
    Prediction(
        "The Transformer is the best model on both corpora, on Multi30k by at least 2 BLEU over the "
        "best recurrent one.",
        lambda figures: (
            all(best(figures, corpus) == "transformer" for corpus in CORPORA)
            and bleu(figures, DE, "transformer")
            - max(bleu(figures, DE, model) for model in RECURRENT)
            >= 2
        ),
    ),
    Prediction(
        "Without learned self-attention in its encoder it loses at least 1 BLEU on both corpora, and "
        "the parameter-free one is within 1 BLEU of none.",
        lambda figures: all(
            gain(figures, corpus, "transformer", "transformer-no-self") >= 1
            and abs(gain(figures, corpus, "transformer-parameter-free", "transformer-no-self")) <= 1
            for corpus in CORPORA
        ),
    ),
    Prediction(
        "Seeds matter less than attention: no model's BLEU has a standard deviation above 1 over "
        "its seeds.",
        lambda figures: all(
            model["bleu"]["standard_deviation"] <= 1
            for corpus in CORPORA
            for model in figures["corpora"][corpus]["models"].values()
        ),
    ),
)


def outcomes(figures: Results) -> list[dict[str, Any]]:
    """Every prediction, and whether it held."""
    return [
        {"statement": prediction.statement, "held": bool(prediction.holds(figures))}
        for prediction in PREDICTIONS
    ]
