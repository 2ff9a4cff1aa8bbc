"""`/translate` and `/languages` in the shape of LibreTranslate, so that its clients work here."""

from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response

from dhyan.serving import errors as refusals
from dhyan.serving.access import unknown
from dhyan.serving.body_parsing import FORM, read_body
from dhyan.serving.jobs import Manner
from dhyan.serving.openapi import asks
from dhyan.serving.schemas import Language, Libre, LibreAnswered, LibreForm
from dhyan.serving.service import Service
from dhyan.serving.translate_routes import told_as

NAMES = {"en": "English", "hi": "Hindi", "de": "German", "fr": "French", "es": "Spanish"}


def add(app: FastAPI, service: Service) -> None:
    """The routes of its clients."""

    @app.post("/translate", response_model=LibreAnswered, **asks(Libre, {FORM: LibreForm}))
    async def libre(request: Request) -> Response:
        """Translate as LibreTranslate does; a text may hold several sentences."""
        asked = await read_body(request, Libre, form=True)
        client = _client(service, request, asked)
        if not service.about:
            raise refusals.unready(service.desk.keeper.reason)
        _check_languages(service.about, asked)
        texts = [asked.q] if isinstance(asked.q, str) else asked.q
        manner = Manner(paragraphs=True)
        found = await service.ask_while_there(request, client, texts, manner, None)
        said = [answer["translations"][0]["text"] for answer in found]
        return told_as({"translatedText": said[0] if isinstance(asked.q, str) else said})

    @app.get("/languages", response_model=list[Language], **asks())
    async def languages() -> Response:
        """The languages that can be translated."""
        if not service.about:
            raise refusals.unready(service.desk.keeper.reason)
        source, target = service.about["source"], service.about["target"]
        names = {code: NAMES.get(code, code) for code in (source, target)}
        return told_as(
            [
                {"code": source, "name": names[source], "targets": [target]},
                {"code": target, "name": names[target], "targets": []},
            ]
        )


def _client(service: Service, request: Request, asked: Libre) -> str:
    """The owner of the key in the head or, as LibreTranslate has it, in the body."""
    client, keys = request.scope["client_name"], service.rules.keys
    if client or keys is None:
        return str(client)
    owner = keys.owner(asked.api_key or "")
    if not owner:
        raise unknown()
    return owner


def _check_languages(about: dict[str, Any], asked: Libre) -> None:
    source, target = about["source"], about["target"]
    if asked.source not in ("auto", source) or asked.target != target:
        raise refusals.malformed(f"this model translates from {source} to {target} alone")
