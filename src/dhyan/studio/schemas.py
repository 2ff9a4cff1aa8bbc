"""Request models that several routes share, with the page's limits."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

MAX_CHARACTERS = 500  # of a sentence
MAX_TOKENS = 128
MAX_BEAM = 8

Text = Annotated[str, Field(max_length=MAX_CHARACTERS)]
Name = Annotated[str, Field(max_length=200)]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e6, le=1e6)]
Matrix = Annotated[list[Annotated[list[Number], Field(max_length=64)]], Field(max_length=64)]


class StrictModel(BaseModel):
    """No unknown fields, no values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class TranslateRequest(StrictModel):
    """A sentence for a model."""

    text: Text
    model: Name = ""
    beam: Annotated[int, Field(ge=1, le=MAX_BEAM)] = 1
    prefix: Text = ""
