"""A request's body, read strictly: what is not plain JSON, or a plain form, is refused."""

import json
import math
from collections.abc import Sequence
from typing import Any, TypeVar
from urllib.parse import parse_qsl

from fastapi import Request
from pydantic import BaseModel, ValidationError
from starlette.requests import ClientDisconnect

from dhyan.serving.errors import Refusal, malformed, place_of

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
MOST_FIELDS = 20

Read = TypeVar("Read", bound=BaseModel)


async def read_body(request: Request, kind: type[Read], *, form: bool = False) -> Read:
    """The body as an object of a kind; its content type is JSON, or, if it may be, a form."""
    given = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if given != JSON and not (form and given == FORM):
        raise Refusal(415, "unsupported", f"the content type must be {JSON}")
    try:
        raw = await request.body()
    except ClientDisconnect:
        raise Refusal(400, "gone", "the client left") from None
    found = from_form(raw) if given == FORM else from_json(raw)
    try:
        return kind.model_validate(found)
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        raise malformed(_told(first, kind)) from None


def from_json(raw: bytes) -> Any:
    """A value in which every number is one, every text can be written, and no name comes twice."""
    try:
        text = raw.decode("utf-8")
        found = json.loads(
            text, parse_constant=_no_number, parse_float=_finite, object_pairs_hook=_each_once
        )
        if "\\u" in text:
            json.dumps(found, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise malformed("the body is not in UTF-8, or has half a surrogate pair") from None
    except (ValueError, RecursionError):
        raise malformed("the body is not JSON") from None
    return found


def from_form(raw: bytes) -> dict[str, Any]:
    """The fields of a form, each a text."""
    try:
        pairs = parse_qsl(
            raw.decode("utf-8"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=MOST_FIELDS,
        )
    except ValueError:
        raise malformed("the body is not a form") from None
    return dict(pairs)


def _told(first: Any, kind: type[BaseModel]) -> str:
    """What is wrong and where, by names of the document alone."""
    where = [part for part in first["loc"] if isinstance(part, int) or part in kind.model_fields]
    if first["type"] == "extra_forbidden":
        return f"there is a field too many; known are {', '.join(kind.model_fields)}"
    return f"{place_of(where) or 'the body'}: {first['msg']}"


def _no_number(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    if not math.isfinite(found := float(text)):
        raise ValueError("too large a number")
    return found


def _each_once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("a name comes twice")
    return found
