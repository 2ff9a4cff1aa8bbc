"""Numbers for the page: the bytes of 32-bit floats, as base64, with their shape."""

import base64
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from torch import Tensor


def packed(numbers: "Tensor") -> dict[str, Any]:
    """A tensor as the page reads it."""
    raw = numbers.detach().cpu().float().contiguous().numpy().astype("<f4").tobytes()
    return {"shape": list(numbers.shape), "data": base64.b64encode(raw).decode()}


def plain(value: Any) -> Any:
    """A dataclass of tensors, words and numbers as JSON has it."""
    from torch import Tensor

    if isinstance(value, Tensor):
        return packed(value)
    if is_dataclass(value) and not isinstance(value, type):
        return {one.name: plain(getattr(value, one.name)) for one in fields(value)}
    if isinstance(value, tuple | list):
        return [plain(one) for one in value]
    return value
