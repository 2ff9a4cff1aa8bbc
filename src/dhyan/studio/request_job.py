"""The job of a request: cancelled when its client disconnects, and its progress while a model loads.

A job belongs to a context (`contextvars`), which FastAPI passes on to the thread of an endpoint; code
that works for a request asks `check` and `cancellable_lock` and needs no argument for it.
"""

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from dataclasses import dataclass, field

from anyio.to_thread import current_default_thread_limiter
from fastapi import Request
from fastapi.responses import Response
from starlette.types import Message, Receive

from dhyan.web.body_format import Handler, StrictRoute, client_disconnected

POLL_SECONDS = 0.1  # between two looks at a cancellation while a lock is waited for
PATIENCE_SECONDS = 0.3  # after which a wait is reported
MAX_THREADS = 400  # of endpoints: those that wait for a busy model must leave some to the others


class JobCancelledError(Exception):
    """The client has disconnected; nobody waits for the result."""


@dataclass(frozen=True)
class Job:
    """`report` gets the stages of a wait: "queue", "pytorch", "weights"."""

    cancelled: threading.Event = field(default_factory=threading.Event)
    report: Callable[[str], None] = lambda stage: None


_current: ContextVar[Job | None] = ContextVar("job", default=None)


@contextmanager
def current_job(job: Job) -> Iterator[Job]:
    """Make a job that of this context."""
    token = _current.set(job)
    try:
        yield job
    finally:
        _current.reset(token)


def check() -> None:
    """Raise `JobCancelledError` if the client of this context's job has disconnected."""
    job = _current.get()
    if job and job.cancelled.is_set():
        raise JobCancelledError


def report(stage: str) -> None:
    """Report a stage of this context's job."""
    if job := _current.get():
        job.report(stage)


@contextmanager
def cancellable_lock(lock: threading.Lock) -> Iterator[None]:
    """Hold a lock; a cancelled job does not wait for it."""
    waited = 0.0
    while not lock.acquire(timeout=POLL_SECONDS):
        check()
        waited += POLL_SECONDS
        if waited - POLL_SECONDS < PATIENCE_SECONDS <= waited:
            report("queue")
    try:
        check()
        yield
    finally:
        lock.release()


class CancellableRoute(StrictRoute):
    """A strict route whose job is cancelled when the client disconnects before the response."""

    def get_route_handler(self) -> Handler:
        """The handler, watched while it works."""
        handler = super().get_route_handler()

        async def handle(request: Request) -> Response:
            current_default_thread_limiter().total_tokens = MAX_THREADS
            body_read = asyncio.Event()
            receive = request.receive
            job = Job()
            watcher = asyncio.create_task(_watch(receive, body_read, job))
            try:
                with current_job(job):
                    return await handler(Request(request.scope, _marking(receive, body_read)))
            except JobCancelledError:
                raise client_disconnected() from None
            finally:
                watcher.cancel()
                with suppress(asyncio.CancelledError):
                    await watcher

        return handle


def _marking(receive: Receive, body_read: asyncio.Event) -> Receive:
    """Set the event when the last part of the body is read."""

    async def receive_body() -> Message:
        message = await receive()
        if not message.get("more_body", False):
            body_read.set()
        return message

    return receive_body


async def _watch(receive: Receive, body_read: asyncio.Event, job: Job) -> None:
    """Cancel the job when the connection closes; a body is the handler's to read."""
    await body_read.wait()
    while (await receive())["type"] != "http.disconnect":
        pass
    job.cancelled.set()
