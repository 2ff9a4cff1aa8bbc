"""Equal parameter counts: scale the widths of a recipe to a parameter budget."""

from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from math import lcm, log
from typing import Any

import torch

from dhyan.config import Recipe, RNNEncoder
from dhyan.errors import UserError
from dhyan.models.build import build_model

UNIT = 8  # widths are multiples of it, for fast kernels
NARROWEST, WIDEST = 1 / 64, 64.0
HALVINGS, NEAR, FAR = 24, 0.005, 0.05
INNER = (1.0, 0.9, 1.1, 0.8, 1.25, 0.7, 1.4)  # further factors for inner widths, best first
STEPS = (0, -1, 1, -2, 2, -3, 3)  # neighbours of the factor, in steps of 1/50

Count = Callable[[Recipe], int]


def parameter_counter(source_size: int, target_size: int) -> Count:
    """A function that counts the parameters of a recipe's model with these vocabulary sizes."""

    def count(recipe: Recipe) -> int:
        with torch.device("meta"):
            model = build_model(recipe, source_size, target_size)
        return sum(weight.numel() for weight in model.parameters())

    return count


def scale_to_budget(recipe: Recipe, budget: int, count: Count) -> Recipe:
    """The recipe scaled as near to the budget as possible, every width by one factor.

    Inner widths (feed-forward, readout, embedding) may differ a little to come nearer.
    """
    if abs(log(count(recipe) / budget)) <= NEAR:
        return recipe
    best, least = recipe, float("inf")
    for candidate in _candidates(recipe, _factor(recipe, budget, count)):
        error = abs(log(count(candidate) / budget))
        if error < least - NEAR:
            best, least = candidate, error
        if least <= NEAR:
            break
    if least > FAR:
        raise UserError(
            f"its widths cannot be scaled to {budget:,} parameters; the nearest size is "
            f"{count(best):,}: give --parameters near that"
        )
    return best


def scale_widths(recipe: Recipe, factor: float, inner: float = 1.0) -> Recipe:
    """Every width times a factor, inner ones times another too; widths that must agree still do."""
    old_encoder, old_decoder = recipe.encoder, recipe.decoder
    encoder: Any = _scale_half(old_encoder, factor, inner)
    decoder: Any = _scale_half(old_decoder, factor, inner)
    keys = _keys(decoder)
    directions = 2 if isinstance(old_encoder, RNNEncoder) and old_encoder.bidirectional else 1
    if getattr(old_decoder, "width", 0) == directions * old_encoder.width:
        decoder = replace(decoder, width=directions * encoder.width)
    if "attention" in keys:
        score_width = _rounded(decoder.attention.score_width * factor)
        decoder = replace(decoder, attention=replace(decoder.attention, score_width=score_width))
    if decoder.share_source_embedding and "embedding_width" in keys:
        key = "embedding_width" if "embedding_width" in _keys(encoder) else "width"
        decoder = replace(decoder, embedding_width=getattr(encoder, key))
    if decoder.tie_embeddings and "embedding_width" in keys:
        key = "readout_width" if "readout_width" in keys else "width"
        decoder = replace(decoder, embedding_width=getattr(decoder, key))
        if decoder.share_source_embedding and "embedding_width" in _keys(encoder):
            encoder = replace(encoder, embedding_width=decoder.embedding_width)
    return replace(recipe, encoder=encoder, decoder=decoder)


def _scale_half(half: Any, factor: float, inner: float) -> Any:
    """An encoder or decoder; pretrained embeddings keep their width."""
    keys = _keys(half)
    unit = lcm(UNIT, 2 * half.heads) if "heads" in keys else UNIT
    if "attention" in keys:
        unit = lcm(UNIT, half.attention.heads)
    widths = {"width": _rounded(half.width * factor, unit)}
    for key in ("embedding_width", "feed_forward_width", "readout_width"):
        if key in keys:
            widths[key] = _rounded(getattr(half, key) * factor * inner)
    if half.pretrained_embedding:
        key = "embedding_width" if "embedding_width" in keys else "width"
        widths[key] = getattr(half, key)
    return replace(half, **widths)


def _keys(half: Any) -> set[str]:
    """The settings that an encoder or decoder declares."""
    return {field.name for field in fields(half)}


def _rounded(width: float, unit: int = UNIT) -> int:
    return max(unit, round(width / unit) * unit)


def _factor(recipe: Recipe, budget: int, count: Count) -> float:
    """The factor whose model just fits the budget, by bisection."""
    low, high = NARROWEST, WIDEST
    for _ in range(HALVINGS):
        middle = (low * high) ** 0.5
        if count(scale_widths(recipe, middle)) > budget:
            high = middle
        else:
            low = middle
    return low


def _candidates(recipe: Recipe, factor: float) -> Iterator[Recipe]:
    for inner in INNER:
        for step in STEPS:
            yield scale_widths(recipe, factor * (1 + step / 50), inner)
