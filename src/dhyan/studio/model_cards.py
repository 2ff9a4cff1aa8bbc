"""Model cards: facts about a model before it is loaded, from its recipe or its saved trace."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np

from dhyan.checkpoint import find_checkpoint
from dhyan.config import (
    AttentiveDecoder,
    Recipe,
    TransformerDecoder,
    TransformerEncoder,
    load_recipe,
)
from dhyan.config.sections import FRAME_CODECS, PICTURE_CODECS
from dhyan.pretrained.card import CARD, read_card
from dhyan.text.languages import UNDETERMINED

ROOMS = {  # of the page, with the views of each; the first has the path of its room
    "translate": ("translate",),
    "tour": ("tour",),
    "inside": ("step", "head"),
    "heads": ("heads",),
    "beam": ("beam",),
    "learning": ("training", "length"),
    "playground": ("self_attention", "gravity", "scaling"),
}
STAGES = ("inside/mask", "inside/layers")  # paths of parts of a view
ALL_VIEWS = tuple(view for views in ROOMS.values() for view in views)
OF_EVERY_MODEL = tuple(view for view in ALL_VIEWS if view not in ROOMS["inside"])
OF_TEXT_TO_TEXT = ("tour", "length")  # words of a translation, BLEU
OF_TOKENS = ("gravity",)  # vectors of the words of a sentence

Source = Literal["text", "picture"]


@dataclass(frozen=True)
class ModelCard:
    """Name, description, encoder and decoder kinds, and the score function of the attention.

    A Transformer's score is "heads", that of a decoder without attention "none". `synthetic` is that of
    a synthetic corpus: copy, reverse, dates, numbers, primer. `test_scores` and
    `test` are the scores of a pretrained model on its held-out test set, and the name of that set.

    `task` is the name of its task, `source` what it reads; `codecs` says whether a side has a codec of
    its own, so that its sentences are none of the package's examples.

    `views` are the views of the page that it can fill. Of a saved trace, `saved` is its sentence,
    the only one with an answer.
    """

    name: str
    about: str
    encoder: str
    decoder: str
    score: str
    source_language: str
    target_language: str
    synthetic: str = ""
    saved: str = ""
    views: tuple[str, ...] = ()
    test_scores: Mapping[str, float] = field(default_factory=dict)
    test: str = ""
    task: str = "translate"
    source: Source = "text"
    codecs: bool = False


def model_card(name: str, folder: Path) -> ModelCard:
    """The card of a run folder or a pretrained model."""
    checkpoint = find_checkpoint(folder)
    recipe = load_recipe(str(checkpoint / "recipe.toml"))
    decoder = recipe.decoder
    if isinstance(decoder, AttentiveDecoder):
        score = decoder.attention.score
    else:
        score = "heads" if isinstance(decoder, TransformerDecoder) else "none"
    data = recipe.data
    languages = data.source_language or UNDETERMINED, data.target_language or UNDETERMINED
    card = ModelCard(
        *(name, recipe.about, recipe.encoder.kind, decoder.kind, score, *languages),
        synthetic=data.synthetic,
        views=views_of_recipe(recipe),
        task=recipe.task,
        source="picture" if recipe.text.source_codec in PICTURE_CODECS else "text",
        codecs=has_codecs(recipe),
    )
    if not (checkpoint / CARD).is_file():
        return card
    saved = read_card(checkpoint)
    scores = {own.name: own.value for own in saved.scores.values()}
    return replace(card, test_scores=scores, test=saved.test)


def trace_card(name: str, trace: Mapping[str, Any]) -> ModelCard:
    """The card of a saved trace; the score function of a recurrent model is not known."""
    roles = {block["role"] for block in trace["attention"]}
    score = "heads" if "decoder_self" in roles else _recurrent_score(trace)
    return ModelCard(
        name=name,
        about="",
        encoder="transformer" if "encoder_self" in roles else "",
        decoder="transformer" if "decoder_self" in roles else "",
        score=score,
        source_language=_language(trace["text"]),
        target_language=_language(trace["translation"]),
        saved=trace["text"],
        views=views_of_trace(trace),
        task=trace.get("task", "translate"),
        source="picture" if trace.get("picture") else "text",
    )


def views_of_recipe(recipe: Recipe) -> tuple[str, ...]:
    """The views that a model can fill: a decoder step, or the heads of a Transformer."""
    inside: tuple[str, ...] = ()
    if not isinstance(recipe.decoder, TransformerDecoder):
        inside += ("step",)
    if isinstance(recipe.encoder, TransformerEncoder) or not inside:
        inside += ("head",)
    frames = recipe.text.source_codec in FRAME_CODECS
    others = (*(OF_TEXT_TO_TEXT if has_codecs(recipe) else ()), *(OF_TOKENS if frames else ()))
    return (*inside, *(view for view in OF_EVERY_MODEL if view not in others))


def has_codecs(recipe: Recipe) -> bool:
    """Whether a side is encoded by a codec of its task, not as text by a tokenizer."""
    return bool(recipe.text.source_codec or recipe.text.target_codec)


def views_of_trace(trace: Mapping[str, Any]) -> tuple[str, ...]:
    """The views that a trace can fill without its model."""
    multi_head = any(block["shape"][0] > 1 for block in trace["attention"])
    return ("translate", *(["heads"] if multi_head else []), *ROOMS["playground"])


def _recurrent_score(trace: Mapping[str, Any]) -> str:
    """None without attention, bottleneck if all weights are on the last word, else not known."""
    if not trace["attention"]:
        return "none"
    for block in trace["attention"]:
        weights = np.frombuffer(base64.b64decode(block["data"]), dtype="<f4")
        if (weights.reshape(-1, block["shape"][-1])[:, -1] != 1).any():
            return ""
    return "bottleneck"


def _language(text: str) -> str:
    """Hindi if anything is written in Devanagari, else English."""
    return "hi" if any("\u0900" <= character <= "\u097f" for character in text) else "en"
