"""Translation service of the routes: rate limit, scheduler, errors of texts, disconnects."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request

from dhyan.serving.access import AccessPolicy, RateLimiter
from dhyan.serving.errors import ApiError, model_not_ready, rate_limited
from dhyan.serving.fair_queue import OnWords
from dhyan.serving.scheduler import Scheduler
from dhyan.serving.settings import MAX_DEADLINE
from dhyan.serving.worker_protocol import Answer, JobOptions
from dhyan.web.body_format import client_disconnected

Result = TypeVar("Result")


@dataclass(frozen=True)
class TranslationService:
    """The scheduler, who may use it, and how much."""

    scheduler: Scheduler
    policy: AccessPolicy
    rate_limiter: RateLimiter

    def model_card(self) -> dict[str, Any]:
        """Facts about the model, once it is loaded."""
        supervisor = self.scheduler.supervisor
        if not supervisor.card:
            raise model_not_ready(supervisor.reason)
        return supervisor.card

    async def translate(
        self,
        client: str,
        texts: Sequence[str],
        options: JobOptions,
        deadline: float | None,
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        """The answers to all texts; a text that has none is an error of the request."""
        characters = sum(map(len, texts))
        if wait := self.rate_limiter.take(client, characters):
            self.scheduler.metrics.count_request("refused")
            raise rate_limited(wait)
        timeout = min(deadline or self.policy.settings.deadline, MAX_DEADLINE)
        try:
            answers = await self.scheduler.translate(
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
