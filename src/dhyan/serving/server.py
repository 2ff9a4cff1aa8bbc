"""The translation server: its applications, sockets, worker supervisor, and graceful shutdown.

The shutdown drains the requests that were accepted.
"""

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
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from starlette.types import ASGIApp

from dhyan.serving.access import AccessPolicy, ApiKeys, RateLimiter, access_guard
from dhyan.serving.libretranslate import libretranslate_routes
from dhyan.serving.metrics import Metrics
from dhyan.serving.routes import health_routes, metrics_routes, translate_routes
from dhyan.serving.scheduler import Scheduler
from dhyan.serving.service import TranslationService
from dhyan.serving.supervisor import Supervisor
from dhyan.version import __version__
from dhyan.web.errors import add_error_handlers
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


def make_app(scheduler: Scheduler, policy: AccessPolicy) -> ASGIApp:
    """All routes behind the access guard."""
    app = FastAPI(
        title="dhyan serve",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
    )
    settings = policy.settings
    limiter = RateLimiter(settings.rate_limit, settings.burst_seconds)
    service = TranslationService(scheduler, policy, limiter)
    app.include_router(translate_routes(service))
    app.include_router(libretranslate_routes(service))
    app.include_router(health_routes(scheduler))
    app.include_router(metrics_routes(scheduler))
    app.openapi = lambda: openapi(app, scheduler.supervisor.card)  # type: ignore[method-assign]
    add_error_handlers(app)
    return access_guard(app, policy, scheduler)


def make_metrics_app(scheduler: Scheduler, policy: AccessPolicy) -> ASGIApp:
    """The metrics alone."""
    app = FastAPI(title="dhyan metrics", openapi_url=None, redirect_slashes=False)
    app.include_router(metrics_routes(scheduler))
    add_error_handlers(app)
    return access_guard(app, policy, scheduler)


def openapi(app: FastAPI, card: dict[str, Any]) -> dict[str, Any]:
    """FastAPI's OpenAPI document, with this server's own facts.

    Invalid bodies get 400, not FastAPI's 422; the languages are the model's, once it is loaded.
    """
    document = get_openapi(title=app.title, version=app.version, routes=app.routes)
    operations = [operation for path in document["paths"].values() for operation in path.values()]
    for operation in operations:
        operation["responses"].pop("422", None)
    schemas = document["components"]["schemas"]
    for name in ("HTTPValidationError", "ValidationError"):
        schemas.pop(name, None)
    if card:
        forms = document["paths"]["/translate"]["post"]["requestBody"]["content"].values()
        inline = [form["schema"] for form in forms if "properties" in form["schema"]]
        for schema in (schemas["LibreTranslateRequest"], *inline):
            source, target = card["source_language"], card["target_language"]
            schema["properties"]["source"] = {"enum": ["auto", source], "default": "auto"}
            schema["properties"]["target"] = {"enum": [target]}
    document["components"]["securitySchemes"] = {"api_key": {"type": "http", "scheme": "bearer"}}
    return document


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
