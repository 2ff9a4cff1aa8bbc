"""`/v1/translate`: texts and their translations, at once or word by word; and `/v1/models`."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from dhyan.serving import refusals
from dhyan.serving.asked import Answer, Manner
from dhyan.serving.bodies import Answered, Asked, AskedStream, Models
from dhyan.serving.document import asks
from dhyan.serving.reading import read_body
from dhyan.serving.refusals import Refusal
from dhyan.serving.service import Service, while_there


def add(app: FastAPI, service: Service) -> None:
    """The routes of translation."""

    @app.post("/v1/translate", response_model=Answered, **asks(Asked))
    async def translate(request: Request) -> Response:
        """Translate one text or several."""
        asked = await read_body(request, Asked)
        texts = [asked.text] if isinstance(asked.text, str) else asked.text
        manner = Manner(
            beam=asked.beam, nbest=asked.nbest, align=asked.align, paragraphs=asked.paragraphs
        )
        _check(asked)
        client = request.scope["client_name"]
        found = await service.ask_while_there(request, client, texts, manner, asked.deadline)
        told = [answer["translations"] for answer in found]
        return told_as({"model": service.about["name"], "translations": told})

    @app.post("/v1/translate/stream", response_class=StreamingResponse, **asks(AskedStream))
    async def stream(request: Request) -> Response:
        """Translate one text, word by word, as server-sent events: words, then done or error."""
        asked = await read_body(request, AskedStream)
        manner = Manner(beam=asked.beam, paragraphs=asked.paragraphs, stream=True)
        told: asyncio.Queue[tuple[str, Any]] = asyncio.Queue()
        work = asyncio.ensure_future(
            service.ask(
                request.scope["client_name"], [asked.text], manner, asked.deadline,
                lambda words: told.put_nowait(("words", {"words": words})),
            )
        )  # fmt: skip
        work.add_done_callback(lambda done: told.put_nowait(("end", done)))
        kind, first = await while_there(request, _first(told, work))
        events = _events(kind, first, told, work)
        return StreamingResponse(events, media_type="text/event-stream")

    @app.get("/v1/models", response_model=Models, **asks())
    async def models() -> Response:
        """The model that is served."""
        if not service.about:
            raise refusals.unready(service.desk.keeper.reason)
        return told_as({"models": [service.about]})


def told_as(value: Any) -> Response:
    """A value as JSON."""
    told = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return Response(told, media_type="application/json")


def _check(asked: Asked) -> None:
    if asked.paragraphs and (asked.nbest > 1 or asked.align):
        raise refusals.malformed("paragraphs have one translation, without alignment")


async def _first(told: "asyncio.Queue[tuple[str, Any]]", work: Any) -> tuple[str, Any]:
    """The first event; a refusal before any is an answer of its own."""
    try:
        kind, first = await told.get()
    except asyncio.CancelledError:
        work.cancel()
        raise
    if kind == "end":
        work.result()
    return kind, first


async def _events(
    kind: str, first: Any, told: "asyncio.Queue[tuple[str, Any]]", work: "asyncio.Future[Any]"
) -> AsyncIterator[str]:
    """Words as they come, then the whole, or why there is none."""
    try:
        while kind != "end":
            yield _event(kind, first)
            kind, first = await told.get()
        yield _ending(work)
    finally:
        work.cancel()


def _ending(work: "asyncio.Future[list[Answer]]") -> str:
    try:
        [answer] = work.result()
    except Refusal as refusal:
        return _event("error", {"code": refusal.code, "message": refusal.message})
    return _event("done", answer["translations"][0])


def _event(kind: str, data: Any) -> str:
    return f"event: {kind}\ndata: {json.dumps(data, ensure_ascii=False, allow_nan=False)}\n\n"
