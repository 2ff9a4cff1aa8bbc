"""HTTP routes of the translation server: translate, stream words, models, health, metrics."""

import asyncio
import json
from collections.abc import AsyncIterator, Mapping
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import PlainTextResponse, Response, StreamingResponse
from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4
from pydantic import BaseModel

from dhyan.serving.errors import ApiError, shutting_down
from dhyan.serving.models import ServedModels
from dhyan.serving.schemas import (
    ErrorBody,
    ModelList,
    PredictRequest,
    PredictResponse,
    StreamEvent,
    StreamRequest,
    TranslateRequest,
    TranslateResponse,
)
from dhyan.serving.service import TranslationService, until_disconnect
from dhyan.serving.worker_protocol import Answer, JobOptions
from dhyan.web.body_format import StrictRoute, server_sent_event

ERRORS = {
    401: "API key missing or unknown",
    403: "foreign host name, or request of a web page whose origin is not allowed",
    405: "method not allowed",
    408: "request not received in time",
    431: "request headers too large",
    503: "model not ready, too many connections, or server shutting down",
}
BODY_ERRORS = {
    400: "body does not follow the schema, sentence too long, or options unsupported",
    413: "body too large",
    415: "unsupported content type",
    429: "queue too long for the deadline, or rate limit reached; see Retry-After",
    504: "deadline exceeded",
}
MODEL_ERRORS = {404: "no model of that name or language pair"}
TEXT = {"text/plain": {"schema": {"type": "string"}}}
# OpenAPI 3.2 describes each event by `itemSchema`; a `schema` would be that of the whole stream.
EVENTS = {"text/event-stream": {"itemSchema": StreamEvent.model_json_schema()}}


def responses(
    content: dict[str, Any] | None = None,
    *,
    further: Mapping[int, str] | None = None,
    error: type[BaseModel] = ErrorBody,
) -> dict[int | str, dict[str, Any]]:
    """The responses of a route for its OpenAPI entry: its content unless JSON, and its errors."""
    errors: dict[int | str, dict[str, Any]] = {
        status: {"model": error, "description": description}
        for status, description in {**ERRORS, **(further or {})}.items()
    }
    return {200: {"content": content}, **errors} if content else errors


def json_response(value: Any) -> Response:
    """A value as JSON, in UTF-8."""
    body = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return Response(body, media_type="application/json")


def translate_routes(service: TranslationService) -> APIRouter:
    """`/v1/translate`, its stream, `/v1/predict`, and `/v1/models`."""
    router = APIRouter(prefix="/v1", route_class=StrictRoute, tags=["translation"])
    errors = {**BODY_ERRORS, **MODEL_ERRORS}

    @router.post(
        "/translate", response_model=TranslateResponse, responses=responses(further=errors)
    )
    async def translate(request: Request, body: TranslateRequest) -> Response:
        """Translate one text or several."""
        texts = [body.text] if isinstance(body.text, str) else body.text
        options = JobOptions(
            beam=body.beam,
            nbest=body.nbest,
            align=body.align,
            paragraphs=body.paragraphs,
            prefix=body.prefix,
            glossary=body.glossary_pairs(),
        )
        scheduler = service.models.choose(body.model, body.source_language, body.target_language)
        client = request.scope["client_name"]
        work = service.translate(scheduler, client, texts, options, deadline=body.deadline)
        answers = await until_disconnect(request, work)
        translations = [answer["translations"] for answer in answers]
        return json_response({"model": scheduler.name, "translations": translations})

    @router.post("/predict", response_model=PredictResponse, responses=responses(further=errors))
    async def predict(request: Request, body: PredictRequest) -> Response:
        """The outputs of a model of any task for one source or several."""
        texts = [body.text] if isinstance(body.text, str) else body.text
        scheduler = service.models.choose(body.model, None, None)
        client = request.scope["client_name"]
        options = JobOptions(beam=body.beam, nbest=body.nbest)
        work = service.translate(scheduler, client, texts, options, deadline=body.deadline)
        answers = await until_disconnect(request, work)
        predictions = [answer["translations"] for answer in answers]
        return json_response({"model": scheduler.name, "predictions": predictions})

    @router.post(
        "/translate/stream",
        response_class=Response,
        responses=responses(EVENTS, further=errors),
    )
    async def translate_stream(request: Request, body: StreamRequest) -> Response:
        """Translate one text word by word, as server-sent events: words, then done or error."""
        options = JobOptions(beam=body.beam, paragraphs=body.paragraphs, stream=True)
        scheduler = service.models.choose(body.model, body.source_language, body.target_language)
        words = WordStream()
        client = request.scope["client_name"]
        work = asyncio.ensure_future(
            service.translate(
                scheduler,
                client,
                [body.text],
                options,
                deadline=body.deadline,
                on_words=words.update,
            )
        )
        work.add_done_callback(words.end)
        await until_disconnect(request, _first_words(words, work))
        return StreamingResponse(_events(words, work), media_type="text/event-stream")

    @router.get("/models", response_model=ModelList, responses=responses())
    async def list_models() -> Response:
        """The models that are served."""
        return json_response({"models": service.models.cards()})

    return router


class WordStream:
    """The words a client has not received, from the first that changed.

    A slow client gets the latest words; only these are stored.
    """

    def __init__(self) -> None:
        self._words: list[str] = []
        self._first_changed: int | None = None
        self._ended = False
        self._changed = asyncio.Event()

    def update(self, first: int, words: list[str]) -> None:
        """Replace all words from an index on."""
        self._words[first:] = words
        earlier = first if self._first_changed is None else self._first_changed
        self._first_changed = min(earlier, first)
        self._changed.set()

    def end(self, _: object) -> None:
        """No more words come."""
        self._ended = True
        self._changed.set()

    async def has_words(self) -> bool:
        """Whether there are words, once there are or can be none."""
        await self._changed.wait()
        return self._first_changed is not None

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """The changes, whenever there are any."""
        while True:
            await self._changed.wait()
            self._changed.clear()
            if self._first_changed is not None:
                first, self._first_changed = self._first_changed, None
                yield {"from": first, "words": self._words[first:]}
            elif self._ended:
                return
            if self._ended:
                self._changed.set()


async def _first_words(words: WordStream, work: "asyncio.Future[Any]") -> None:
    """Wait for the first words; an error before any is the response."""
    try:
        if not await words.has_words():
            work.result()
    except asyncio.CancelledError:
        work.cancel()
        raise


async def _events(words: WordStream, work: "asyncio.Future[Any]") -> AsyncIterator[str]:
    """Words as they come, then the translation or the error."""
    try:
        async for change in words:
            yield server_sent_event("words", change)
        yield _last_event(work)
    finally:
        work.cancel()


def _last_event(work: "asyncio.Future[list[Answer]]") -> str:
    try:
        [answer] = work.result()
    except ApiError as error:
        return server_sent_event("error", {"code": error.code, "message": error.message})
    return server_sent_event("done", answer["translations"][0])


def health_routes(models: ServedModels) -> APIRouter:
    """`/livez` and `/readyz`."""
    router = APIRouter(tags=["operation"])

    @router.get("/livez", response_class=Response, responses=responses(TEXT))
    async def livez() -> Response:
        """The process answers."""
        return PlainTextResponse("alive\n")

    @router.get("/readyz", response_class=Response, responses=responses(TEXT))
    async def readyz() -> Response:
        """Every model is loaded and translates its canary as expected."""
        if models.draining:
            raise shutting_down()
        if not models.ready:
            raise models.not_ready()
        return PlainTextResponse("ready\n")

    return router


def metrics_routes(models: ServedModels) -> APIRouter:
    """`/metrics`."""
    router = APIRouter(tags=["operation"])

    @router.get("/metrics", response_class=Response, responses=responses(TEXT))
    async def metrics() -> Response:
        """Metrics in Prometheus' text format."""
        return Response(models.metrics.exposition(), media_type=CONTENT_TYPE_PLAIN_0_0_4)

    return router
