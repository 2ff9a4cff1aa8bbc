"""LibreTranslate-compatible routes: `/translate`, `/detect` and `/languages`.

On these routes the `error` of a response is a string, a body may be a form, and an API key may be a
field of it. The OpenAPI document describes the JSON bodies: openapi-python-client 0.29 makes a
client that cannot be imported of an operation with two content types.
"""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import Response
from starlette.requests import ClientDisconnect

from dhyan.serving.language_detection import Detection
from dhyan.serving.models import ServedModels
from dhyan.serving.routes import BODY_ERRORS, json_response, responses
from dhyan.serving.scheduler import Scheduler
from dhyan.serving.schemas import (
    DetectedLanguage,
    DetectRequest,
    Language,
    LibreTranslateError,
    LibreTranslateRequest,
    LibreTranslateResponse,
)
from dhyan.serving.service import TranslationService, until_disconnect
from dhyan.serving.worker_protocol import Answer, JobOptions, best_text
from dhyan.text.languages import LANGUAGE_NAMES, UNDETERMINED
from dhyan.web.body_format import FormRoute, client_disconnected, parse_form
from dhyan.web.errors import ApiError

AUTO = "auto"
ERRORS = responses(error=LibreTranslateError)
ERRORS_WITH_BODY = responses(further=BODY_ERRORS, error=LibreTranslateError)


def libretranslate_routes(service: TranslationService) -> APIRouter:
    """The routes of LibreTranslate's clients."""
    router = APIRouter(route_class=FormRoute, tags=["LibreTranslate"])

    @router.post(
        "/translate",
        response_model=LibreTranslateResponse,
        responses=ERRORS_WITH_BODY,
    )
    async def libretranslate(request: Request, body: LibreTranslateRequest) -> Response:
        """Translate as LibreTranslate does; a text may have several sentences.

        The same fields may be sent as a form (application/x-www-form-urlencoded).
        """
        client = service.client(request, body.api_key)
        texts = [body.q] if isinstance(body.q, str) else body.q
        scheduler, detection = _choose(service.models, body, texts)
        options = JobOptions(paragraphs=True, nbest=body.alternatives + 1)
        work = service.translate(scheduler, client, texts, options)
        answers = await until_disconnect(request, work)
        return json_response(_response(body, answers, detection))

    @router.post(
        "/detect",
        response_model=list[DetectedLanguage],
        responses=ERRORS_WITH_BODY,
    )
    async def detect(request: Request, body: DetectRequest) -> Response:
        """Detect the language of a text, among the languages of the models.

        The same fields may be sent as a form (application/x-www-form-urlencoded).
        """
        service.charge(service.client(request, body.api_key), len(body.q))
        detections = service.models.detect(body.q)
        likely = [detection for detection in detections if detection.confidence]
        return json_response([detection.as_json() for detection in likely or detections[:1]])

    @router.get("/languages", response_model=list[Language], responses=ERRORS)
    async def languages(request: Request) -> Response:
        """The languages that can be translated, with their English names."""
        service.client(request, await _api_key(request))
        return json_response(_languages(service.models))

    return router


async def _api_key(request: Request) -> str:
    """The API key in the body of a GET request, which LibreTranslate's client sends as a form."""
    try:
        raw = await Request(request.scope, request.receive).body()
    except ClientDisconnect:
        raise client_disconnected() from None
    try:
        return str(parse_form(raw).get("api_key", "")) if raw else ""
    except ApiError:
        return ""


def _choose(
    models: ServedModels, body: LibreTranslateRequest, texts: list[str]
) -> tuple[Scheduler, Detection | None]:
    """The scheduler of the language pair; with the source language that was detected, if any.

    Of the languages that can be translated into the target, the most likely is taken.
    """
    if body.source != AUTO:
        return models.for_pair(body.source, body.target), None
    sources = [
        card["source_language"]
        for card in models.cards()
        if card["target_language"] in (body.target, UNDETERMINED)
    ]
    for detection in models.detect(" ".join(texts)):
        if detection.language in sources:
            return models.for_pair(detection.language, body.target), detection
    return models.for_pair(AUTO, body.target), None  # an error: nothing translates into the target


def _response(
    body: LibreTranslateRequest, answers: list[Answer], detection: Detection | None
) -> dict[str, Any]:
    """A text for a text, a list for a list."""
    texts = [best_text(answer) for answer in answers]
    alternatives = [[other["text"] for other in answer["translations"][1:]] for answer in answers]
    several = not isinstance(body.q, str)
    response: dict[str, Any] = {"translatedText": texts if several else texts[0]}
    if detection:
        detected = detection.as_json()
        response["detectedLanguage"] = [detected] * len(texts) if several else detected
    if body.alternatives:
        response["alternatives"] = alternatives if several else alternatives[0]
    return response


def _languages(models: ServedModels) -> list[dict[str, Any]]:
    targets: dict[str, list[str]] = {}
    for card in models.cards():
        source, target = card["source_language"], card["target_language"]
        language_targets = targets.setdefault(source, [])
        if target not in language_targets:
            language_targets.append(target)
    for language_targets in list(targets.values()):
        for target in language_targets:
            targets.setdefault(target, [])
    names = {**LANGUAGE_NAMES, UNDETERMINED: "Unknown"}
    return [
        {"code": code, "name": names.get(code, code), "targets": language_targets}
        for code, language_targets in targets.items()
    ]
