"""OpenAPI document: FastAPI's, completed with the names and languages of the served models."""

import re
from itertools import product
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from dhyan.serving.libretranslate import AUTO
from dhyan.serving.models import ServedModels
from dhyan.text.languages import UNDETERMINED

CHOICE_FIELDS = ("model", "source_language", "target_language")
VALIDATION_SCHEMAS = ("HTTPValidationError", "ValidationError")


def openapi(app: FastAPI, models: ServedModels) -> dict[str, Any]:
    """The document: invalid bodies get 400, not FastAPI's 422; names and languages are the models'.

    Languages are described once all models are loaded.
    """
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    for operation in operations:
        operation["responses"].pop("422", None)
    schemas = document["components"]["schemas"]
    for name in VALIDATION_SCHEMAS:
        schemas.pop(name, None)
    _add_models(schemas, models)
    document["components"]["securitySchemes"] = {"api_key": {"type": "http", "scheme": "bearer"}}
    return document


def _add_models(schemas: dict[str, Any], models: ServedModels) -> None:
    """Describe the names and languages that choose a model."""
    cards = [scheduler.pool.card for scheduler in models]
    requests = [schemas[name] for name in ("TranslateRequest", "StreamRequest")]
    for schema in requests:
        _restrict(schema, "model", list(models.schedulers))
        if len(cards) > 1:
            _exclude(schema, {"properties": {field: {"type": "null"} for field in CHOICE_FIELDS}})
            first = next(iter(models.schedulers))
            schema["properties"]["model"]["examples"] = [first]
            examples = [{**example, "model": first} for example in schema.get("examples", ())]
            schema.update({"examples": examples} if examples else {})
    predictions = schemas["PredictRequest"]
    _restrict(predictions, "model", list(models.schedulers))
    if len(cards) > 1:
        _exclude(predictions, {"properties": {"model": {"type": "null"}}})
        first = next(iter(models.schedulers))
        predictions["properties"]["model"]["examples"] = [first]
        predictions["examples"] = [{**each, "model": first} for each in predictions["examples"]]
    if not all(cards):
        return
    sources = list(dict.fromkeys(card["source_language"] for card in cards))
    targets = list(dict.fromkeys(card["target_language"] for card in cards))
    for schema in requests:
        _restrict(schema, "source_language", sources)
        _restrict(schema, "target_language", targets)
    _restrict(schemas["LibreTranslateRequest"], "source", [AUTO, *sources])
    _restrict(schemas["LibreTranslateRequest"], "target", targets)
    pairs = {(card["source_language"], card["target_language"]) for card in cards}
    for source, target in product(sources, targets):
        if (source, target) not in pairs:
            pair = {"source": {"const": source}, "target": {"const": target}}
            excluded = {"properties": pair, "required": list(pair)}
            _exclude(schemas["LibreTranslateRequest"], excluded)


def _exclude(schema: dict[str, Any], excluded: dict[str, Any]) -> None:
    """Exclude values beside those that are excluded already.

    By `not`: of an `anyOf` beside properties generated clients would make a union without them.
    """
    before = schema.get("not", {"anyOf": []})
    others = before["anyOf"] if set(before) == {"anyOf"} else [before]
    schema["not"] = {"anyOf": [*others, excluded]}


def _restrict(schema: dict[str, Any], field: str, values: list[str]) -> None:
    """Describe the values of a field by a pattern.

    An enumeration would be a type of its own in generated clients, which then fit no other server.
    Where a model's language is not known, others are accepted too.
    """
    if UNDETERMINED in values:
        return
    declared = schema["properties"][field]
    kinds = declared.get("anyOf", [declared])
    [text] = [kind for kind in kinds if kind["type"] == "string"]
    text["pattern"] = f"^({'|'.join(map(re.escape, values))})$"
    text["maxLength"] = max(map(len, values))
