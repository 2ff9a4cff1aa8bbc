"""Models of one size: a recipe's widths scaled until it has as many parameters as are allowed."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from math import lcm, log
from typing import Any

import torch

from dhyan.config import Recipe
from dhyan.errors import UserError
from dhyan.models.build import build_model

UNIT = 8  # widths are multiples of it, as kernels like them
NARROWEST, WIDEST = 1 / 64, 64.0
HALVINGS, NEAR, FAR = 24, 0.005, 0.05
INNER = (1.0, 0.9, 1.1, 0.8, 1.25, 0.7, 1.4)  # what else hidden widths may be scaled by, best first
STEPS = (0, -1, 1, -2, 2, -3, 3)  # neighbours of the factor that was found, in parts of 1/50

Count = Callable[[Recipe], int]


def counter(source_size: int, target_size: int) -> Count:
    """Counts the parameters of a recipe's model over vocabularies of these sizes."""

    def count(recipe: Recipe) -> int:
        with torch.device("meta"):
            model = build_model(recipe, source_size, target_size)
        return sum(weight.numel() for weight in model.parameters())

    return count


def fitted(recipe: Recipe, budget: int, count: Count) -> Recipe:
    """The recipe scaled to as near the budget as it comes, every width by one factor.

    The widths inside (hidden, readout, embedding) give way a little where that comes nearer.
    """
    if abs(log(count(recipe) / budget)) <= NEAR:
        return recipe
    best, least = recipe, float("inf")
    for one in _candidates(recipe, _factor(recipe, budget, count)):
        off = abs(log(count(one) / budget))
        if off < least - NEAR:
            best, least = one, off
        if least <= NEAR:
            break
    if least > FAR:
        raise UserError(
            f"its widths cannot make {budget:,} parameters; the nearest they come is "
            f"{count(best):,}: give --parameters near that"
        )
    return best


def scaled(recipe: Recipe, factor: float, inner: float = 1.0) -> Recipe:
    """Every width times a factor, those inside times another too; what must be equal stays so."""
    old, decoder = recipe.encoder, recipe.decoder
    encoder = _half(old, factor, inner)
    said = _half(decoder, factor, inner)
    sides = 2 if getattr(old, "bidirectional", False) else 1
    if decoder.width == sides * old.width:
        said = replace(said, width=sides * encoder.width)
    if hasattr(decoder, "attention"):
        score_width = _rounded(decoder.attention.score_width * factor)
        said = replace(said, attention=replace(decoder.attention, score_width=score_width))
    if decoder.share_source_embedding and hasattr(said, "embedding_width"):
        said = replace(said, embedding_width=getattr(encoder, "embedding_width", encoder.width))
    if decoder.tie_embeddings and hasattr(said, "embedding_width"):
        key = "readout_width" if hasattr(said, "readout_width") else "width"
        said = replace(said, embedding_width=getattr(said, key))
        if decoder.share_source_embedding:
            encoder = _with(encoder, embedding_width=said.embedding_width)
    return replace(recipe, encoder=encoder, decoder=said)


def _half(half: Any, factor: float, inner: float) -> Any:
    """An encoder or a decoder; one that starts from word vectors keeps their width."""
    unit = lcm(UNIT, 2 * getattr(half, "heads", 1))
    if hasattr(half, "attention"):
        unit = lcm(UNIT, half.attention.heads)
    words = "embedding_width" if hasattr(half, "embedding_width") else "width"
    new = {"width": _rounded(half.width * factor, unit)}
    for key in ("embedding_width", "feed_forward_width", "readout_width"):
        if hasattr(half, key):
            new[key] = _rounded(getattr(half, key) * factor * inner)
    if half.pretrained_embedding:
        new[words] = getattr(half, words)
    return replace(half, **new)


def _with(half: Any, **changes: int) -> Any:
    return replace(half, **{key: value for key, value in changes.items() if hasattr(half, key)})


def _rounded(width: float, unit: int = UNIT) -> int:
    return max(unit, round(width / unit) * unit)


def _factor(recipe: Recipe, budget: int, count: Count) -> float:
    """The factor whose model comes just to the budget, by halving what lies between."""
    low, high = NARROWEST, WIDEST
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        if count(scaled(recipe, middle)) > budget:
            high = middle
        else:
            low = middle
    return low


def _candidates(recipe: Recipe, factor: float) -> Iterator[Recipe]:
    for inner in INNER:
        for step in STEPS:
            yield scaled(recipe, factor * (1 + step / 50), inner)
