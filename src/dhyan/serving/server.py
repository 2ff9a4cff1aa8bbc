"""The translation server: its applications, sockets, worker pools, and graceful shutdown.

The shutdown drains the requests that were accepted.
"""

import asyncio
import gc
import logging
import os
import resource
import socket
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial

from fastapi import FastAPI
from starlette.types import ASGIApp

from dhyan.serving.access import (
    LIBRETRANSLATE_PATHS,
    AccessPolicy,
    ApiKeys,
    RateLimiter,
    access_guard,
)
from dhyan.serving.libretranslate import libretranslate_routes
from dhyan.serving.models import ServedModels
from dhyan.serving.openapi import openapi
from dhyan.serving.routes import health_routes, metrics_routes, translate_routes
from dhyan.serving.service import TranslationService
from dhyan.serving.supervisor import WorkerPool
from dhyan.version import __version__
from dhyan.web.errors import add_error_handlers
from dhyan.web.listen import ListenAddress
from dhyan.web.server import Listener, Server, listener

SPARE_DESCRIPTORS = 64  # for everything but connections
GRACEFUL_SECONDS = 5


@dataclass(frozen=True)
class Access:
    """Who may use a server: its address, the API keys if any are required, the origins of pages,
    and the addresses of proxies that are believed who the client is."""

    address: ListenAddress
    keys: ApiKeys | None = None
    origins: frozenset[str] = frozenset()
    proxies: tuple[str, ...] = ()


def serve(
    pools: Sequence[WorkerPool],
    bound: socket.socket,
    access: Access,
    announce: Callable[[str], None],
    *,
    metrics_socket: socket.socket | None = None,
) -> None:
    """Answer until SIGTERM or Ctrl-C, then finish what was accepted.

    `pools` have a model each, with distinct names. `metrics_socket` serves the metrics on a
    loopback port of their own, without an API key.
    """
    connection = pools[0].settings.connection
    raise_descriptor_limit(connection.max_connections + SPARE_DESCRIPTORS)
    asyncio.run(_serve(pools, bound, access, announce, metrics_socket=metrics_socket))


async def _serve(
    pools: Sequence[WorkerPool],
    bound: socket.socket,
    access: Access,
    announce: Callable[[str], None],
    *,
    metrics_socket: socket.socket | None,
) -> None:
    models, port = ServedModels.build(pools), bound.getsockname()[1]
    hosts, settings = access.address.allowed_hosts(port), models.settings
    policy = AccessPolicy(hosts, access.keys, settings, access.origins)
    listeners = [_listener(bound, make_app(models, policy), models, access.proxies)]
    urls = access.address.url(port)
    if metrics_socket:
        address = ListenAddress(port=metrics_socket.getsockname()[1])
        policy = AccessPolicy(address.allowed_hosts(address.port), None, settings)
        metrics_app = make_metrics_app(models, policy)
        listeners.append(_listener(metrics_socket, metrics_app, models))
        urls += f" and {address.url(address.port)}metrics"
    server = Server(listeners, Drain(models, partial(announce, f"Serving: {urls}")))
    supervising = [
        asyncio.ensure_future(scheduler.pool.run(scheduler.serve)) for scheduler in models
    ]
    serving = asyncio.ensure_future(server.serve_listeners())
    try:
        await asyncio.wait({*supervising, serving}, return_when=asyncio.FIRST_COMPLETED)
        if not serving.done():  # a supervisor only ends by an internal error
            server.should_exit = True
        await serving
    finally:
        for task in supervising:
            task.cancel()
        for task in supervising:
            with suppress(asyncio.CancelledError):
                await task


def _listener(
    bound: socket.socket, app: ASGIApp, models: ServedModels, proxies: Sequence[str] = ()
) -> Listener:
    return listener(
        bound,
        app,
        limits=models.settings.connection,
        proxies=proxies,
        on_error=models.metrics.count_response,
        string_error_paths=LIBRETRANSLATE_PATHS,
        graceful_seconds=GRACEFUL_SECONDS,
        log_level="error",
    )


@dataclass
class Drain:
    """Graceful shutdown: the first signal drains the schedulers, a second one exits at once."""

    models: ServedModels
    announce: Callable[[], None]
    started: float = field(default=0.0, init=False)

    def ready(self) -> None:
        """Announce the address."""
        gc.freeze()  # what is loaded stays; a full collection over it takes a tenth of a second
        self.announce()

    def stop(self, signal_number: int) -> bool:
        """Begin to drain; the server itself stops once that is done."""
        if self.models.draining:
            self.models.kill_workers()
            os._exit(128 + signal_number)
        self.models.drain()
        self.started = time.monotonic()
        return False

    def is_drained(self) -> bool:
        """Whether everything accepted is answered, or the time for it is over."""
        if not self.started:
            return False
        settings, seconds = self.models.settings, time.monotonic() - self.started
        if seconds >= settings.drain_timeout:
            self.models.close()
            return True
        return not self.models.open_requests and seconds >= settings.drain_notice


def make_app(models: ServedModels, policy: AccessPolicy) -> ASGIApp:
    """All routes behind the access guard."""
    app = FastAPI(
        title="dhyan serve",
        version=__version__,
        docs_url=None,
        redoc_url=None,
        redirect_slashes=False,
        generate_unique_id_function=lambda route: route.name,
    )
    settings = policy.settings
    limiter = RateLimiter(settings.rate_limit, settings.burst_seconds)
    service = TranslationService(models, policy, limiter)
    app.include_router(translate_routes(service))
    app.include_router(libretranslate_routes(service))
    app.include_router(health_routes(models))
    app.include_router(metrics_routes(models))
    app.openapi = lambda: openapi(app, models)  # type: ignore[method-assign]
    add_error_handlers(app, LIBRETRANSLATE_PATHS)
    return access_guard(app, policy, models)


def make_metrics_app(models: ServedModels, policy: AccessPolicy) -> ASGIApp:
    """The metrics alone."""
    app = FastAPI(title="dhyan metrics", openapi_url=None, redirect_slashes=False)
    app.include_router(metrics_routes(models))
    add_error_handlers(app)
    return access_guard(app, policy, models)


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
