"""Batch of texts sent to the worker process: sending, cancelling, and pacing of its answers."""

import asyncio
import time
from collections import deque
from collections.abc import Collection, Sequence
from dataclasses import asdict
from typing import Any

from dhyan.serving.fair_queue import Job
from dhyan.serving.settings import counted_characters
from dhyan.serving.supervisor import WorkerProcess
from dhyan.serving.worker_protocol import Answer


class ResponsePacer:
    """Delivers answers in order, one in each iteration of the event loop.

    A batch answers a hundred clients at one moment. If all were woken at once, a new request would
    be read only after the last of them was served.
    """

    def __init__(self) -> None:
        self._pending: deque[tuple[Job, Answer]] = deque()

    def give(self, job: Job, answer: Answer) -> None:
        """Hand out an answer when it is its turn."""
        job.answered = True
        self._pending.append((job, answer))
        if len(self._pending) == 1:
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        job, answer = self._pending[0]
        if not job.cancelled:
            job.answer.set_result(answer)
        self._pending.popleft()
        if self._pending:
            asyncio.get_running_loop().call_soon(self._next)


class Batch:
    """Jobs with equal options under one id; answers come one by one, then the end."""

    def __init__(
        self, id: int, jobs: Sequence[Job], cancel_timeout: float, pacer: ResponsePacer
    ) -> None:
        self.id, self.jobs = id, {job.id: job for job in jobs}
        self.started, self.cost = time.monotonic(), sum(job.cost for job in jobs)
        self.expected_end = self.started
        self.ended, self._answers = False, 0
        self._cancelled: set[int] = set()
        self._cancel_timeout, self._pacer = cancel_timeout, pacer

    @property
    def complete(self) -> bool:
        """Whether no job of it was cancelled."""
        return not self._cancelled

    @property
    def answered(self) -> bool:
        """Whether all answers have arrived; the end message may still be missing."""
        return self._answers == len(self.jobs)

    def send(self, worker: WorkerProcess) -> None:
        """Give it to a worker."""
        (options, *_) = {job.options for job in self.jobs.values()}
        texts = [[job.id, job.text] for job in self.jobs.values()]
        worker.send(type="translate", batch=self.id, jobs=texts, options=asdict(options))

    def receive(self, message: dict[str, Any]) -> tuple[int, int]:
        """Pass on a worker's message; the characters it has translated, and their tokens."""
        if message.get("batch") != self.id:
            return 0, 0
        match message["type"]:
            case "batch_done":
                self.ended = True
            case "words":
                job = self.jobs[message["job"]]
                if job.on_words and not job.cancelled:
                    job.on_words(message["from"], message["words"])
            case "answer":
                self._answers += 1
                job = self.jobs[message["job"]]
                self._pacer.give(job, message["answer"])
                return counted_characters(job.text), message["answer"].get("tokens", 0)
        return 0, 0

    def cancel(self, worker: WorkerProcess, jobs: Collection[int]) -> None:
        """Cancel some of its jobs; a worker that goes on when none is left is killed."""
        self._cancelled.update(jobs)
        worker.send(type="cancel", jobs=sorted(self._cancelled))
        if all(job.cancelled for job in self.jobs.values()):
            loop = asyncio.get_running_loop()
            loop.call_later(self._cancel_timeout, self._kill_if_running, worker)

    def _kill_if_running(self, worker: WorkerProcess) -> None:
        if not self.ended and not worker.exited.is_set():
            worker.kill()
