"""Request schemas and tensor serialisation of the studio's JSON API."""

import base64
from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import BaseModel, ConfigDict, Field

from dhyan.web.text_or_picture import text_or_picture

if TYPE_CHECKING:
    from torch import Tensor

MAX_CHARACTERS = 500  # of a sentence
MAX_PICTURE_CHARACTERS = 2**18  # of a picture as a data URI
MAX_TOKENS = 128
MAX_FRAMES = 512  # of a picture
MAX_BEAM = 8

Text = Annotated[str, Field(max_length=MAX_CHARACTERS)]
TextOrPicture = Annotated[str, text_or_picture(MAX_CHARACTERS, MAX_PICTURE_CHARACTERS)]
Name = Annotated[str, Field(max_length=200)]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e6, le=1e6)]
Matrix = Annotated[list[Annotated[list[Number], Field(max_length=64)]], Field(max_length=64)]


class StrictModel(BaseModel):
    """No unknown fields, no values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class TranslateRequest(StrictModel):
    """A sentence, or a picture as a data URI, for a model."""

    text: TextOrPicture
    model: Name = ""
    beam: Annotated[int, Field(ge=1, le=MAX_BEAM)] = 1
    prefix: Text = ""


class LoadRequest(StrictModel):
    """A model to load."""

    model: Name = ""


class SeenRequest(StrictModel):
    """Sentences that a model may have been trained on."""

    texts: Annotated[list[Text], Field(max_length=64)]
    model: Name = ""


def pack_tensor(tensor: "Tensor") -> dict[str, Any]:
    """A tensor as its shape and 32-bit floats in base64, which the page unpacks."""
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
