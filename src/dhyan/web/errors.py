"""HTTP errors of both servers: exception, handlers, JSON body `{"error": {"code", "message"}}`.

On the paths of another program's API, whose clients read `error` as text, it is `{"error": message}`.
"""

import json
from collections.abc import Callable, Collection
from difflib import get_close_matches
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import Response
from pydantic import BaseModel
from starlette.exceptions import HTTPException
from starlette.types import Send

MAX_CHARACTERS = 500  # of a message
MAX_BYTES = 1000  # of a message, encoded as JSON
ESCAPED_BYTES = 12  # that JSON needs for a character at most
UNKNOWN_FIELD = "extra_forbidden"  # pydantic's type of the violation
CODES_BY_STATUS = {404: "not_found", 405: "method_not_allowed"}

RawHeaders = list[tuple[bytes, bytes]]


class ApiError(HTTPException):
    """A request that gets no answer: status, code for programs, message for people."""

    def __init__(self, status: int, code: str, message: str, *, retry_after: float = 0.0) -> None:
        self.code, self.message = code, _shortened(message)
        headers = {"cache-control": "no-store"}
        if retry_after:
            headers["retry-after"] = str(max(1, round(retry_after)))
        if status == 401:
            headers["www-authenticate"] = "Bearer"
        super().__init__(status, self.message, headers)

    def body(self, *, as_string: bool = False) -> bytes:
        """The JSON that is sent: an object with code and message, or the message alone."""
        detail = self.message if as_string else {"code": self.code, "message": self.message}
        return json.dumps({"error": detail}).encode()

    def raw_headers(self, *, as_string: bool = False) -> RawHeaders:
        """The headers that are sent, with type and length of the body."""
        headers = {"content-type": "application/json", **(self.headers or {})}
        headers["content-length"] = str(len(self.body(as_string=as_string)))
        return [(name.encode(), value.encode()) for name, value in headers.items()]

    def response(self, *, as_string: bool = False) -> Response:
        """The error as a response."""
        headers = {"content-type": "application/json", **(self.headers or {})}
        return Response(self.body(as_string=as_string), self.status_code, headers)


def _shortened(message: str) -> str:
    text = message[:MAX_CHARACTERS]
    while (excess := len(json.dumps(text)) - MAX_BYTES) > 0:
        text = text[: -max(1, excess // ESCAPED_BYTES)]
    return text


def invalid_request(message: str) -> ApiError:
    """The request does not follow the schema."""
    return ApiError(400, "invalid_request", message)


def body_too_large(max_bytes: int) -> ApiError:
    """The body exceeds the size limit."""
    return ApiError(413, "body_too_large", f"Body is too large; send at most {max_bytes} bytes.")


async def send_error(send: Send, error: ApiError, *, as_string: bool = False) -> None:
    """Answer an ASGI request with an error."""
    headers = error.raw_headers(as_string=as_string)
    await send({"type": "http.response.start", "status": error.status_code, "headers": headers})
    await send({"type": "http.response.body", "body": error.body(as_string=as_string)})


def add_error_handlers(app: FastAPI, string_error_paths: Collection[str] = ()) -> None:
    """Give every error of an application the error body of its path."""

    def add(error_class: type[Exception], convert: Callable[[Request, Any], ApiError]) -> None:
        async def handle(request: Request, error: Exception) -> Response:
            as_string = request.scope["path"] in string_error_paths
            return convert(request, error).response(as_string=as_string)

        app.add_exception_handler(error_class, handle)

    add(ApiError, lambda request, error: error)
    add(HTTPException, _http_error)
    add(RequestValidationError, _validation_error)
    add(Exception, _internal_error)


def _http_error(request: Request, error: HTTPException) -> ApiError:
    code = CODES_BY_STATUS.get(error.status_code, "request_failed")
    schema = request.app.openapi_url
    where = f" {schema} lists the paths and their methods." if schema else ""
    api_error = ApiError(error.status_code, code, f"{error.detail}.{where}")
    api_error.headers = {**(api_error.headers or {}), **(error.headers or {})}
    return api_error


def _validation_error(request: Request, error: Any) -> ApiError:
    """The first violation of the schema, and an unknown field; without values the client sent."""
    violations = error.errors()
    unknown = [item for item in violations if item["type"] == UNKNOWN_FIELD]
    others = [item for item in violations if item["type"] != UNKNOWN_FIELD]
    messages = [_violation_message(item) for item in others[:1]]
    messages += [_unknown_field_message(request, item) for item in unknown[:1]]
    return invalid_request(". ".join(messages))


def _unknown_field_message(request: Request, violation: Any) -> str:
    """An unknown field by its name if it is a misspelling of a known one, which is no secret."""
    params = request.scope["route"].dependant.body_params
    known = [name for param in params for name in _fields(param.field_info.annotation)]
    [*outer, name] = violation["loc"]
    close = get_close_matches(str(name), known, n=1) if outer == ["body"] else []
    if close:
        return f"Unknown field {str(name)!r}; did you mean {close[0]!r}?"
    schema = request.app.openapi_url
    return f"Unknown field; {schema} lists the fields." if schema else "Unknown field."


def _fields(body: Any) -> list[str]:
    return list(body.model_fields) if isinstance(body, type) and issubclass(body, BaseModel) else []


def _violation_message(violation: Any) -> str:
    field, *rest = violation["loc"][1:] or ("body",)
    indexes = [part for part in rest if isinstance(part, int)]
    field_path = ".".join(map(str, (field, *indexes)))
    message = violation["msg"].removeprefix("Value error, ")
    return f"{field_path}: {message}"


def _internal_error(request: Request, error: Exception) -> ApiError:
    message = "Internal error; the server's log has the traceback."
    return ApiError(500, "internal_error", message)
