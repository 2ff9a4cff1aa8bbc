"""What the page says of a model before it is loaded, read from its recipe or its saved trace."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from dhyan.checkpoint import find_checkpoint
from dhyan.config import TransformerDecoder, load_recipe

NO_ATTENTION = "bottleneck"


@dataclass(frozen=True)
class Card:
    """A model's name, its recipe's line about it, its two halves, and how it scores the source.

    Of a saved trace there is a sentence, which is all that can be asked, and the views it can fill.
    """

    name: str
    about: str
    encoder: str
    decoder: str
    score: str
    source_language: str
    target_language: str
    saved: str = ""
    views: tuple[str, ...] = ()


def card(name: str, folder: Path) -> Card:
    """The card of a run."""
    recipe = load_recipe(str(find_checkpoint(folder) / "recipe.toml"))
    decoder = recipe.decoder
    score = "heads" if isinstance(decoder, TransformerDecoder) else decoder.attention.score
    languages = recipe.data.source_language or "en", recipe.data.target_language or "hi"
    return Card(name, recipe.about, recipe.encoder.kind, decoder.kind, score, *languages)


def saved_card(name: str, parts: Mapping[str, Any]) -> Card:
    """The card of a saved trace, as far as it tells: which rule gave the scores it does not."""
    roles = {block["role"] for block in parts["attention"]}
    score = "heads" if "decoder_self" in roles else NO_ATTENTION if _single(parts) else ""
    return Card(
        name=name,
        about="",
        encoder="transformer" if "encoder_self" in roles else "",
        decoder="transformer" if "decoder_self" in roles else "",
        score=score,
        source_language=_language(parts["text"]),
        target_language=_language(parts["translation"]),
        saved=parts["text"],
        views=views_of(parts),
    )


def views_of(parts: Mapping[str, Any]) -> tuple[str, ...]:
    """The views that a trace alone can fill; the mask is seen among the decoder's heads."""
    many = any(block["shape"][0] > 1 for block in parts["attention"])
    return ("translate", "heads") if many else ("translate",)


def _single(parts: Mapping[str, Any]) -> bool:
    """Whether every word looks at one and the same place: a vector for the whole sentence."""
    for block in parts["attention"]:
        numbers = np.frombuffer(base64.b64decode(block["data"]), dtype="<f4")
        if (numbers.reshape(-1, block["shape"][-1])[:, -1] != 1).any():
            return False
    return bool(parts["attention"])


def _language(text: str) -> str:
    """Hindi if anything is written in Devanagari, else English."""
    return "hi" if any("\u0900" <= letter <= "\u097f" for letter in text) else "en"
