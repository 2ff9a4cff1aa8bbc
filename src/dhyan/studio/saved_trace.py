"""A trace that was saved, read to be shown again: no model is loaded, and no torch.

What comes from a file is looked at before it is served: that it is a trace, whole, of a bearable
size, and that every table of weights is of the words beside it.
"""

import base64
import binascii
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import Annotated, Any, Literal
from unicodedata import normalize

import numpy as np
from pydantic import Field, FiniteFloat, ValidationError, model_validator

from dhyan.errors import UserError
from dhyan.studio.model_cards import Card, saved_card
from dhyan.studio.schemas import LONGEST_TEXT, Body

LARGEST = 64 * 2**20  # bytes of a file
MOST_TOKENS = 1024  # on a side

Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1.0001)]


class Token(Body):
    """A piece of a sentence."""

    text: str
    id: Count
    word: Count
    special: bool


class Side(Body):
    """A sentence: every token belongs to a word, in order, and no word is without one."""

    tokens: Annotated[list[Token], Field(min_length=1, max_length=MOST_TOKENS)]
    words: list[str]

    @model_validator(mode="after")
    def owned(self) -> "Side":
        """Whether words and tokens belong together."""
        owners = [token.word for token in self.tokens]
        if owners != sorted(owners) or set(owners) != set(range(len(self.words))):
            raise ValueError("its tokens do not belong to its words")
        return self


class Step(Body):
    """A token's log-probability, and the most probable tokens."""

    logprob: Annotated[FiniteFloat, Field(le=1e-4)]
    top_tokens: list[tuple[str, Share]]


class Block(Body):
    """The weights of one attention: heads, rows, columns."""

    name: str
    role: Literal["encoder_self", "decoder_self", "cross"]
    layer: Annotated[int, Field(ge=1)]
    shape: tuple[Annotated[int, Field(ge=1)], Count, Count]
    data: str

    @model_validator(mode="after")
    def whole(self) -> "Block":
        """Whether there are as many bytes as the shape asks for."""
        try:
            found = base64.b64decode(self.data, validate=True)
        except binascii.Error:
            raise ValueError("its weights are not base64") from None
        if len(found) != 4 * prod(self.shape):
            raise ValueError(f"its weights are {len(found)} bytes, not {4 * prod(self.shape)}")
        if not np.isfinite(np.frombuffer(found, dtype="<f4")).all():
            raise ValueError("its weights are not all numbers")
        return self


class Whole(Body):
    """All of a trace."""

    schema_: Annotated[Literal["dhyan-trace/2"], Field(alias="schema")]
    model: str
    text: Annotated[str, Field(min_length=1)]
    translation: str
    finished: bool
    source: Side
    decoder_input: Side
    target: Side
    steps: list[Step]
    attention: list[Block]
    score: FiniteFloat

    @model_validator(mode="after")
    def fitting(self) -> "Whole":
        """Whether steps and weights are of the words that are here."""
        count = {
            name: len(getattr(self, name).tokens) for name in ("source", "decoder_input", "target")
        }
        if not count["target"] == count["decoder_input"] == len(self.steps):
            raise ValueError("it has steps for other words")
        rows = {"encoder_self": "source", "decoder_self": "decoder_input", "cross": "target"}
        columns = {**rows, "cross": "source"}
        for block in self.attention:
            if block.shape[1:] != (count[rows[block.role]], count[columns[block.role]]):
                raise ValueError(f"the weights of {block.name} do not fit the tokens")
        return self


class Alone(UserError):
    """A saved trace was asked for what only a model can answer."""


@dataclass(frozen=True)
class Saved:
    """A trace as one line of JSON, its sentence, and its parts."""

    json: str
    text: str
    parts: dict[str, Any]

    def card(self, name: str) -> Card:
        """What the page says of it."""
        return saved_card(name, self.parts)

    def answer(self, text: str) -> str:
        """The trace, if it is of this sentence."""
        if normalize("NFC", text) != normalize("NFC", self.text):
            raise self.alone()
        return self.json

    def alone(self) -> Alone:
        """What is said to whoever asks for more."""
        return Alone(
            f"this is a saved trace of “{self.text}” and has no model to ask: "
            "start `dhyan studio` with a model's folder for anything else"
        )


def read_saved(path: Path) -> Saved:
    """A trace from its file, if it is one."""
    try:
        size = path.stat().st_size
        if size > LARGEST:
            raise UserError(f"{path}: {size} bytes; a trace to replay has at most {LARGEST}")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UserError(f"{path}: the trace cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a trace: it is not UTF-8 text") from None
    try:
        whole = Whole.model_validate_json(text)
    except ValidationError as error:
        raise UserError(f"{path}: not a whole trace: {_first(error)}") from None
    if len(whole.text) > LONGEST_TEXT:
        letters = f"{len(whole.text)} letters; the page shows at most {LONGEST_TEXT}"
        raise UserError(f"{path}: its sentence has {letters}")
    return Saved(whole.model_dump_json(by_alias=True), whole.text, whole.model_dump(by_alias=True))


def _first(error: ValidationError) -> str:
    """The first thing that does not fit, and where."""
    first = error.errors(include_input=False, include_url=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return ": ".join(part for part in (where, first["msg"].removeprefix("Value error, ")) if part)
