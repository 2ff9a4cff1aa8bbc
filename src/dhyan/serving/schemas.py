"""What may be asked of the server and what it answers, as its document has it."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field

from dhyan.serving.settings import Settings


def _whole(found: Any) -> Any:
    """8.0 is a whole number to JSON."""
    return int(found) if isinstance(found, float) and found.is_integer() else found


LIMITS = Settings()
Text = Annotated[str, Field(max_length=LIMITS.longest_text, description="A sentence, or more.")]
Texts = Annotated[list[Text], Field(min_length=1, max_length=LIMITS.most_texts)]
WHOLE = BeforeValidator(_whole)
Code = Annotated[str, Field(max_length=64)]


_BOTH: dict[str, Any] = {  # a paragraph has one translation, without alignment
    "properties": {"paragraphs": {"const": True}},
    "required": ["paragraphs"],
    "anyOf": [
        {"properties": {"nbest": {"minimum": 2}}, "required": ["nbest"]},
        {"properties": {"align": {"const": True}}, "required": ["align"]},
    ],
}


class Body(BaseModel):
    """Nothing beyond what is named, and nothing of another type."""

    model_config = ConfigDict(extra="forbid", strict=True, hide_input_in_errors=True)


class Manner(Body):
    """How to translate."""

    beam: Annotated[
        int,
        Field(ge=0, le=LIMITS.widest_beam, description="Width of the search; 0: the model's."),
        WHOLE,
    ] = 0
    paragraphs: Annotated[
        bool, Field(description="Texts hold several sentences, each translated on its own.")
    ] = False
    deadline: Annotated[
        float | None,
        Field(ge=0.1, le=LIMITS.longest_deadline, description="Seconds it may take."),
    ] = None


class Asked(Manner):
    """One text or several."""

    model_config = ConfigDict(json_schema_extra={"not": _BOTH})

    text: Annotated[Text | Texts, Field(description="One text, or a list of them.")]
    nbest: Annotated[
        int, Field(ge=1, le=LIMITS.widest_beam, description="How many of each."), WHOLE
    ] = 1
    align: Annotated[
        bool, Field(description="Add which word comes from which, as [source, target].")
    ] = False


class AskedStream(Manner):
    """One text, to be told word by word."""

    text: Text


class Said(BaseModel):
    """A translation."""

    text: str
    score: Annotated[float, Field(description="Log-probability by length.")]
    finished: Annotated[bool, Field(description="False where the length limit cut it off.")]
    alignment: list[tuple[int, int]] | None = None


class Answered(BaseModel):
    """For each text its translations, best first."""

    model: str
    translations: list[list[Said]]


class Model(BaseModel):
    """What there is to know of the model."""

    name: str
    source: str
    target: str
    beam: int
    longest: Annotated[int, Field(description="Tokens of a sentence it takes.")]
    parameters: int


class Models(BaseModel):
    """The models that can be asked: one."""

    models: list[Model]


class Wrong(BaseModel):
    """What went wrong: a word for programs, a sentence for people."""

    code: str
    message: str


class Problem(BaseModel):
    """The one shape of everything that is no answer."""

    error: Wrong


class Libre(BaseModel):
    """A request as LibreTranslate's clients make it; fields it does not know are passed over."""

    model_config = ConfigDict(extra="ignore", strict=True, hide_input_in_errors=True)

    q: Annotated[Text | Texts, Field(description="One text, or a list of them.")]
    source: Code = "auto"
    target: Code
    format: Literal["text"] = "text"
    api_key: Annotated[str | None, Field(max_length=1024)] = None


class LibreForm(BaseModel):
    """The same as a form."""

    q: Text
    source: Code = "auto"
    target: Code
    format: Literal["text"] = "text"
    api_key: Annotated[str, Field(max_length=1024)] = ""


class LibreAnswered(BaseModel):
    """A text for a text, or a list for a list."""

    translatedText: str | list[str]  # noqa: N815 - as LibreTranslate spells it


class Language(BaseModel):
    """A language that can be translated, and into which."""

    code: str
    name: str
    targets: list[str]


class Event(BaseModel):
    """An event of a stream: `words` that are new, then `done` with the whole, or `error`."""

    event: Literal["words", "done", "error"]
    data: Annotated[str, Field(description="JSON: {from, words}, a translation, {code, message}.")]
