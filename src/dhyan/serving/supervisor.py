"""Keeps one model's process alive: starts it, tries it, and starts another when it is over."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dhyan.serving.settings import Settings
from dhyan.serving.worker_handle import Child, Over

LOG = logging.getLogger("dhyan.serving")
DIED = "the model's process died: another is being started"

Serve = Callable[[Child], Awaitable[None]]


@dataclass
class Canary:
    """Sentences whose translations must stay what they are; without any given, what the first
    process said is what they are, if it said something."""

    sentences: tuple[str, ...] = ("one",)
    wanted: tuple[str, ...] | None = None

    def check(self, said: Sequence[str]) -> str:
        """Why these cannot be trusted; nothing if they can."""
        if self.wanted is None:
            if len(said) != len(self.sentences) or not all(one.strip() for one in said):
                return "the model has no translation for a canary sentence: choose by --canary"
            self.wanted = tuple(said)
        wrong = sum(one != other for one, other in zip(said, self.wanted, strict=False))
        if len(said) != len(self.wanted) or wrong:
            return f"{max(wrong, 1)} of {len(self.wanted)} canary sentences are translated wrongly"
        return ""


@dataclass
class Keeper:
    """The state of the model: what it is, whether it can be asked, and if not, why."""

    command: Sequence[str]
    load: Mapping[str, Any]
    settings: Settings
    canary: Canary = field(default_factory=Canary)
    about: dict[str, Any] = field(default_factory=dict)
    ready: bool = False
    reason: str = "the model is being loaded"
    starts: int = 0
    child: Child | None = None

    async def run(self, serve: Serve) -> None:
        """One process after the other, each served until it is over."""
        rest = self.settings.rest
        while True:
            self.child = None
            try:
                self.child = await Child.start(self.command)
                self.starts += 1
                if await self._greeted(self.child):
                    rest = self.settings.rest
                    await serve(self.child)
                    self._not_ready(DIED)
                    continue
            except OSError as error:
                why = error.strerror or str(error)
                self._not_ready(f"the model's process cannot be started: {why}")
            finally:
                self.ready = False
                if self.child:
                    await self.child.end()
            await asyncio.sleep(rest)
            rest = min(2 * rest, self.settings.longest_rest)

    async def _greeted(self, child: Child) -> bool:
        """Whether a new process has its model, and the model its wits."""
        hello = {"do": "load", **self.load, "canary": self.canary.sentences}
        try:
            told = await child.ask(hello, within=self.settings.load_within)
        except Over:
            self._not_ready("the model's process died while it was loading")
            return False
        reason = str(told.get("problem", "")) or self.canary.check(told.get("canary", ()))
        if reason:
            self._not_ready(reason)
            return False
        self.about = told["about"]
        self.ready, self.reason = True, ""
        LOG.warning("ready")
        return True

    def _not_ready(self, reason: str) -> None:
        self.ready, self.reason = False, reason
        LOG.warning("not ready: %s", reason)
