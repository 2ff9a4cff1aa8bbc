"""Tensors as JSON: 32-bit floats in base64, with their shape."""

import base64
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def pack_tensor(tensor: "Tensor") -> dict[str, Any]:
    """A tensor in the form the page decodes."""
    raw = tensor.detach().cpu().float().contiguous().numpy().astype("<f4").tobytes()
    return {"shape": list(tensor.shape), "data": base64.b64encode(raw).decode()}


def to_json(value: Any) -> Any:
    """A dataclass of tensors, strings and numbers as JSON values."""
    from torch import Tensor

    if isinstance(value, Tensor):
        return pack_tensor(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {field.name: to_json(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, tuple | list):
        return [to_json(item) for item in value]
    return value
