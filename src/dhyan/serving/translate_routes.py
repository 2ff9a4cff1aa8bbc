"""`/v1/translate`: texts and their translations, at once or word by word; and `/v1/models`."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any

from fastapi import FastAPI, Request
from fastapi.responses import Response, StreamingResponse

from dhyan.serving import errors as refusals
from dhyan.serving.body_parsing import read_body
from dhyan.serving.errors import Refusal
from dhyan.serving.jobs import Answer, Manner
from dhyan.serving.openapi import asks
from dhyan.serving.schemas import Answered, Asked, AskedStream, Models
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
        telling = Telling()
        client = request.scope["client_name"]
        work = asyncio.ensure_future(
            service.ask(client, [asked.text], manner, asked.deadline, telling.hear)
        )
        work.add_done_callback(telling.end)
        await while_there(request, _begun(telling, work))
        return StreamingResponse(_events(telling, work), media_type="text/event-stream")

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


class Telling:
    """What a reader has yet to be told: the words from the first that has changed. However slowly
    it reads, it gets their latest state, and no more than that is kept."""

    def __init__(self) -> None:
        self._words: list[str] = []
        self._first: int | None = None
        self._ended = False
        self._news = asyncio.Event()

    def hear(self, first: int, words: list[str]) -> None:
        """Words have changed from the first of these on."""
        self._words[first:] = words
        self._first = first if self._first is None else min(self._first, first)
        self._news.set()

    def end(self, _: object) -> None:
        """Nothing more comes."""
        self._ended = True
        self._news.set()

    async def begun(self) -> bool:
        """Whether there are words, once there are or can be none."""
        await self._news.wait()
        return self._first is not None

    async def __aiter__(self) -> AsyncIterator[dict[str, Any]]:
        """What is new, whenever something is."""
        while True:
            await self._news.wait()
            self._news.clear()
            if self._first is not None:
                first, self._first = self._first, None
                yield {"from": first, "words": self._words[first:]}
            elif self._ended:
                return
            if self._ended:
                self._news.set()


async def _begun(telling: Telling, work: "asyncio.Future[Any]") -> None:
    """Wait for the first words; a refusal before any is an answer of its own."""
    try:
        if not await telling.begun():
            work.result()
    except asyncio.CancelledError:
        work.cancel()
        raise


async def _events(telling: Telling, work: "asyncio.Future[Any]") -> AsyncIterator[str]:
    """Words as they come, then the whole, or why there is none."""
    try:
        async for words in telling:
            yield _event("words", words)
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
