"""What the attention of a compared model is worth as an alignment, and what is drawn of it."""

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dhyan.compare.test_sets import Question, Sheet, Sheets
from dhyan.config import Recipe
from dhyan.decoding.translator import Translator
from dhyan.evaluation.alignment_error_rate import AlignmentScore, alignment_score
from dhyan.insight.word_alignment import DecoderStep, attention_by_layer, pair_weights
from dhyan.text.normalize import normalize

MIDDLING, LONG, MOST_DRAWN = 8, 14, 3  # words of the sentences that are drawn
TO_DRAW = ("context", "attachment")  # tests whose sentences are worth a picture
END = "</s>"


def looked(translator: Translator, recipe: Recipe, tests: Sheets) -> dict[str, Any]:
    """The alignment error rates of a model that attends, and its maps of the sentences drawn."""
    alignment, where = None, ""
    if attends(recipe) and tests.choosing.questions:
        alignment = _aligned(translator, tests)
        where = alignment["where"]
    maps = [_map(translator, one, where) for one in to_draw(tests)]
    return {"alignment": alignment, "maps": maps}


def attends(recipe: Recipe) -> bool:
    """Whether a model looks at the source at all; a bottleneck has nothing to align by."""
    attention = getattr(recipe.decoder, "attention", None)
    return attention is None or attention.score != "bottleneck"


def to_draw(tests: Sheets) -> list[Question]:
    """A few sentences of a length that a picture bears."""
    sheets = [one for one in tests.sheets if one.name in TO_DRAW]
    chosen = [_nearest(tests.main.questions, MIDDLING)]
    chosen += [_nearest(one.questions, MIDDLING) for one in sheets]
    chosen += [] if sheets else [_nearest(tests.main.questions, LONG)]
    return list(dict.fromkeys(chosen))[:MOST_DRAWN]


def _nearest(questions: Sequence[Question], words: int) -> Question:
    return min(questions, key=lambda one: abs(len(one.source.split()) - words))


def _aligned(translator: Translator, tests: Sheets) -> dict[str, Any]:
    """Layer and step are chosen where nothing is scored; the tests are scored by both steps."""
    found = _scores(translator, tests.choosing)
    where, at = min(found, key=lambda way: found[way].error_rate)
    tried: dict[str, dict[str, float]] = {}
    for (name, step), score in found.items():
        tried.setdefault(name, {})[step] = score.error_rate
    linked = [one.linked for one in tests.sheets]
    scored = {
        one.name: {step: asdict(score) for (_, step), score in by_step.items()}
        for one in linked
        if one.questions and (by_step := _scores(translator, one, where))
    }
    return {
        "where": where,
        "at": at,
        "chosen_on": tests.choosing.about,
        "tried": tried,
        "tests": scored,
    }


def _scores(
    translator: Translator, sheet: Sheet, where: str = ""
) -> dict[tuple[str, DecoderStep], AlignmentScore]:
    """The error rates of every attention, or of one, at either step."""
    read = attention_by_layer(translator, [(one.source, one.target) for one in sheet.questions])
    gold = sheet.exam().gold
    return {
        way: alignment_score([one[way].alignment for one in read], gold)
        for way in read[0]
        if where in ("", way[0])
    }


def _map(translator: Translator, asked: Question, where: str) -> dict[str, Any]:
    """What each word of the reference looked at, while the model was told it."""
    weights = pair_weights(translator, asked.source, asked.target, attention=where)
    return {
        "source": [*normalize(asked.source).split(), END],
        "target": normalize(asked.target).split(),
        "weights": [[round(one, 4) for one in row] for row in weights.tolist()],
    }
