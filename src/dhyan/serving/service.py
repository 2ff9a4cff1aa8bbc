"""`TranslationService`: authenticates, rate-limits and schedules for every translation route."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request

from dhyan.serving.access import AccessPolicy, RateLimiter
from dhyan.serving.errors import ApiError, rate_limited, unauthorized
from dhyan.serving.fair_queue import OnWords
from dhyan.serving.models import ServedModels
from dhyan.serving.scheduler import Scheduler
from dhyan.serving.settings import MAX_DEADLINE, counted_characters
from dhyan.serving.worker_protocol import Answer, JobOptions
from dhyan.web.body_format import client_disconnected

Result = TypeVar("Result")


@dataclass(frozen=True)
class TranslationService:
    """The models, who may use them, and how much."""

    models: ServedModels
    policy: AccessPolicy
    rate_limiter: RateLimiter

    def client(self, request: Request, api_key: str | None) -> str:
        """The client's name, by the API key of the header or, as LibreTranslate has it, a field."""
        client, keys = str(request.scope["client_name"]), self.policy.keys
        if not client and keys is not None:
            client = keys.client(api_key or "")
            if not client:
                raise unauthorized()
        return client

    def charge(self, client: str, characters: int) -> None:
        """Take characters from the client's rate limit."""
        if wait := self.rate_limiter.take(client, characters):
            raise rate_limited(wait)

    async def translate(
        self,
        scheduler: Scheduler,
        client: str,
        texts: Sequence[str],
        options: JobOptions,
        *,
        deadline: float | None = None,
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        """The answers to all texts; a text that has none is an error of the request."""
        characters = sum(map(counted_characters, texts))
        try:
            self.charge(client, characters)
        except ApiError:
            scheduler.metrics.count_request("refused")
            raise
        timeout = min(deadline or self.policy.settings.deadline, MAX_DEADLINE)
        try:
            answers = await scheduler.translate(
                texts, options, client=client, timeout=timeout, on_words=on_words
            )
        except ApiError as error:
            if error.status_code in (429, 503):
                self.rate_limiter.give_back(client, characters)
            raise
        for number, answer in enumerate(answers, start=1):
            if "error" in answer:
                prefix = f"text {number}: " if len(texts) > 1 else ""
                raise ApiError(400, answer["code"], f"{prefix}{answer['error']}")
        return answers


async def until_disconnect(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """The result of work, which is cancelled if the client disconnects."""
    working = asyncio.ensure_future(work)
    disconnect = asyncio.ensure_future(_disconnect(request))
    try:
        await asyncio.wait({working, disconnect}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        disconnect.cancel()
        if not working.done():
            working.cancel()
    try:
        return await working
    except asyncio.CancelledError:
        raise client_disconnected() from None


async def _disconnect(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
