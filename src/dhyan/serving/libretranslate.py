"""`/translate` and `/languages` as LibreTranslate has them, so that its clients work here."""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response

from dhyan.serving.errors import invalid_request, unauthorized
from dhyan.serving.routes import json_response, responses
from dhyan.serving.schemas import (
    Language,
    LibreTranslateForm,
    LibreTranslateRequest,
    LibreTranslateResponse,
)
from dhyan.serving.service import TranslationService, until_disconnect
from dhyan.serving.worker_protocol import JobOptions, best_text
from dhyan.web.body_format import FORM, FormRoute

LANGUAGE_NAMES = {"en": "English", "hi": "Hindi", "de": "German", "fr": "French", "es": "Spanish"}
FORM_BODY = {"content": {FORM: {"schema": LibreTranslateForm.model_json_schema()}}}


def libretranslate_routes(service: TranslationService) -> APIRouter:
    """The routes of LibreTranslate's clients."""
    router = APIRouter(route_class=FormRoute)

    @router.post(
        "/translate",
        response_model=LibreTranslateResponse,
        responses=responses(body=True),
        openapi_extra={"requestBody": FORM_BODY},
    )
    async def translate(request: Request, body: LibreTranslateRequest) -> Response:
        """Translate as LibreTranslate does; a text may have several sentences."""
        client = _client(service, request, body)
        _check_languages(service.model_card(), body)
        texts = [body.q] if isinstance(body.q, str) else body.q
        work = service.translate(client, texts, JobOptions(paragraphs=True), None)
        translations = [best_text(answer) for answer in await until_disconnect(request, work)]
        translated = translations[0] if isinstance(body.q, str) else translations
        return json_response({"translatedText": translated})

    @router.get("/languages", response_model=list[Language], responses=responses())
    async def languages() -> Response:
        """The languages that can be translated."""
        card = service.model_card()
        source, target = card["source_language"], card["target_language"]
        return json_response([_language(source, [target]), _language(target, [])])

    return router


def _language(code: str, targets: list[str]) -> dict[str, Any]:
    return {"code": code, "name": LANGUAGE_NAMES.get(code, code), "targets": targets}


def _client(service: TranslationService, request: Request, body: LibreTranslateRequest) -> str:
    """The client by the API key in the header or, as LibreTranslate has it, in the body."""
    client, keys = str(request.scope["client_name"]), service.policy.keys
    if not client and keys is not None:
        client = keys.client(body.api_key or "")
        if not client:
            raise unauthorized()
    return client


def _check_languages(card: dict[str, Any], body: LibreTranslateRequest) -> None:
    source, target = card["source_language"], card["target_language"]
    if body.source not in ("auto", source) or body.target != target:
        raise invalid_request(f"This model only translates from {source} to {target}.")
