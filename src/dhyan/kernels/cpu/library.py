"""The functions of the compiled library that train, and how tensors are passed to them."""

import ctypes
from ctypes import POINTER, c_float, c_int32, c_int64, c_uint64, c_void_p
from functools import cache
from typing import Any

import torch
from torch import Tensor

from dhyan.cpu_engine.library import declare, load_library

MESSAGE_SIZE = 256


def _fields(kind: Any, names: str) -> list[tuple[str, Any]]:
    return [(name, kind) for name in names.split()]


class LayerShape(ctypes.Structure):
    """Sizes of a recurrent layer, as in csrc/training.h."""

    _fields_ = [
        *_fields(c_int64, "rows steps"),
        *_fields(c_int32, "directions width cell reverse"),
        ("lengths", c_void_p),
    ]


class LoopShape(ctypes.Structure):
    """Sizes of a decoder's loop."""

    _fields_ = [
        *_fields(c_int64, "rows steps positions"),
        *_fields(c_int32, "cell width inputs score_width value_width projected additive"),
        ("scale", c_float),
    ]


class LoopWeights(ctypes.Structure):
    """Weights of a decoder's loop."""

    _fields_ = _fields(c_void_p, "state input query combine combine_bias")


class AttentionSource(ctypes.Structure):
    """What a decoder attends to."""

    _fields_ = _fields(c_void_p, "keys values mask energy")


class LoopRecord(ctypes.Structure):
    """What the forward pass of a loop computes for the backward pass."""

    _fields_ = _fields(
        c_void_p, "previous before gates states queries weights contexts feeds attentional"
    )


class LoopGradients(ctypes.Structure):
    """The gradients that the backward pass of a loop reads and writes."""

    _fields_ = _fields(
        c_void_p,
        "states contexts_in attentional last end gates contexts scores queries keys energy sums "
        "first carry first_attentional",
    )


CELLS = {"lstm": 0, "gru": 1, "rnn": 2}
_POINTER, _INT, _LONG, _FLOAT, _SEED = c_void_p, c_int32, c_int64, c_float, c_uint64
_LOOP = [POINTER(LoopShape), _INT, POINTER(LoopWeights), POINTER(AttentionSource)]
FUNCTIONS: dict[str, list[Any]] = {
    "layer_forward": [POINTER(LayerShape), *[_POINTER] * 10],
    "layer_backward": [POINTER(LayerShape), *[_POINTER] * 9],
    "loop_forward": [*_LOOP, *[_POINTER] * 4, POINTER(LoopRecord), _POINTER],
    "loop_backward": [*_LOOP, POINTER(LoopRecord), POINTER(LoopGradients)],
    "cross_entropy": [_POINTER, _INT, _POINTER, _POINTER, _LONG, _INT, _LONG, _FLOAT],
    "add_norm": [_POINTER, _POINTER, _INT, _POINTER, _POINTER, _INT, *[_POINTER] * 4]
    + [_LONG, _INT, _FLOAT, _SEED, _FLOAT],
    "add_norm_backward": [_POINTER, _POINTER, _INT, *[_POINTER] * 6, _INT, _POINTER, _POINTER]
    + [_LONG, _INT, _SEED, _FLOAT],
    "drop": [_POINTER, _INT, _LONG, _INT, _SEED, _FLOAT],
    "relu_backward": [_POINTER, _POINTER, _POINTER, _INT, _LONG, _FLOAT],
}


@cache
def _functions() -> ctypes.CDLL:
    library = load_library()
    for name, arguments in FUNCTIONS.items():
        try:
            function = getattr(library, f"dhyan_{name}")
        except AttributeError:
            raise RuntimeError(
                "the compiled library is of another version: install dhyan again, or in a checkout "
                "run `python hatch_build.py`"
            ) from None
        declare(function, c_int32, [*arguments, c_int32, ctypes.c_char_p, c_int32])
    return library


def call(name: str, *arguments: Any) -> None:
    """Call a function with as many threads as PyTorch has."""
    message = ctypes.create_string_buffer(MESSAGE_SIZE)
    function = getattr(_functions(), f"dhyan_{name}")
    if not function(*arguments, torch.get_num_threads(), message, MESSAGE_SIZE):
        raise RuntimeError(message.value.decode(errors="replace"))


def pointer(tensor: Tensor | None) -> int | None:
    """The address of a contiguous tensor; None of none."""
    if tensor is None:
        return None
    assert tensor.is_contiguous()
    return tensor.data_ptr()


def pointers(structure: type[ctypes.Structure], **tensors: Tensor | None) -> Any:
    """A structure of the addresses of tensors, which the caller keeps; absent ones are null."""
    return structure(**{name: pointer(tensor) for name, tensor in tensors.items()})
