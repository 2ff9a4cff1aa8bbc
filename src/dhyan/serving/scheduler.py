"""Scheduler: admits or refuses requests, batches their texts, and hands out the answers.

A request that cannot be done by its deadline is refused at once; one that is admitted is answered
or gets a deadline error. A client that disconnects cancels its work.
"""

import asyncio
import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

from dhyan.serving.errors import (
    ApiError,
    deadline_exceeded,
    model_not_ready,
    overloaded,
    shutting_down,
)
from dhyan.serving.fair_queue import FairQueue, Job, OnWords
from dhyan.serving.metrics import ModelMetrics
from dhyan.serving.settings import ServerSettings, counted_characters
from dhyan.serving.supervisor import WORKER_DIED, WorkerPool, WorkerProcess
from dhyan.serving.worker_batch import Batch, ResponsePacer
from dhyan.serving.worker_protocol import Answer, JobOptions, best_text

CANARY_CLIENT = ""
TOTAL_CAPACITY = 4  # all clients together may fill this many times one client's queue
TOKENS_PER_CHARACTER = 0.25  # before any were counted
DECAY = 0.9  # of a batch's weight in the latency model, with every later batch
MIN_SPREAD = 0.05  # of cost around its mean; below it, overhead and rate cannot be separated

ErrorFactory = Callable[[], ApiError]


def _worker_died() -> ApiError:
    return model_not_ready(WORKER_DIED)


class LatencyModel:
    """How long a batch takes: seconds = overhead + rate · cost, by decaying least squares."""

    def __init__(self) -> None:
        self._weight = self._cost = self._seconds = self._cost_cost = self._cost_seconds = 0.0

    def observe(self, cost: float, seconds: float) -> None:
        """A batch of this cost took so long."""
        self._weight = DECAY * self._weight + 1.0
        self._cost = DECAY * self._cost + cost
        self._seconds = DECAY * self._seconds + seconds
        self._cost_cost = DECAY * self._cost_cost + cost * cost
        self._cost_seconds = DECAY * self._cost_seconds + cost * seconds

    def predict(self, cost: float, batch_capacity: float) -> float:
        """Seconds for a cost, in batches of a capacity; 0 before any batch was observed."""
        if not self._weight or cost <= 0:
            return 0.0
        overhead, rate = self._fit()
        return math.ceil(cost / batch_capacity) * overhead + rate * cost

    def _fit(self) -> tuple[float, float]:
        cost, seconds = self._cost / self._weight, self._seconds / self._weight
        variance = self._cost_cost / self._weight - cost * cost
        if variance <= (MIN_SPREAD * cost) ** 2:
            return 0.0, seconds / cost
        rate = (self._cost_seconds / self._weight - cost * seconds) / variance
        rate = min(max(rate, 0.0), seconds / cost)
        return seconds - rate * cost, rate


class Scheduler:
    """One queue before the workers of a model; each has a batch of its own."""

    def __init__(self, pool: WorkerPool, settings: ServerSettings, metrics: ModelMetrics) -> None:
        self.pool, self.settings, self.metrics = pool, settings, metrics
        self.queue_capacity = settings.queue_capacity * len(pool.supervisors)
        self.queue, self.latency = FairQueue(self.queue_capacity), LatencyModel()
        self.draining = False
        self.open_requests = 0
        self._pacer = ResponsePacer()
        self._ids = itertools.count(1)
        self._batches: dict[WorkerProcess, Batch] = {}
        self._tokens_per_character = TOKENS_PER_CHARACTER

    @property
    def name(self) -> str:
        """The name of the model."""
        return self.pool.name

    def gauges(self) -> Mapping[str, Callable[[], float]]:
        """The values that metrics read, by name."""
        return {
            "dhyan_ready": lambda: self.pool.ready,
            "dhyan_workers_ready": lambda: self.pool.workers_ready,
            "dhyan_queue_texts": lambda: len(self.queue),
            "dhyan_queue_cost": lambda: self.queue.cost,
            "dhyan_open_requests": lambda: self.open_requests,
            "dhyan_worker_starts": lambda: self.pool.starts,
        }

    async def translate(
        self,
        texts: Sequence[str],
        options: JobOptions,
        *,
        client: str,
        timeout: float,
        on_words: OnWords | None = None,
    ) -> list[Answer]:
        """The answers to all texts, before the timeout."""
        jobs = self._jobs(texts, options, client, on_words)
        self.admit(client, [job.cost for job in jobs], timeout)
        with self._accounted(jobs):
            for job in jobs:
                self.queue.add(job)
            self._start_batches()
            async with asyncio.timeout(timeout):
                return [await job.answer for job in jobs]

    def _jobs(
        self,
        texts: Sequence[str],
        options: JobOptions,
        client: str,
        on_words: OnWords | None = None,
    ) -> list[Job]:
        now, loop = time.monotonic(), asyncio.get_running_loop()
        return [
            Job(
                next(self._ids), text, options, client, self._cost(text, options),
                loop.create_future(), on_words, added=now,
            )
            for text in texts
        ]  # fmt: skip

    @contextmanager
    def _accounted(self, jobs: Sequence[Job]) -> Iterator[None]:
        """Count a request's acceptance and outcome; at its end none of its jobs is left."""
        self.metrics.count_request("accepted")
        self.open_requests += 1
        started, outcome = time.monotonic(), "failed"
        try:
            yield
            outcome = "done"
        except TimeoutError:
            outcome = "expired"
            raise deadline_exceeded() from None
        except asyncio.CancelledError:
            outcome = "cancelled"
            raise
        finally:
            self.open_requests -= 1
            self._cancel(jobs)
            self.metrics.count_request(outcome)
            self.metrics.latency.observe(time.monotonic() - started)

    def admit(self, client: str, costs: Sequence[int], timeout: float) -> None:
        """Refuse texts of these costs if they cannot be done in time."""
        if self.draining:
            raise shutting_down()
        workers = list(self.pool.workers())
        if not workers:
            raise model_not_ready(self.pool.reason or WORKER_DIED)
        idle = any(self._is_idle(worker) for worker in workers)
        if idle and not len(self.queue):
            return  # an idle worker may try: a wrong latency model is corrected by it
        ahead = self.queue.cost_ahead(client, sum(costs))
        share = max(*costs, (ahead + sum(costs)) / len(workers))
        predicted = self.latency.predict(share, self.settings.batch_capacity)
        wait = min(map(self._seconds_left, workers)) + predicted
        if self._exceeds_capacity(client, ahead) or wait > timeout:
            self.metrics.count_request("refused")
            raise overloaded(wait - timeout if wait > timeout else wait)

    def is_full(self, client: str) -> bool:
        """Whether even a small request of this client would be refused."""
        return self._exceeds_capacity(client, self.queue.cost_ahead(client, 1))

    def _exceeds_capacity(self, client: str, ahead: float) -> bool:
        """Whether the queue is full: ahead of this client, of this client, or of all clients, each
        counted up to one client's capacity."""
        capacity, client_cost = self.queue_capacity, self.queue.cost_of(client)
        total = self.queue.capped_cost
        return ahead > capacity or client_cost > capacity or total > TOTAL_CAPACITY * capacity

    async def serve(self, worker: WorkerProcess) -> None:
        """Send batch after batch to a worker until it exits; the canary when it is idle.

        Its exit fails the batch it had, and whatever waits if it was the only worker.
        """
        worker.on_message = lambda message: self._receive(worker, message)
        self._start_batches()
        canary: asyncio.Future[None] | None = None
        try:
            while not await self._exits_before_canary(worker):
                if worker not in self._batches:
                    canary = self._send_canary(worker)
        finally:
            self._fail_batch(worker, _worker_died)
            if all(other is worker for other in self.pool.workers()):
                self._fail_waiting(_worker_died)
            if canary:
                canary.cancel()

    def close(self) -> None:
        """The server ends now: fail whatever is not done."""
        for worker in list(self._batches):
            self._fail_batch(worker, shutting_down)
        self._fail_waiting(shutting_down)

    async def _exits_before_canary(self, worker: WorkerProcess) -> bool:
        with suppress(TimeoutError):
            await asyncio.wait_for(worker.exited.wait(), self.settings.canary_interval)
        return worker.exited.is_set()

    def _send_canary(self, worker: WorkerProcess) -> "asyncio.Future[None]":
        """Send the canary at once, as this worker has no batch."""
        sentences = self.pool.canary.sentences
        jobs = self._jobs(sentences, JobOptions(), client=CANARY_CLIENT)
        self._send(worker, jobs)
        return asyncio.ensure_future(self._check_canary(worker, jobs))

    async def _check_canary(self, worker: WorkerProcess, jobs: Sequence[Job]) -> None:
        """Kill a worker that translates the canary wrongly or takes too long."""
        watchdog = asyncio.get_running_loop().call_later(self.settings.deadline, worker.kill)
        try:
            answers = await asyncio.gather(*(job.answer for job in jobs), return_exceptions=True)
        finally:
            watchdog.cancel()
        translations = [best_text(answer) for answer in answers if isinstance(answer, dict)]
        if not worker.exited.is_set() and self.pool.canary.check(translations):
            worker.kill()

    def _start_batches(self) -> None:
        """Send each worker that has no batch the next one, as long as something waits.

        Workers that are free at one time get an equal share each.
        """
        free = [worker for worker in self.pool.workers() if worker not in self._batches]
        while free:
            if not len(self.queue) and self._batches:
                return  # shares are reset only when nothing runs
            capacity = min(self.settings.batch_capacity, math.ceil(self.queue.cost / len(free)))
            jobs = self.queue.take_batch(capacity)
            if not jobs:
                return
            self._send(free.pop(0), jobs)

    def _send(self, worker: WorkerProcess, jobs: Sequence[Job]) -> None:
        settings = self.settings
        batch = Batch(next(self._ids), jobs, settings.cancel_timeout, self._pacer)
        self._batches[worker] = batch
        seconds = self.latency.predict(batch.cost, settings.batch_capacity)
        batch.expected_end = batch.started + seconds
        for job in jobs:
            job.sent = True
            if job.client != CANARY_CLIENT:
                self.metrics.queue_wait.observe(batch.started - job.added)
        batch.send(worker)

    def _receive(self, worker: WorkerProcess, message: dict[str, object]) -> None:
        """Handle an answer or the end of a batch; the next batch starts before anything else."""
        if not (batch := self._batches.get(worker)):
            return
        characters, tokens = batch.receive(message)
        if characters:
            self.metrics.count_tokens(tokens)
            change = tokens / characters - self._tokens_per_character
            self._tokens_per_character += 0.05 * change
        if batch.ended:
            del self._batches[worker]
            self._start_batches()
            self._fail(list(batch.jobs.values()), _worker_died)
            if batch.complete:
                self.latency.observe(batch.cost, time.monotonic() - batch.started)
                self.metrics.batch_texts.observe(len(batch.jobs))

    def _cancel(self, jobs: Sequence[Job]) -> None:
        """Nobody waits for these jobs any more: remove them from queue and batch."""
        for job in jobs:
            job.answer.cancel()
        cancelled = [job for job in jobs if job.answer.cancelled()]
        for job in jobs:  # retrieve the error of a job that failed after another did
            if not job.answer.cancelled():
                job.answer.exception()
        if cancelled:
            for job in jobs:
                self.queue.drop(job)
            sent = {job.id for job in cancelled if job.sent}
            for worker, batch in self._batches.items():
                if own := sent & batch.jobs.keys():
                    batch.cancel(worker, own)

    def _fail_batch(self, worker: WorkerProcess, error: ErrorFactory) -> None:
        """Fail every job that a worker has."""
        if batch := self._batches.pop(worker, None):
            self._fail(list(batch.jobs.values()), error)

    def _fail_waiting(self, error: ErrorFactory) -> None:
        """Fail every job in the queue."""
        waiting = list(self.queue)
        self._fail(waiting, error)
        for job in waiting:
            self.queue.drop(job)

    def _fail(self, jobs: Sequence[Job], error: ErrorFactory) -> None:
        """Fail the jobs that have no answer yet."""
        for job in jobs:
            if not job.answered and not job.cancelled:
                job.answer.set_exception(error())

    def _cost(self, text: str, options: JobOptions) -> int:
        """Estimated tokens × beam."""
        beam = max(options.beam or int(self.pool.card.get("beam", 1)), options.nbest)
        characters = counted_characters(text) + len(options.prefix)
        return max(1, round((characters * self._tokens_per_character + 1) * beam))

    def _is_idle(self, worker: WorkerProcess) -> bool:
        """Whether a worker has no batch, or has answered all of it."""
        batch = self._batches.get(worker)
        return batch is None or batch.answered

    def _seconds_left(self, worker: WorkerProcess) -> float:
        """The predicted time until a worker has done its batch."""
        batch = self._batches.get(worker)
        return max(0.0, batch.expected_end - time.monotonic()) if batch else 0.0
