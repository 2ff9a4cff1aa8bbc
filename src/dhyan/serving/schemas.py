"""Request and response models of the HTTP API; FastAPI validates by them and documents them."""

from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    WithJsonSchema,
    model_validator,
)

from dhyan.config import DecodingOptions
from dhyan.config.declare_settings import json_schema
from dhyan.serving.settings import (
    MAX_BEAM,
    MAX_DEADLINE,
    MAX_GLOSSARY_TERMS,
    MAX_PICTURE_CHARACTERS,
    MAX_PREFIX_CHARACTERS,
    MAX_TERM_CHARACTERS,
    MAX_TEXT_CHARACTERS,
    MAX_TEXTS,
    MIN_DEADLINE,
)
from dhyan.web.body_format import FormValue
from dhyan.web.text_or_picture import text_or_picture


def _integral(value: Any) -> Any:
    """JSON has one type of number: 8.0 is an integer; a form has only text."""
    if isinstance(value, FormValue) and value.isdecimal() and len(value) < 10:
        return int(value)
    return int(value) if isinstance(value, float) and value.is_integer() else value


def _text_format(value: Any) -> Any:
    if value == "html":
        raise ValueError("html is not supported; send plain text with format text")
    return value


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
TextOrPicture = Annotated[
    str,
    text_or_picture(MAX_TEXT_CHARACTERS, MAX_PICTURE_CHARACTERS),
    WithJsonSchema(
        {
            "type": "string",
            "anyOf": [
                {"maxLength": MAX_TEXT_CHARACTERS},
                {"pattern": "^data:", "maxLength": MAX_PICTURE_CHARACTERS},
            ],
            "description": "A sentence; with paragraphs, a text; for a model of pictures, a picture as "
            "a data URI. No path of a file is opened.",
            "examples": ["three hundred forty two"],
        }
    ),
]
Texts = Annotated[list[Text], Field(min_length=1, max_length=MAX_TEXTS)]
TextOrTexts = Annotated[TextOrPicture | Texts, Field(description="One text, or a list of texts.")]
LanguageCode = Annotated[str, Field(max_length=64)]
ApiKey = Annotated[str | None, Field(max_length=1024)]
Term = Annotated[str, Field(max_length=MAX_TERM_CHARACTERS, pattern=r"\S")]
_TERM_SCHEMA = {"type": "string", "maxLength": MAX_TERM_CHARACTERS, "pattern": r"\S"}
GlossaryPairs = Annotated[
    list[Annotated[list[Term], Field(min_length=2, max_length=2)]],
    Field(max_length=MAX_GLOSSARY_TERMS),
]
GlossaryObject = Annotated[
    dict[Term, Term],
    Field(max_length=MAX_GLOSSARY_TERMS),
    WithJsonSchema(  # pydantic's own would allow any value of a key without the pattern
        {
            "type": "object",
            "propertyNames": _TERM_SCHEMA,
            "additionalProperties": _TERM_SCHEMA,
            "maxProperties": MAX_GLOSSARY_TERMS,
        }
    ),
]
TextFormat = Annotated[Literal["text"], BeforeValidator(_text_format)]

_PARAGRAPHS_EXCLUDE: dict[str, Any] = {
    "properties": {"paragraphs": {"const": True}},
    "required": ["paragraphs"],
    "anyOf": [
        {"properties": {"nbest": {"minimum": 2}}, "required": ["nbest"]},
        {"properties": {"align": {"const": True}}, "required": ["align"]},
        {"properties": {"prefix": {"minLength": 1}}, "required": ["prefix"]},
    ],
}


class StrictModel(BaseModel):
    """A request model: no unknown fields, no values of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class RequestFields(StrictModel):
    """The model and the options of every request."""

    model: Annotated[
        str | None,
        Field(max_length=255, description="Name of the model; a server of one needs none."),
    ] = None
    beam: Annotated[int | None, _decoding_option("beam", " Default: the model's."), INTEGRAL] = None
    deadline: Annotated[
        float | None,
        Field(
            ge=MIN_DEADLINE,
            le=MAX_DEADLINE,
            description="Deadline of the request, in seconds. Default: the server's.",
        ),
    ] = None


class PredictRequest(RequestFields):
    """One source or several, for a model of any task."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"text": "three hundred forty two", "nbest": 2}]}
    )

    text: TextOrTexts
    nbest: Annotated[int, _decoding_option("nbest"), INTEGRAL] = 1


class TranslationFields(RequestFields):
    """The model and the options of every translation."""

    source_language: Annotated[
        LanguageCode | None, Field(description="Language of the text: chooses the model.")
    ] = None
    target_language: Annotated[
        LanguageCode | None, Field(description="Language of the translation: chooses the model.")
    ] = None
    paragraphs: Annotated[
        bool, Field(description="Split texts into sentences and translate each on its own.")
    ] = False


class StreamRequest(TranslationFields):
    """One text, translated word by word."""

    text: TextOrPicture


class TranslateRequest(TranslationFields):
    """One text or several, with n-best translations, alignments, a prefix and a glossary."""

    model_config = ConfigDict(
        json_schema_extra={
            "not": _PARAGRAPHS_EXCLUDE,
            "examples": [{"text": "three hundred forty two", "beam": 4, "nbest": 2}],
        }
    )

    text: TextOrTexts
    nbest: Annotated[int, _decoding_option("nbest"), INTEGRAL] = 1
    align: Annotated[
        bool, Field(description="Add word alignment as [source, target] pairs of word indexes.")
    ] = False

    prefix: Annotated[
        str,
        Field(
            max_length=MAX_PREFIX_CHARACTERS,
            description="Prefix of every translation: it begins with these words.",
        ),
    ] = ""
    glossary: Annotated[
        GlossaryPairs | GlossaryObject,
        Field(
            description="Glossary: [source term, target term] pairs, or an object of them. Where a "
            "source term occurs in a text, its translation has the target term. Needs a beam of 2."
        ),
    ] = []

    @model_validator(mode="after")
    def check_paragraphs(self) -> "TranslateRequest":
        """A paragraph has one translation, no alignment and no prefix."""
        if self.paragraphs and (self.nbest > 1 or self.align or self.prefix):
            raise ValueError("paragraphs exclude nbest above 1, align and prefix")
        return self

    def glossary_pairs(self) -> tuple[tuple[str, str], ...]:
        """The glossary as pairs."""
        entries = self.glossary
        pairs = entries.items() if isinstance(entries, dict) else entries
        return tuple((source.strip(), target.strip()) for source, target in pairs)


class TranslatedText(BaseModel):
    """One translation."""

    text: str
    score: Annotated[float, Field(description="Log-probability, divided by the length penalty.")]
    finished: Annotated[bool, Field(description="False if the maximum length cut it off.")]
    alignment: Annotated[
        list[list[int]] | None, Field(description="[source, target] pairs of word indexes.")
    ] = None
    missing_terms: Annotated[
        list[str] | None, Field(description="Terms of the glossary that it should have.")
    ] = None


class TranslateResponse(BaseModel):
    """The translations of each text, best first."""

    model: str
    translations: list[list[TranslatedText]]


class PredictedText(BaseModel):
    """One output: a label, tags, a text or symbols."""

    text: str
    score: Annotated[float, Field(description="Log-probability, divided by the length penalty.")]
    finished: Annotated[bool, Field(description="False if the maximum length cut it off.")]


class PredictResponse(BaseModel):
    """The outputs for each source, best first."""

    model: str
    predictions: list[list[PredictedText]]


class StreamEvent(BaseModel):
    """A server-sent event: `words` that changed, then `done` with the translation, or `error`."""

    event: Literal["words", "done", "error"]
    data: Annotated[str, Field(description="JSON: {from, words}, a translation, {code, message}.")]


class ModelCard(BaseModel):
    """Facts about the model."""

    name: str
    task: str
    source_language: str
    target_language: str
    beam: int
    max_source_length: Annotated[int, Field(description="Most tokens of a source sentence.")]
    parameters: int


class ModelList(BaseModel):
    """The models that are served."""

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
    format: TextFormat = "text"
    alternatives: Annotated[
        int,
        Field(ge=0, lt=MAX_BEAM, description="Number of alternative translations of each text."),
        INTEGRAL,
    ] = 0
    api_key: ApiKey = None


class DetectedLanguage(BaseModel):
    """A language of the models, and how much of the text speaks for it."""

    confidence: Annotated[
        float,
        Field(
            ge=0,
            le=100,
            description="Percentage of words in the language's script; those that the model's "
            "vocabulary does not have count half.",
        ),
    ]
    language: str


class LibreTranslateResponse(BaseModel):
    """A text for a text, a list for a list; `detectedLanguage` if `source` is auto."""

    translatedText: str | list[str]  # noqa: N815 - as LibreTranslate spells it
    detectedLanguage: DetectedLanguage | list[DetectedLanguage] | None = None  # noqa: N815
    alternatives: list[str] | list[list[str]] | None = None


class DetectRequest(BaseModel):
    """A text whose language is asked for."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True)

    q: Text
    api_key: ApiKey = None


class LibreTranslateError(BaseModel):
    """The body of every error on the routes of LibreTranslate."""

    error: str


class Language(BaseModel):
    """A language, and the languages it can be translated into."""

    code: str
    name: str
    targets: list[str]
