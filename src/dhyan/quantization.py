"""Quantization of stored weights: float16, or int8/int6 with a scale per row; loaded as float32.

Loaded weights are float32 whatever they are stored as. A matrix `name` of the type I8 has its scales
beside it, as `name:scale`: the weight is the whole number times the scale of its row. A row is an
output channel of a layer, or the vector of a token. Vectors, such as biases, are kept in float16.
"""

from collections.abc import Iterator, Mapping
from math import prod
from typing import TYPE_CHECKING, Any, Literal

from dhyan.errors import UserError
from dhyan.safe_io.json_toml import safe_repr
from dhyan.safe_io.safetensors_header import Header, TensorEntry

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray
    from torch import Tensor

Precision = Literal["float32", "float16", "int8", "int6"]
LARGEST = {
    "int8": 127,
    "int6": 31,
}  # whole number; int6 leaves a quarter of each byte to a zip file
PRECISIONS: tuple[Precision, ...] = ("float32", "float16", "int8", "int6")
SCALE = ":scale"
QUANTIZED, SCALE_TYPE = "I8", "F32"
NUMPY_TYPES = {"F32": "<f4", "F16": "<f2"}

Shape = tuple[int, ...]


def quantize(weights: "Mapping[str, Tensor]", precision: Precision) -> "dict[str, Tensor]":
    """The tensors that store float32 weights in this precision.

    A stored weight differs from the original by at most half a scale, which is 1/127 (int8) or 1/31
    (int6) of the largest weight of its row.
    """
    import torch

    if precision not in PRECISIONS:
        raise UserError(f"precision {precision!r}: give one of {', '.join(PRECISIONS)}")
    tensors = dict[str, torch.Tensor]()
    for name, weight in weights.items():
        if precision == "float32":
            tensors[name] = weight
        elif precision == "float16" or weight.dim() < 2:
            tensors[name] = _to_half(name, weight)
        else:
            rows = weight.detach().float().flatten(1)
            scale = rows.abs().amax(dim=1) / LARGEST[precision]
            scale = torch.where(scale > 0, scale, torch.ones_like(scale))
            whole = (rows / scale[:, None]).round().clamp(-LARGEST[precision], LARGEST[precision])
            tensors[name] = whole.to(torch.int8).view(weight.shape)
            tensors[name + SCALE] = scale
    return tensors


def dequantize(tensors: "Mapping[str, Tensor]") -> "dict[str, Tensor]":
    """The float32 weights of stored tensors."""
    import torch

    weights = dict[str, torch.Tensor]()
    for name, tensor in tensors.items():
        if name.endswith(SCALE):
            continue
        if tensor.dtype == torch.int8:
            scale = tensors[name + SCALE]
            weights[name] = tensor.float() * scale.view(-1, *[1] * (tensor.dim() - 1))
        else:
            weights[name] = tensor.float()
    return weights


def read_arrays(data: bytes, header: Header) -> "dict[str, NDArray[numpy.float32]]":
    """The float32 weights of a file whose header was checked; torch is not needed."""
    import numpy

    def stored(entry: TensorEntry) -> Any:
        start, dtype = header.data_start + entry.start, NUMPY_TYPES.get(entry.dtype, "<i1")
        values = numpy.frombuffer(data, dtype, count=prod(entry.shape), offset=start)
        return values.reshape(entry.shape)

    weights = {}
    for name, entry in header.tensors.items():
        if name.endswith(SCALE):
            continue
        values = stored(entry).astype(numpy.float32)
        if entry.dtype == QUANTIZED:
            scale = stored(header.tensors[name + SCALE])
            values *= scale.reshape(-1, *[1] * (values.ndim - 1))
        weights[name] = values
    return weights


def is_quantized(header: Header) -> bool:
    """Whether matrices are stored as whole numbers."""
    return any(entry.dtype == QUANTIZED for entry in header.tensors.values())


def stored_shapes(header: Header) -> dict[str, Shape]:
    """The shape of every weight that a file stores; an error if the file stores anything else."""
    shapes = {}
    for name, entry in header.tensors.items():
        if name.endswith(SCALE):
            base = header.tensors.get(name.removesuffix(SCALE))
            if base is None or base.dtype != QUANTIZED:
                raise UserError(f"{safe_repr(name)} is the scale of no quantised weight")
            continue
        if entry.dtype == QUANTIZED:
            _check_scale(name, entry, header)
        elif entry.dtype not in NUMPY_TYPES:
            raise UserError(
                f"the saved weight {safe_repr(name)} is of type {entry.dtype}, not F32, F16 or I8"
            )
        shapes[name] = entry.shape
    return shapes


def is_finite(data: bytes, header: Header) -> bool:
    """Whether every weight of a file is a finite number in float32; torch is not needed."""
    import numpy

    for name, dtype, entry in _numbers(header):
        start = header.data_start + entry.start
        values = numpy.frombuffer(data, dtype, count=prod(entry.shape), offset=start)
        if name.endswith(SCALE):
            with numpy.errstate(over="ignore"):
                values = values * numpy.float32(128)  # the largest magnitude of an int8
        if not numpy.isfinite(values).all():
            return False
    return True


def _numbers(header: Header) -> Iterator[tuple[str, str, TensorEntry]]:
    """The tensors that can hold a value that is not finite."""
    for name, entry in header.tensors.items():
        if entry.dtype in NUMPY_TYPES and entry.stop > entry.start:
            yield name, NUMPY_TYPES[entry.dtype], entry


def _check_scale(name: str, entry: TensorEntry, header: Header) -> None:
    scale = header.tensors.get(name + SCALE)
    if len(entry.shape) < 2 or scale is None:
        raise UserError(f"the quantised weight {safe_repr(name)} has no scale for each row")
    if scale.dtype != SCALE_TYPE or scale.shape != entry.shape[:1]:
        raise UserError(
            f"the scale of {safe_repr(name)} is {scale.dtype} of {safe_repr(scale.shape)}, not "
            f"{SCALE_TYPE} of {safe_repr(entry.shape[:1])}"
        )


def _to_half(name: str, weight: "Tensor") -> "Tensor":
    half = weight.detach().half()
    if not bool(half.isfinite().all()):
        raise UserError(f"{name!r} holds a weight beyond float16; give the precision float32")
    return half
