"""Compare the weights a checkpoint lists with those of the model its recipe builds.

The model is built on PyTorch's `meta` device, where tensors have a shape and no memory. The checks
before that bound how much work the building can be, and do not import torch.
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from dhyan.config import Recipe
from dhyan.config.settings import values_by_key
from dhyan.errors import UserError
from dhyan.safe_io.json_toml import safe_repr
from dhyan.safe_io.safetensors_header import Header

TENSORS_PER_LAYER = 4  # at least, in every encoder and decoder
MAX_WIDTH = 1_000_000  # of a model with fewer weights than that
DTYPE = "F32"

Shape = tuple[int, ...]


def check_header(recipe: Recipe, header: Header) -> None:
    """Refuse weights that cannot be the recipe's, by their number and dtype; torch is not needed."""
    layers, tensors = recipe.encoder.layers + recipe.decoder.layers, len(header.tensors)
    if TENSORS_PER_LAYER * layers > tensors:
        raise UserError(
            f"recipe.toml asks for {layers:,} layers, and there are {tensors:,} tensors"
        )
    weights = sum(prod(entry.shape) for entry in header.tensors.values())
    for key, size in _sizes(recipe):
        if size > max(weights, MAX_WIDTH):
            raise UserError(f"recipe.toml: {key} is {size:,}, and there are {weights:,} weights")
    for name, entry in header.tensors.items():
        if entry.dtype != DTYPE:
            raise UserError(
                f"the saved weight {safe_repr(name)} is of type {entry.dtype}, not {DTYPE}"
            )


def check_shapes(header: Header, shapes: Mapping[str, Shape]) -> None:
    """Refuse weights that are not those of a model, by name and shape."""
    problem, saved = "the saved weights do not fit the recipe", header.tensors
    if unmatched := sorted(shapes.keys() ^ saved.keys()):
        raise UserError(f"{problem}: {safe_repr(unmatched[0])} is on one side only")
    for name, shape in shapes.items():
        if saved[name].shape != shape:
            raise UserError(
                f"{problem}: {name!r} is {safe_repr(saved[name].shape)}, the model needs {shape}"
            )


def weight_shapes(recipe: Recipe, sizes: tuple[int, int]) -> dict[str, Shape]:
    """Name and shape of every weight of a recipe's model over vocabularies of these sizes.

    Tied weights come under the first of their names.
    """
    import torch
    from torch.overrides import TorchFunctionMode

    from dhyan.models.build import build_model

    class WithoutNormal(TorchFunctionMode):
        """Draws no normal numbers: on `meta` they are none, and drawing imports torch._dynamo."""

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            if func is torch.nn.init.normal_:
                return kwargs["tensor"] if "tensor" in kwargs else args[0]
            if func is torch.randn:
                func = torch.empty
            return func(*args, **kwargs)

    try:
        with torch.device("meta"), WithoutNormal():
            model = build_model(recipe, *sizes)
    except (RuntimeError, OverflowError) as error:  # a tensor with more than 2**63 bytes
        reason = str(error).partition("\n")[0]
        raise UserError(f"recipe.toml: the model cannot be built: {reason}") from None
    return {name: tuple(weight.shape) for name, weight in model.named_parameters()}


def unknown_attention(recipe: Recipe) -> list[str]:
    """The attention scores a recipe names that are neither ours nor registered by a plugin."""
    from dhyan.attention.registry import mechanism_names

    named = {
        value
        for half in (recipe.encoder, recipe.decoder)
        for key, value in values_by_key(half)
        if key.rpartition(".")[2] == "score"
    }
    return sorted(named - set(mechanism_names()))


def _sizes(recipe: Recipe) -> Iterator[tuple[str, int]]:
    """Every whole number of the encoder and the decoder, by its key."""
    for section in ("encoder", "decoder"):
        for key, value in values_by_key(getattr(recipe, section)):
            if type(value) is int:
                yield f"{section}.{key}", value
