"""Where requests are taken or refused, wait their turn, and get their answers.

A request that cannot be done by its deadline is refused at once; one that is taken is answered, or
told that its deadline has passed. Whoever leaves takes the work along.
"""

import asyncio
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress

from dhyan.serving import errors as refusals
from dhyan.serving.errors import Refusal
from dhyan.serving.fair_queue import Waiting
from dhyan.serving.jobs import Answer, Hear, Manner, Piece
from dhyan.serving.latency_model import Pace
from dhyan.serving.metrics import Metrics
from dhyan.serving.response_pacing import Hatch
from dhyan.serving.settings import Settings
from dhyan.serving.supervisor import DIED, Keeper
from dhyan.serving.worker_batch import Batch
from dhyan.serving.worker_handle import Child

NOBODY = ""  # whose pieces the canary's are
CROWD = 4  # times the queue that one client may fill is what all may
FEW = 0.25  # tokens of a letter, before any were counted

Why = Callable[[], Refusal]


def _died() -> Refusal:
    return refusals.unready(DIED)


class Desk:
    """One queue before one model."""

    def __init__(self, keeper: Keeper, settings: Settings, metrics: Metrics) -> None:
        self.keeper, self.settings, self.metrics = keeper, settings, metrics
        self.waiting, self.pace, self.hatch = Waiting(settings.queue), Pace(), Hatch()
        self.draining = False
        self.open = 0
        self._numbers = itertools.count(1)
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
        pieces = self._pieces(texts, manner, client, hear)
        self.admit(client, sum(piece.cost for piece in pieces), within)
        with self._accounted(pieces):
            for piece in pieces:
                self.waiting.add(piece)
            self._begin(self.keeper.child)
            async with asyncio.timeout(within):
                return [await piece.answer for piece in pieces]

    def _pieces(
        self, texts: Sequence[str], manner: Manner, client: str, hear: Hear | None = None
    ) -> list[Piece]:
        now, loop = time.monotonic(), asyncio.get_running_loop()
        return [
            Piece(
                next(self._numbers), text, manner, client, self._cost(text, manner),
                loop.create_future(), hear, added=now,
            )
            for text in texts
        ]  # fmt: skip

    @contextmanager
    def _accounted(self, pieces: Sequence[Piece]) -> Iterator[None]:
        """Count a request that is accepted, and what becomes of it; at its end nothing is left."""
        self.metrics.count("accepted")
        self.open += 1
        began, end = time.monotonic(), "failed"
        try:
            yield
            end = "done"
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
        if not self.keeper.ready or not self.keeper.child or self.keeper.child.over.is_set():
            raise refusals.unready(self.keeper.reason or DIED)
        if (not self._batch or self._batch.answered) and not len(self.waiting):
            return  # nothing is lost by trying, and a pace that was misjudged is learnt anew
        ahead = self.waiting.ahead(client, cost)
        wait = self._left() + self.pace.seconds(ahead + cost, self.settings.batch)
        if self._full(client, ahead) or wait > within:
            self.metrics.count("refused")
            raise refusals.busy(wait - within if wait > within else wait)

    def full(self, client: str) -> bool:
        """Whether even a small request of this client would be refused."""
        return self._full(client, self.waiting.ahead(client, 1))

    def _full(self, client: str, ahead: float) -> bool:
        """Whether too much waits: before this client's next, of its own, or of all, where none
        counts for more than its own queue."""
        most, own = self.settings.queue, self.waiting.of(client)
        return ahead > most or own > most or self.waiting.crowd > CROWD * most

    async def serve(self, child: Child) -> None:
        """Batch after batch for a process, until it is over; the canary now and then."""
        child.heard = lambda message: self._hear(child, message)
        trial: asyncio.Future[None] | None = None
        try:
            while not await self._over(child):
                if self._batch is None:
                    trial = self._try(child)
        finally:
            self._fail_all(_died)
            if trial:
                trial.cancel()

    def close(self) -> None:
        """The server ends now: what is not done will not be."""
        self._fail_all(refusals.ending)

    async def _over(self, child: Child) -> bool:
        """Whether a process has ended before it is time for the canary."""
        with suppress(TimeoutError):
            await asyncio.wait_for(child.over.wait(), self.settings.canary_every)
        return child.over.is_set()

    def _try(self, child: Child) -> "asyncio.Future[None]":
        """Let it translate the canary, from this moment on, as nothing is under way."""
        pieces = self._pieces(self.keeper.canary.sentences, Manner(), client=NOBODY)
        self._send(child, pieces)
        return asyncio.ensure_future(self._judge(child, pieces))

    async def _judge(self, child: Child, pieces: Sequence[Piece]) -> None:
        """A model that no longer can translate the canary, or takes too long, is ended."""
        watch = asyncio.get_running_loop().call_later(self.settings.deadline, child.kill)
        try:
            found = await asyncio.gather(*(one.answer for one in pieces), return_exceptions=True)
        finally:
            watch.cancel()
        told = [one.get("translations") for one in found if isinstance(one, dict)]
        said = [one[0]["text"] if one else "" for one in told]
        if not child.over.is_set() and self.keeper.canary.check(said):
            child.kill()

    def _begin(self, child: Child | None) -> None:
        """Give a process its next batch, if it has none and something waits."""
        if child and not self._batch and (pieces := self.waiting.take(self.settings.batch)):
            self._send(child, pieces)

    def _send(self, child: Child, pieces: Sequence[Piece]) -> None:
        batch = self._batch = Batch(
            next(self._numbers), pieces, self.settings.stuck_for, self.hatch
        )
        batch.expected = batch.began + self.pace.seconds(batch.work, self.settings.batch)
        for piece in pieces:
            piece.sent = True
            if piece.client != NOBODY:
                self.metrics.wait.add(batch.began - piece.added)
        batch.send(child)

    def _hear(self, child: Child, message: dict[str, object]) -> None:
        """An answer, or the end of a batch: then the next begins before anything else is done."""
        if not (batch := self._batch):
            return
        letters, tokens = batch.hear(message)
        if letters:
            self.metrics.tokens += tokens
            self._density += 0.05 * (tokens / letters - self._density)
        if batch.ended:
            self._batch = None
            self._begin(child)
            self._fail(list(batch.pieces.values()), _died)
            if batch.whole:
                self.pace.learn(batch.work, time.monotonic() - batch.began)
                self.metrics.batch.add(len(batch.pieces))

    def _leave(self, pieces: Sequence[Piece]) -> None:
        """Nobody waits for these any more: out of the queue, and out of the batch."""
        for piece in pieces:
            piece.answer.cancel()
        left = [piece for piece in pieces if piece.answer.cancelled()]
        for piece in pieces:  # one that failed after another did was never looked at
            if not piece.answer.cancelled():
                piece.answer.exception()
        if left:
            for piece in pieces:
                self.waiting.drop(piece)
            sent = [piece.number for piece in left if piece.sent]
            if sent and self._batch and self.keeper.child:
                self._batch.leave(self.keeper.child, sent)

    def _fail_all(self, why: Why) -> None:
        """No answer will come to what is under way or waits."""
        batch, self._batch = self._batch, None
        waiting = list(self.waiting)
        self._fail([*(batch.pieces.values() if batch else ()), *waiting], why)
        for piece in waiting:
            self.waiting.drop(piece)

    def _fail(self, pieces: Sequence[Piece], why: Why) -> None:
        """No answer will come to these."""
        for piece in pieces:
            if not piece.said and not piece.gone:
                piece.answer.set_exception(why())

    def _cost(self, text: str, manner: Manner) -> int:
        width = max(manner.beam or int(self.keeper.about.get("beam", 1)), manner.nbest)
        return max(1, round((len(text) * self._density + 1) * width))

    def _left(self) -> float:
        """Seconds until the batch under way should be over."""
        return max(0.0, self._batch.expected - time.monotonic()) if self._batch else 0.0
