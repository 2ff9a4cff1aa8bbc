"""Request and response models of the HTTP API; FastAPI validates by them and documents them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, model_validator

from dhyan.config import DecodingOptions
from dhyan.config.settings import json_schema
from dhyan.serving.settings import (
    MAX_BEAM,
    MAX_DEADLINE,
    MAX_TEXT_CHARACTERS,
    MAX_TEXTS,
    MIN_DEADLINE,
)


def _integral(value: Any) -> Any:
    """JSON has one type of number: 8.0 is an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _decoding_option(name: str, suffix: str = "") -> Any:
    """Bounds and help of a decoding option as declared, with the server's own maximum."""
    declared = json_schema(DecodingOptions, name)[name]
    maximum = min(MAX_BEAM, declared["maximum"])
    description = declared["description"] + suffix
    return Field(ge=declared["minimum"], le=maximum, description=description)


INTEGRAL = BeforeValidator(_integral)
Text = Annotated[
    str,
    Field(
        max_length=MAX_TEXT_CHARACTERS,
        description="A sentence; with paragraphs, a text.",
        examples=["three hundred forty two"],
    ),
]
Texts = Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)]
TextOrTexts = Annotated[Text | Texts, Field(description="One text, or a list of texts.")]
LanguageCode = Annotated[str, Field(max_length=64)]

_PARAGRAPHS_WITH_NBEST_OR_ALIGN: dict[str, Any] = {
    "properties": {"paragraphs": {"const": True}},
    "required": ["paragraphs"],
    "anyOf": [
        {"properties": {"nbest": {"minimum": 2}}, "required": ["nbest"]},
        {"properties": {"align": {"const": True}}, "required": ["align"]},
    ],
}


class StrictModel(BaseModel):
    """A request model: no unknown fields, no values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class TranslationFields(StrictModel):
    """The options of every translation."""

    beam: Annotated[int | None, _decoding_option("beam", " Default: the model's."), INTEGRAL] = None
    paragraphs: Annotated[
        bool, Field(description="Split texts into sentences and translate each on its own.")
    ] = False
    deadline: Annotated[
        float | None,
        Field(
            ge=MIN_DEADLINE,
            le=MAX_DEADLINE,
            description="Deadline of the request, in seconds. Default: the server's.",
        ),
    ] = None


class StreamRequest(TranslationFields):
    """One text, translated word by word."""

    text: Text


class TranslateRequest(TranslationFields):
    """One text or several, with their alternatives and alignments."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": _PARAGRAPHS_WITH_NBEST_OR_ALIGN,
            "examples": [{"text": "three hundred forty two", "beam": 4, "nbest": 2}],
        }
    )

    text: TextOrTexts
    nbest: Annotated[int, _decoding_option("nbest"), INTEGRAL] = 1
    align: Annotated[
        bool, Field(description="Add word alignment as [source, target] pairs of word indexes.")
    ] = False

    @model_validator(mode="after")
    def check_paragraphs(self) -> "TranslateRequest":
        """A paragraph has one translation and no alignment."""
        if self.paragraphs and (self.nbest > 1 or self.align):
            raise ValueError("paragraphs exclude nbest above 1 and align")
        return self


class TranslatedText(BaseModel):
    """One translation."""

    text: str
    score: Annotated[float, Field(description="Log-probability, divided by the length penalty.")]
    finished: Annotated[bool, Field(description="False if the maximum length cut it off.")]
    alignment: list[tuple[int, int]] | None = None


class TranslateResponse(BaseModel):
    """The translations of each text, best first."""

    model: str
    translations: list[list[TranslatedText]]


class StreamEvent(BaseModel):
    """A server-sent event: `words` that changed, then `done` with the translation, or `error`."""

    event: Literal["words", "done", "error"]
    data: Annotated[str, Field(description="JSON: {from, words}, a translation, {code, message}.")]


class ModelCard(BaseModel):
    """Facts about the model."""

    name: str
    source_language: str
    target_language: str
    beam: int
    max_source_length: Annotated[int, Field(description="Most tokens of a source sentence.")]
    parameters: int


class ModelList(BaseModel):
    """The models that are served: one."""

    models: list[ModelCard]


class ErrorDetail(BaseModel):
    """A code for programs and a message for people."""

    code: str
    message: str


class ErrorBody(BaseModel):
    """The body of every error."""

    error: ErrorDetail


class LibreTranslateRequest(BaseModel):
    """A request of LibreTranslate's clients; unknown fields are ignored."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True)

    q: TextOrTexts
    source: LanguageCode = "auto"
    target: LanguageCode
    format: Literal["text"] = "text"
    api_key: Annotated[str | None, Field(max_length=1024)] = None


class LibreTranslateForm(BaseModel):
    """The same request as a form."""

    q: Text
    source: LanguageCode = "auto"
    target: LanguageCode
    format: Literal["text"] = "text"
    api_key: Annotated[str, Field(max_length=1024)] = ""


class LibreTranslateResponse(BaseModel):
    """A text for a text, a list for a list."""

    translatedText: str | list[str]  # noqa: N815 - as LibreTranslate spells it


class Language(BaseModel):
    """A language, and the languages it can be translated into."""

    code: str
    name: str
    targets: list[str]
