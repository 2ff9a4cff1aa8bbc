"""Saved traces: read from a file and validated, without loading a model or torch.

A file is checked before it is served: schema, size, and that every attention map has the shape of
the tokens beside it.
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
from dhyan.studio.model_cards import ModelCard, trace_card
from dhyan.studio.schemas import MAX_CHARACTERS, StrictModel

MAX_FILE_BYTES = 64 * 2**20
MAX_TOKENS = 1024  # of source or target

Count = Annotated[int, Field(ge=0)]
Probability = Annotated[float, Field(ge=0, le=1.0001)]


class Token(StrictModel):
    """A token with the index of its word."""

    text: str
    id: Annotated[int, Field(ge=-1)]  # -1 for a frame
    word: Count
    special: bool


class Sentence(StrictModel):
    """A sentence: every token belongs to a word, in order, and no word is without one."""

    tokens: Annotated[list[Token], Field(min_length=1, max_length=MAX_TOKENS)]
    words: list[str]

    @model_validator(mode="after")
    def check_words(self) -> "Sentence":
        """Every token belongs to a word, in order."""
        owners = [token.word for token in self.tokens]
        if owners != sorted(owners) or set(owners) != set(range(len(self.words))):
            raise ValueError("its tokens do not belong to its words")
        return self


class Step(StrictModel):
    """A token's log-probability, and the most probable tokens."""

    logprob: Annotated[FiniteFloat, Field(le=1e-4)]
    top_tokens: list[tuple[str, Probability]]


class SavedAttention(StrictModel):
    """The weights of one attention: heads, rows, columns."""

    name: str
    role: Literal["encoder_self", "decoder_self", "cross"]
    layer: Annotated[int, Field(ge=1)]
    shape: tuple[Annotated[int, Field(ge=1)], Count, Count]
    data: str

    @model_validator(mode="after")
    def check_size(self) -> "SavedAttention":
        """The bytes are those of the shape, and finite."""
        try:
            raw = base64.b64decode(self.data, validate=True)
        except binascii.Error:
            raise ValueError("its weights are not base64") from None
        if len(raw) != 4 * prod(self.shape):
            raise ValueError(f"its weights are {len(raw)} bytes, not {4 * prod(self.shape)}")
        if not np.isfinite(np.frombuffer(raw, dtype="<f4")).all():
            raise ValueError("its weights are not all numbers")
        return self


Number = Annotated[FiniteFloat, Field(ge=-1e6, le=1e6)]
DataUri = Annotated[str, Field(pattern=r"^data:(image/png|audio/wav);base64,[A-Za-z0-9+/]+=*$")]


class SavedPicture(StrictModel):
    """The picture of the source, and the part of it that each frame shows."""

    uri: DataUri
    width: Annotated[int, Field(ge=1, le=2**14)]
    height: Annotated[int, Field(ge=1, le=2**14)]
    boxes: Annotated[list[tuple[Number, Number, Number, Number]], Field(max_length=MAX_TOKENS)]


class SavedSound(StrictModel):
    """The sound of the output, with the outline of its wave."""

    uri: DataUri
    seconds: Annotated[FiniteFloat, Field(ge=0)]
    frame_seconds: Annotated[FiniteFloat, Field(gt=0)]
    outline: Annotated[list[tuple[Number, Number]], Field(max_length=4096)]


class TraceFile(StrictModel):
    """The whole file."""

    schema_: Annotated[Literal["dhyan-trace/2"], Field(alias="schema")]
    model: str
    text: Annotated[str, Field(min_length=1)]
    translation: str
    finished: bool
    source: Sentence
    decoder_input: Sentence
    target: Sentence
    steps: list[Step]
    attention: list[SavedAttention]
    score: FiniteFloat
    unknown_words: list[str] = Field(default_factory=list)
    task: Annotated[str, Field(max_length=200)] = "translate"
    figure: Annotated[str, Field(max_length=200)] = "heatmap"
    picture: SavedPicture | None = None
    sound: SavedSound | None = None

    @model_validator(mode="after")
    def check_shapes(self) -> "TraceFile":
        """Steps and attention maps have the lengths of their sentences."""
        count = {
            name: len(getattr(self, name).tokens) for name in ("source", "decoder_input", "target")
        }
        if not count["target"] == count["decoder_input"] == len(self.steps):
            raise ValueError("it has steps for other words")
        rows = {"encoder_self": "source", "decoder_self": "decoder_input", "cross": "target"}
        columns = {**rows, "cross": "source"}
        for attention in self.attention:
            if attention.shape[1:] != (count[rows[attention.role]], count[columns[attention.role]]):
                raise ValueError(f"the weights of {attention.name} do not fit the tokens")
        if self.picture and len(self.picture.boxes) != count["source"]:
            raise ValueError("the boxes of its picture do not fit the frames")
        return self


class TraceOnlyError(UserError):
    """A request that needs a model, for a saved trace."""


@dataclass(frozen=True)
class SavedTrace:
    """A trace as one line of JSON, its sentence, and its fields."""

    json: str
    text: str
    fields: dict[str, Any]

    def card(self, name: str) -> ModelCard:
        """The model card of the trace."""
        return trace_card(name, self.fields)

    def json_of(self, text: str) -> str:
        """The JSON, if the trace is of this sentence."""
        if normalize("NFC", text) != normalize("NFC", self.text):
            raise self.needs_model()
        return self.json

    def needs_model(self) -> TraceOnlyError:
        """The error of a request for anything but this sentence."""
        return TraceOnlyError(
            f"this is a saved trace of “{self.text}” without its model: "
            "start `dhyan studio` with a model's folder for anything else"
        )


def read_saved_trace(path: Path) -> SavedTrace:
    """Read and validate a trace file."""
    try:
        size = path.stat().st_size
        if size > MAX_FILE_BYTES:
            raise UserError(f"{path}: {size} bytes; a trace to replay has at most {MAX_FILE_BYTES}")
        text = path.read_bytes().decode("utf-8")
    except OSError as error:
        raise UserError(f"{path}: the trace cannot be read ({error.strerror})") from None
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a trace: it is not UTF-8 text") from None
    try:
        trace = TraceFile.model_validate_json(text)
    except ValidationError as error:
        raise UserError(f"{path}: not a complete trace: {_first_violation(error)}") from None
    if len(trace.text) > MAX_CHARACTERS:
        raise UserError(
            f"{path}: its sentence has {len(trace.text)} characters; "
            f"the page shows at most {MAX_CHARACTERS}"
        )
    return SavedTrace(
        trace.model_dump_json(by_alias=True), trace.text, trace.model_dump(by_alias=True)
    )


def _first_violation(error: ValidationError) -> str:
    """The first violation of the schema, and its place."""
    first = error.errors(include_input=False, include_url=False)[0]
    path = ".".join(str(part) for part in first["loc"])
    return ": ".join(part for part in (path, first["msg"].removeprefix("Value error, ")) if part)
