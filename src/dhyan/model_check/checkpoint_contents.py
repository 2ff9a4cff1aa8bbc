"""Checkpoint contents checked against the recipe: weights, optimizer state, training state.

The model is built on PyTorch's `meta` device, where tensors have a shape and no memory. The checks
before that bound how much work the building can be, and do not import torch.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

from dhyan.config import Recipe
from dhyan.config.declare_settings import values_by_key
from dhyan.errors import UserError
from dhyan.quantization import Shape, stored_shapes
from dhyan.safe_io.json_toml import safe_repr
from dhyan.safe_io.safetensors_header import Header

TENSORS_PER_LAYER = 4  # at least, in every encoder and decoder
MAX_WIDTH = 1_000_000  # of a model with fewer weights than that
DTYPE = "F32"  # of the optimizer state
COUNTS = {
    *("step", "position", "validations_since_best", "rate_reductions", "length_multiple"),
    *("skipped_steps", "skipped_in_a_row", "restores", "split_steps"),
}
OPTIONAL = {"best_step", "best_score", "best_scheduled_score"}  # None before the first validation
RAW_WEIGHT = "raw"  # the weight itself, where the saved model is a moving average
ADAM_STATE = {"step", "exp_avg", "exp_avg_sq"}  # for each weight; SGD has no state
MAX_TENSORS_PER_WEIGHT = 4  # as large as the weight


def check_header(recipe: Recipe, header: Header) -> dict[str, Shape]:
    """The shapes of the weights a file stores; an error if they cannot be the recipe's.

    Their number and their type are compared; torch is not needed.
    """
    shapes = stored_shapes(header)
    layers, tensors = recipe.encoder.layers + recipe.decoder.layers, len(shapes)
    if TENSORS_PER_LAYER * layers > tensors:
        raise UserError(
            f"recipe.toml asks for {layers:,} layers, and there are {tensors:,} tensors"
        )
    weights = sum(map(prod, shapes.values()))
    for key, size in _sizes(recipe):
        if size > max(weights, MAX_WIDTH):
            raise UserError(f"recipe.toml: {key} is {size:,}, and there are {weights:,} weights")
    return shapes


def check_shapes(saved: Mapping[str, Shape], shapes: Mapping[str, Shape]) -> None:
    """Refuse weights that are not those of a model, by name and shape."""
    problem = "the saved weights do not fit the recipe"
    if unmatched := sorted(shapes.keys() ^ saved.keys()):
        raise UserError(f"{problem}: {safe_repr(unmatched[0])} is on one side only")
    for name, shape in shapes.items():
        if saved[name] != shape:
            raise UserError(
                f"{problem}: {name!r} is {safe_repr(saved[name])}, the model needs {shape}"
            )


def weight_shapes(recipe: Recipe, sizes: tuple[int, int]) -> dict[str, Shape]:
    """Name and shape of every weight of a recipe's model over vocabularies of these sizes.

    Tied weights come under the first of their names.
    """
    import torch
    from torch import Tensor
    from torch.overrides import TorchFunctionMode

    from dhyan.models.build import build_model

    class ShapesOnly(TorchFunctionMode):
        """Computes no initial values: on `meta`, torch does so in Python, which imports sympy and
        torch._dynamo, more than a second of CPU time."""

        def __torch_function__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            if func is torch.nn.init.normal_:
                return kwargs["tensor"] if "tensor" in kwargs else args[0]
            if func in (Tensor.mul, Tensor.div) and isinstance(args[1], int | float):
                return args[0]
            if func is torch.randn:
                return torch.empty(*args, **kwargs)
            if func is torch.arange and all(isinstance(bound, int) for bound in args):
                return torch.empty(len(range(*args)), **kwargs)
            return func(*args, **kwargs)

    try:
        with torch.device("meta"), ShapesOnly():
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


def check_train_state(state: Any, step: int) -> None:
    """Refuse a training state with invalid values, or of another step than the checkpoint's."""
    if not isinstance(state, dict):
        raise UserError("it is not a table")
    for name, value in state.items():
        if not _is_valid(name, value):
            raise UserError(f"its {safe_repr(name)} cannot be {safe_repr(value)}")
    if state.get("step") != step:
        raise UserError(f"its step is {state.get('step')}, the checkpoint's is {step}")
    if not state.get("length_multiple", 1):
        raise UserError("its 'length_multiple' cannot be 0")


def check_optimizer_state(header: Header, weights: Mapping[str, Shape], recipe: Recipe) -> None:
    """Refuse optimizer tensors that do not belong to these weights, or not to this optimizer."""
    keys_by_weight = defaultdict[str, set[str]](set)
    for full_name, entry in header.tensors.items():
        name, _, key = full_name.rpartition(":")
        if name not in weights:
            raise UserError(
                f"the training state names a weight {safe_repr(name)} that this model lacks"
            )
        shape = () if key == "step" else weights[name]
        if entry.shape != shape or entry.dtype != DTYPE:
            raise UserError(
                f"the training state's {safe_repr(full_name)} is {entry.dtype} of "
                f"{safe_repr(entry.shape)}, not {DTYPE} of {shape}"
            )
        keys_by_weight[name].add(key)
    raw = {RAW_WEIGHT} if recipe.training.ema_decay else set()
    expected = raw | (set() if recipe.training.optimizer == "sgd" else ADAM_STATE)
    for name in weights:
        keys = keys_by_weight[name]
        if keys not in (raw, expected):  # a frozen weight has no optimizer state
            key = min(keys ^ expected)
            verb = "has" if key in keys else "lacks"
            raise UserError(f"the training state {verb} {safe_repr(key)} of {safe_repr(name)}")


def _is_valid(name: str, value: Any) -> bool:
    """Whether a field of the training state is known, and its value of the right type."""
    if name in OPTIONAL and value is None:
        return True
    if name in COUNTS or name == "best_step":
        return type(value) is int and 0 <= value < 2**63
    if name in ("best_score", "best_scheduled_score"):
        return type(value) in (int, float)
    if name == "validation_pending":
        return type(value) is bool
    if name == "scores" and isinstance(value, dict):
        return all(type(score) in (int, float) for score in value.values())
    return False
