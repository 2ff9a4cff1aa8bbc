"""What the page may ask, and within which limits; anything else is refused in words."""

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

LONGEST_TEXT = 500  # letters
MOST_TOKENS = 128
WIDEST_BEAM = 8


def sound(text: str) -> str:
    """A text that can be written as UTF-8."""
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError("the text holds half a letter (a lone surrogate)") from None
    return text


Text = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(sound)]
Name = Annotated[str, Field(max_length=200), AfterValidator(sound)]
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
