"""What the page may ask, and within which limits; anything else is refused in words."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

LONGEST_TEXT = 500  # letters
MOST_TOKENS = 128
WIDEST_BEAM = 8


Text = Annotated[str, Field(max_length=LONGEST_TEXT)]
Name = Annotated[str, Field(max_length=200)]
Number = Annotated[float, Field(allow_inf_nan=False, ge=-1e6, le=1e6)]
Matrix = Annotated[list[Annotated[list[Number], Field(max_length=64)]], Field(max_length=64)]


class Body(BaseModel):
    """Nothing beyond what is named, and nothing of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class Question(Body):
    """A sentence for a model."""

    text: Text
    model: Name = ""
    beam: Annotated[int, Field(ge=1, le=WIDEST_BEAM)] = 1
    prefix: Text = ""
