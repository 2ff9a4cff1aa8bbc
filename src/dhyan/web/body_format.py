"""Body formats: strict JSON and forms in requests, server-sent events in responses.

FastAPI reads a body with `json.loads`, which takes NaN, duplicate keys and half surrogate pairs.
`StrictRoute` gives its handlers a request that refuses them.
"""

import json
import math
from collections.abc import Callable, Coroutine, Sequence
from typing import Any, ClassVar
from urllib.parse import parse_qsl

from fastapi import Request
from fastapi.responses import Response
from fastapi.routing import APIRoute
from starlette.datastructures import Headers
from starlette.requests import ClientDisconnect
from starlette.types import Receive, Scope

from dhyan.web.errors import ApiError, invalid_request

FORM, JSON = "application/x-www-form-urlencoded", "application/json"
MAX_FORM_FIELDS = 20

Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class StrictRoute(APIRoute):
    """A route whose body must be strict JSON."""

    media_types: ClassVar[Sequence[str]] = (JSON,)

    def get_route_handler(self) -> Handler:
        """The handler, given a strict request."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            return await handler(StrictRequest(request.scope, request.receive, self.media_types))

        return handle


class FormRoute(StrictRoute):
    """A route whose body is strict JSON or a form of the same fields."""

    media_types: ClassVar[Sequence[str]] = (JSON, FORM)


class StrictRequest(Request):
    """A request whose body has an accepted content type and is decoded strictly."""

    def __init__(self, scope: Scope, receive: Receive, media_types: Sequence[str]) -> None:
        content_type = Headers(scope=scope).get("content-type", "")
        self._media_type = content_type.partition(";")[0].strip().lower()
        self._media_types = media_types
        if self._media_type == FORM and FORM in media_types:  # FastAPI decodes only JSON types
            others = [header for header in scope["headers"] if header[0] != b"content-type"]
            scope = {**scope, "headers": [*others, (b"content-type", JSON.encode())]}
        super().__init__(scope, receive)

    async def body(self) -> bytes:
        """The raw body; one of another type is refused before it is read."""
        if self._media_type not in self._media_types:
            message = f"Content type must be {' or '.join(self._media_types)}."
            raise ApiError(415, "unsupported_media_type", message)
        try:
            return await super().body()
        except ClientDisconnect:
            raise client_disconnected() from None

    async def json(self) -> Any:
        """The decoded body."""
        raw = await self.body()
        return parse_form(raw) if self._media_type == FORM else parse_json(raw)


def client_disconnected() -> ApiError:
    """Nobody waits for the answer; the error is never sent."""
    return ApiError(400, "client_disconnected", "The client closed the connection.")


def parse_json(raw: bytes) -> Any:
    """A JSON value in UTF-8 with finite numbers, no duplicate keys and no lone surrogates."""
    try:
        text = raw.decode("utf-8")
        value = json.loads(
            text, parse_constant=_refuse_constant, parse_float=_finite, object_pairs_hook=_unique
        )
        if "\\u" in text:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeError:
        raise invalid_request("The body is not UTF-8 or has a lone surrogate.") from None
    except (ValueError, RecursionError):
        raise invalid_request("The body is not valid JSON.") from None
    return value


class FormValue(str):
    """A value of a form; a schema may read a number from it, as forms have only text."""


def parse_form(raw: bytes) -> dict[str, FormValue]:
    """The fields of a form."""
    try:
        fields = parse_qsl(
            raw.decode("utf-8"),
            keep_blank_values=True,
            strict_parsing=True,
            errors="strict",
            max_num_fields=MAX_FORM_FIELDS,
        )
    except ValueError:
        raise invalid_request("The body is not a valid form.") from None
    return {name: FormValue(value) for name, value in fields}


def _refuse_constant(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    if not math.isfinite(number := float(text)):
        raise ValueError("number out of range")
    return number


def _unique(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) < len(pairs):
        raise ValueError("duplicate key")
    return fields


def server_sent_event(name: str, data: Any) -> str:
    """A server-sent event with JSON data."""
    return f"event: {name}\ndata: {json.dumps(data, ensure_ascii=False)}\n\n"
