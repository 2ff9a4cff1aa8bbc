"""Where requests are taken or refused, wait their turn, and get their answers.

A request that cannot be done by its deadline is refused at once; one that is taken is answered, or
told that its deadline has passed. Whoever leaves takes the work along.
"""

import asyncio
import itertools
import time
from collections.abc import Sequence

from dhyan.serving import refusals
from dhyan.serving.asked import Answer, Hear, Manner, Piece
from dhyan.serving.batch import Batch
from dhyan.serving.child import Child
from dhyan.serving.keeper import DIED, Keeper
from dhyan.serving.metrics import Metrics
from dhyan.serving.pace import Pace
from dhyan.serving.settings import Settings
from dhyan.serving.waiting import Waiting

CROWD = 4  # times the queue that one client may fill is what all may
FEW = 0.25  # tokens of a letter, before any were counted


class Desk:
    """One queue before one model."""

    def __init__(self, keeper: Keeper, settings: Settings, metrics: Metrics) -> None:
        self.keeper, self.settings, self.metrics = keeper, settings, metrics
        self.waiting, self.pace = Waiting(), Pace()
        self.draining = False
        self.open = 0
        self._numbers = itertools.count(1)
        self._some = asyncio.Event()
        self._batch: Batch | None = None
        self._density = FEW

    async def ask(
        self,
        texts: Sequence[str],
        manner: Manner,
        *,
        client: str,
        within: float,
        hear: Hear | None = None,
    ) -> list[Answer]:
        """The answers to some texts, all of them, by a deadline."""
        costs = [self._cost(text, manner) for text in texts]
        self.admit(client, sum(costs), within)
        began = time.monotonic()
        loop = asyncio.get_running_loop()
        pieces = [
            Piece(
                next(self._numbers), text, manner, client, cost, began + within,
                loop.create_future(), hear, added=began,
            )
            for text, cost in zip(texts, costs, strict=True)
        ]  # fmt: skip
        self.metrics.count("accepted")
        self.open += 1
        end = "failed"
        try:
            for piece in pieces:
                self.waiting.add(piece)
            self._some.set()
            async with asyncio.timeout(within):
                found = [await piece.answer for piece in pieces]
            end = "done"
            return found
        except TimeoutError:
            end = "expired"
            raise refusals.expired() from None
        except asyncio.CancelledError:
            end = "cancelled"
            raise
        finally:
            self.open -= 1
            self._leave(pieces)
            self.metrics.count(end)
            self.metrics.latency.add(time.monotonic() - began)

    def admit(self, client: str, cost: int, within: float) -> None:
        """Refuse what cannot be done."""
        if self.draining:
            raise refusals.ending()
        if not self.keeper.ready:
            raise refusals.unready(self.keeper.reason)
        ahead = self.waiting.ahead(client, cost)
        wait = self._left() + self.pace.seconds(ahead + cost, self.settings.batch)
        if self._full(client, ahead) or wait > within:
            self.metrics.count("refused")
            raise refusals.busy(wait - within if wait > within else wait)

    def full(self, client: str) -> bool:
        """Whether even a small request of this client would be refused."""
        return self._full(client, self.waiting.ahead(client, 1))

    def _full(self, client: str, ahead: int) -> bool:
        """Whether too much waits: before this client's next, of its own, or of all."""
        most, own, all_ = self.settings.queue, self.waiting.of(client), self.waiting.cost
        return ahead > most or own > most or all_ > CROWD * most

    async def serve(self, child: Child) -> None:
        """Batch after batch for a process, until it is over."""
        child.heard = self._hear
        try:
            while not child.over.is_set():
                if not await self._come(child):
                    continue
                pieces = self.waiting.take(self.settings.batch)
                if pieces:
                    await self._translate(child, pieces)
        finally:
            self._fail(list(self.waiting))
            self.waiting.sweep()

    async def _come(self, child: Child) -> bool:
        """Wait for work, and try the model now and then while there is none."""
        if len(self.waiting):
            return True
        self._some.clear()
        tasks = {asyncio.ensure_future(one.wait()) for one in (self._some, child.over)}
        done, _ = await asyncio.wait(
            tasks, timeout=self.settings.canary_every, return_when=asyncio.FIRST_COMPLETED
        )
        for task in tasks:
            task.cancel()
        if not done:
            await self._try(child)
        return self._some.is_set()

    async def _try(self, child: Child) -> None:
        """Let it translate the canary; a model that no longer can is ended."""
        canary, until = self.keeper.canary, time.monotonic() + self.settings.deadline
        loop = asyncio.get_running_loop()
        pieces = [
            Piece(next(self._numbers), text, Manner(), "", 1, until, loop.create_future())
            for text in canary.sentences
        ]
        watch = loop.call_later(self.settings.deadline, child.kill)
        await self._translate(child, pieces, learn=False)
        watch.cancel()
        found = [one.answer.result() for one in pieces if one.answer.exception() is None]
        said = [one["translations"][0]["text"] if "translations" in one else "" for one in found]
        if not child.over.is_set() and (reason := canary.check(said)):
            self.keeper.reason = reason
            child.kill()
            await child.over.wait()

    async def _translate(self, child: Child, pieces: Sequence[Piece], learn: bool = True) -> None:
        batch = self._batch = Batch(next(self._numbers), pieces, self.settings.stuck_for)
        began, work = time.monotonic(), sum(piece.cost for piece in pieces)
        for piece in pieces:
            piece.sent = True
            if learn:
                self.metrics.wait.add(began - piece.added)
        batch.expected = began + self.pace.seconds(work, self.settings.batch)
        batch.send(child)
        try:
            whole = await batch.over(child)
        finally:
            self._batch = None
            self._fail(pieces)
        if learn and whole:
            self.pace.learn(work, time.monotonic() - began)
            self.metrics.batch.add(len(pieces))

    def _hear(self, message: dict[str, object]) -> None:
        if self._batch:
            letters, tokens = self._batch.hear(message)
            if letters:
                self.metrics.tokens += tokens
                self._density += 0.05 * (tokens / letters - self._density)

    def _leave(self, pieces: Sequence[Piece]) -> None:
        """Nobody waits for these any more: out of the queue, and out of the batch."""
        for piece in pieces:
            piece.answer.cancel()
        left = [piece for piece in pieces if piece.answer.cancelled()]
        for piece in pieces:  # one that failed after another did was never looked at
            if not piece.answer.cancelled():
                piece.answer.exception()
        if left:
            self.waiting.sweep()
            sent = [piece.number for piece in left if piece.sent]
            if sent and self._batch and self.keeper.child:
                self._batch.leave(self.keeper.child, sent)

    def _fail(self, pieces: Sequence[Piece]) -> None:
        """No answer will come to these."""
        for piece in pieces:
            if not piece.answer.done():
                piece.answer.set_exception(refusals.unready(DIED))

    def _cost(self, text: str, manner: Manner) -> int:
        width = max(manner.beam or int(self.keeper.about.get("beam", 1)), manner.nbest)
        return max(1, round((len(text) * self._density + 1) * width))

    def _left(self) -> float:
        """Seconds until the batch under way should be over."""
        return max(0.0, self._batch.expected - time.monotonic()) if self._batch else 0.0
