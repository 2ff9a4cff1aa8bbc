"""The server process: sockets, worker supervisor, and a graceful shutdown that drains requests."""

import asyncio
import gc
import logging
import os
import resource
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from starlette.types import ASGIApp

from dhyan.serving.access import AccessPolicy, ApiKeys
from dhyan.serving.app import make_app, make_metrics_app
from dhyan.serving.metrics import Metrics
from dhyan.serving.scheduler import Scheduler
from dhyan.serving.supervisor import Supervisor
from dhyan.web.listen import ListenAddress
from dhyan.web.server import Listener, Server, listener

SPARE_DESCRIPTORS = 64  # for everything but connections
GRACEFUL_SECONDS = 5


def serve(
    supervisor: Supervisor,
    bound: socket.socket,
    address: ListenAddress,
    keys: ApiKeys | None,
    announce: Callable[[str], None],
    *,
    metrics_socket: socket.socket | None = None,
) -> None:
    """Answer until SIGTERM or Ctrl-C, then finish what was accepted.

    `metrics_socket` serves the metrics on a loopback port of their own, without an API key.
    """
    raise_descriptor_limit(supervisor.settings.connection.max_connections + SPARE_DESCRIPTORS)
    asyncio.run(_serve(supervisor, bound, address, keys, announce, metrics_socket=metrics_socket))


async def _serve(
    supervisor: Supervisor,
    bound: socket.socket,
    address: ListenAddress,
    keys: ApiKeys | None,
    announce: Callable[[str], None],
    *,
    metrics_socket: socket.socket | None,
) -> None:
    scheduler = Scheduler(supervisor, supervisor.settings, Metrics())
    _add_gauges(scheduler)
    port = bound.getsockname()[1]
    policy = AccessPolicy(address.allowed_hosts(port), keys, supervisor.settings)
    listeners = [_listener(bound, make_app(scheduler, policy), scheduler)]
    urls = address.url(port)
    if metrics_socket:
        own = ListenAddress(port=metrics_socket.getsockname()[1])
        policy = AccessPolicy(own.allowed_hosts(own.port), None, supervisor.settings)
        metrics_app = make_metrics_app(scheduler, policy)
        listeners.append(_listener(metrics_socket, metrics_app, scheduler))
        urls += f" and {own.url(own.port)}metrics"
    server = Server(listeners, Drain(scheduler, partial(announce, f"Serving: {urls}")))
    supervising = asyncio.ensure_future(supervisor.run(scheduler.serve))
    serving = asyncio.ensure_future(server.serve_listeners())
    try:
        await asyncio.wait({supervising, serving}, return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():  # the supervisor only ends by an internal error
            server.should_exit = True
        await serving
    finally:
        supervising.cancel()
        with suppress(asyncio.CancelledError):
            await supervising


def _listener(bound: socket.socket, app: ASGIApp, scheduler: Scheduler) -> Listener:
    return listener(
        bound,
        app,
        limits=scheduler.settings.connection,
        on_error=scheduler.metrics.count_response,
        graceful_seconds=GRACEFUL_SECONDS,
        log_level="error",
    )


def _add_gauges(scheduler: Scheduler) -> None:
    supervisor, add = scheduler.supervisor, scheduler.metrics.add_gauge
    add("dhyan_ready", "Whether the model can translate", lambda: supervisor.ready)
    add("dhyan_queue_texts", "Texts in the queue", lambda: len(scheduler.queue))
    add("dhyan_queue_cost", "Their tokens times beam", lambda: scheduler.queue.cost)
    add("dhyan_open_requests", "Requests being processed", lambda: scheduler.open_requests)
    add("dhyan_worker_starts", "Worker processes started", lambda: supervisor.starts)


@dataclass
class Drain:
    """Graceful shutdown: the first signal drains the scheduler, a second one exits at once."""

    scheduler: Scheduler
    announce: Callable[[], None]
    started: float = field(default=0.0, init=False)

    def ready(self) -> None:
        """Announce the address."""
        gc.freeze()  # what is loaded stays; a full collection over it takes a tenth of a second
        self.announce()

    def stop(self, signal_number: int) -> bool:
        """Begin to drain; the server itself stops once that is done."""
        if self.scheduler.draining:
            if self.scheduler.supervisor.worker:
                self.scheduler.supervisor.worker.kill()
            os._exit(128 + signal_number)
        self.scheduler.draining = True
        self.started = time.monotonic()
        return False

    def is_drained(self) -> bool:
        """Whether everything accepted is answered, or the time for it is over."""
        if not self.started:
            return False
        settings, seconds = self.scheduler.settings, time.monotonic() - self.started
        if seconds >= settings.drain_timeout:
            self.scheduler.close()
            return True
        return not self.scheduler.open_requests and seconds >= settings.drain_notice


def raise_descriptor_limit(needed: int) -> None:
    """Raise the limit of open files as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < needed:
        limit = needed if hard == resource.RLIM_INFINITY else min(needed, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def log_to(write: Callable[[str], None]) -> None:
    """Pass the server's log lines on; they have no text and no API key in them."""
    logger = logging.getLogger("dhyan.serving")
    handler = logging.Handler()
    handler.emit = lambda record: write(record.getMessage())  # type: ignore[method-assign]
    logger.handlers = [handler]
    logger.propagate = False
