"""What the routes share: from a client and its texts to answers, or a refusal."""

import asyncio
from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from fastapi import Request

from dhyan.serving.access import Rules
from dhyan.serving.api_keys import Allowance
from dhyan.serving.errors import Refusal
from dhyan.serving.jobs import Answer, Hear, Manner
from dhyan.serving.scheduler import Desk

Result = TypeVar("Result")


@dataclass(frozen=True)
class Service:
    """A desk, who may come to it, and how much each may ask."""

    desk: Desk
    rules: Rules
    allowance: Allowance

    @property
    def about(self) -> dict[str, Any]:
        """The model."""
        return self.desk.keeper.about

    async def ask(
        self,
        client: str,
        texts: Sequence[str],
        manner: Manner,
        deadline: float | None,
        hear: Hear | None = None,
    ) -> list[Answer]:
        """Answers to all texts; a text that has none refuses the request."""
        letters = sum(map(len, texts))
        wait = self.allowance.take(client, letters)
        if wait:
            self.desk.metrics.count("refused")
            message = "more letters than this client may ask for: ask again later"
            raise Refusal(429, "over_rate", message, after=max(wait, 1.0))
        within = min(deadline or self.rules.settings.deadline, self.rules.settings.longest_deadline)
        try:
            found = await self.desk.ask(texts, manner, client=client, within=within, hear=hear)
        except Refusal as refusal:
            if refusal.status in (429, 503):
                self.allowance.give(client, letters)
            raise
        for place, answer in enumerate(found):
            if "problem" in answer:
                where = f"text {place + 1}: " if len(texts) > 1 else ""
                raise Refusal(400, answer["code"], f"{where}{answer['problem']}")
        return found

    async def ask_while_there(self, request: Request, *asked: Any) -> list[Answer]:
        """The same, for a client that may leave: then the work is left too."""
        return await while_there(request, self.ask(*asked))


async def while_there(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """What work comes to, unless the client leaves: then it is cancelled."""
    working = asyncio.ensure_future(work)
    leaving = asyncio.ensure_future(_gone(request))
    try:
        await asyncio.wait({working, leaving}, return_when=asyncio.FIRST_COMPLETED)
    finally:
        leaving.cancel()
        if not working.done():
            working.cancel()
    try:
        return await working
    except asyncio.CancelledError:
        raise Refusal(400, "gone", "the client left") from None


async def _gone(request: Request) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
