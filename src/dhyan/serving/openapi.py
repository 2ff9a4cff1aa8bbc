"""The OpenAPI document: every route with what it asks, answers and refuses."""

from collections.abc import Mapping
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel

from dhyan.serving.schemas import Asked, AskedStream, Event, Libre, LibreForm, Problem
from dhyan.version import __version__

JSON = "application/json"
NONE: Mapping[str, type[BaseModel]] = {}
REFERENCE = "#/components/schemas/"
ALWAYS = {
    401: "there is no such key",
    403: "asked under another name, or by a web page",
    405: "asked by another method",
    408: "it did not come in time",
    431: "the head is too large",
    503: "there is no model at the moment, or the server is ending",
}
ASKING = {
    400: "it is not what this document says",
    413: "the body is too large",
    415: "the body is of another type",
    429: "more than can be done in time; see Retry-After",
    504: "the deadline has passed",
}


def asks(
    body: type[BaseModel] | None = None, others: Mapping[str, type[BaseModel]] = NONE
) -> dict[str, Any]:
    """What a route's entry in the document says of its body and its refusals."""
    told = {**ALWAYS, **(ASKING if body else {})}
    found: dict[str, Any] = {
        "responses": {
            status: {"model": Problem, "description": about} for status, about in told.items()
        }
    }
    if body:
        content = {kind: _schema(own) for kind, own in {JSON: body, **others}.items()}
        found["openapi_extra"] = {"requestBody": {"required": True, "content": content}}
    return found


def _schema(body: type[BaseModel]) -> dict[str, Any]:
    return {"schema": {"$ref": REFERENCE + body.__name__}}


def document(app: FastAPI, about: Mapping[str, Any]) -> dict[str, Any]:
    """The whole; the languages are those of the model, once it is known."""
    found = get_openapi(title=app.title, version=__version__, routes=app.routes)
    schemas = found.setdefault("components", {}).setdefault("schemas", {})
    for kind in (Asked, AskedStream, Libre, LibreForm, Event):
        own = kind.model_json_schema(ref_template=REFERENCE + "{model}")
        schemas.update(own.pop("$defs", {}))
        schemas[kind.__name__] = own
    for kind in (Libre, LibreForm) if about else ():
        known = schemas[kind.__name__]["properties"]
        known["source"] = {"enum": ["auto", about["source"]], "default": "auto"}
        known["target"] = {"enum": [about["target"]]}
    streamed = found["paths"]["/v1/translate/stream"]["post"]["responses"]["200"]
    streamed["content"] = {"text/event-stream": _schema(Event)}
    found["components"]["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    return found
