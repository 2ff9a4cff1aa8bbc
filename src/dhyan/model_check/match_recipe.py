"""Whether a recipe and the header of its weights speak of the same model."""

import sys
from collections.abc import Mapping

from dhyan.config import (
    BahdanauDecoder,
    LuongDecoder,
    Recipe,
    TransformerDecoder,
    TransformerEncoder,
)
from dhyan.errors import UserError
from dhyan.model_check.score_shapes import SCORES
from dhyan.model_check.weight_shapes import Shape, weights_of
from dhyan.safe_io.json_toml import safe_repr
from dhyan.safe_io.safetensors_header import Header

DTYPE = "F32"


def check_recipe(recipe: Recipe, header: Header, sizes: tuple[int, int], *, foreign: bool) -> None:
    """Refuse weights that are not those of the recipe with vocabularies of these sizes.

    A `foreign` model may name an attention that is not known here, so that not all is compared.
    """
    layers, tensors = max(recipe.encoder.layers, recipe.decoder.layers), len(header.tensors)
    if layers > tensors:
        raise UserError(
            f"recipe.toml asks for {layers:,} layers, and there are {tensors:,} tensors"
        )
    for name, listed in header.tensors.items():
        if listed.dtype != DTYPE:
            raise UserError(
                f"the saved weight {safe_repr(name)} is of type {listed.dtype}, not {DTYPE}"
            )
    if not foreign and (strangers := sorted(kinds_of(recipe) - known_kinds())):
        hint = "one of your own is made known with --plugin FILE"
        raise UserError(f"recipe.toml: no attention is called {safe_repr(strangers[0])}; {hint}")
    if is_foreseen(recipe):
        check_fits(header, weights_of(recipe, *sizes))


def is_foreseen(recipe: Recipe) -> bool:
    """Whether all weights of a recipe's model can be told without building it."""
    return kinds_of(recipe) <= SCORES.keys()


def check_fits(header: Header, wanted: Mapping[str, Shape]) -> None:
    """Refuse weights that are not those of a model, by name and shape."""
    unfit, found = "the saved weights do not fit the recipe", header.tensors
    if odd := sorted(wanted.keys() ^ found.keys()):
        raise UserError(f"{unfit}: {safe_repr(odd[0])} is on one side only")
    for name, shape in wanted.items():
        if found[name].shape != shape:
            here = safe_repr(found[name].shape)
            raise UserError(f"{unfit}: {name!r} is {here}, the model needs {shape}")


def kinds_of(recipe: Recipe) -> set[str]:
    """The scores that a recipe names."""
    kinds = set()
    for half in (recipe.encoder, recipe.decoder):
        match half:
            case TransformerEncoder() | TransformerDecoder():
                kinds.add(half.score)
            case BahdanauDecoder() | LuongDecoder():
                kinds.add(half.attention.score)
    return kinds


def known_kinds() -> set[str]:
    """The scores that can be built: ours, and a plugin's, which brings the registry along."""
    registry = sys.modules.get("dhyan.attention.registry")
    return {*SCORES, *(registry.mechanisms() if registry else ())}
