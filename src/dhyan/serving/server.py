"""The server's life: a socket, the model's process, requests, and an end that loses none."""

import asyncio
import gc
import ipaddress
import logging
import os
import resource
import socket
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType

import uvicorn

from dhyan.errors import UserError
from dhyan.serving.access import Rules
from dhyan.serving.api_keys import Keys
from dhyan.serving.app import make_app, make_watch
from dhyan.serving.connection import connection_class
from dhyan.serving.metrics import Metrics
from dhyan.serving.scheduler import Desk
from dhyan.serving.settings import Settings
from dhyan.serving.supervisor import Keeper
from dhyan.web import App

LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
SPARE = 64  # descriptors for all else than connections


@dataclass(frozen=True)
class Place:
    """Where a server listens, and under which names it answers."""

    host: str = "127.0.0.1"
    port: int = 8080
    names: Sequence[str] = ()

    @property
    def loopback(self) -> bool:
        """Whether only this machine can reach it."""
        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            raise UserError(
                f"--host {self.host}: give an address, as 127.0.0.1 or 0.0.0.0"
            ) from None

    def hosts(self, port: int) -> frozenset[str]:
        """What `Host` may say, to the letter."""
        unnamed = ipaddress.ip_address(self.host).is_unspecified
        own = () if unnamed else (f"[{self.host}]" if ":" in self.host else self.host,)
        named = [f"{name}:{port}" for name in (*LOOPBACK, *own)]
        return frozenset(name.lower() for name in (*named, *self.names))


def take_place(place: Place, option: str = "--port") -> socket.socket:
    """The socket, if it is free."""
    family = socket.AF_INET6 if ":" in place.host else socket.AF_INET
    taken = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # or Nagle waits
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((place.host, place.port))
    except OSError as error:
        taken.close()
        why = error.strerror or str(error)
        raise UserError(
            f"{place.host} port {place.port}: {why}; choose another by {option}"
        ) from None
    return taken


def serve(
    keeper: Keeper,
    taken: socket.socket,
    place: Place,
    keys: Keys | None,
    say: Callable[[str], None],
    *,
    watched: socket.socket | None = None,
) -> None:
    """Answer until SIGTERM or Ctrl-C, then finish what was accepted; `watched` is where its
    metrics are told without a key."""
    settings = keeper.settings
    allow_descriptors(settings.connections + SPARE)
    asyncio.run(_serve(keeper, taken, place, keys, say, watched=watched))


async def _serve(
    keeper: Keeper,
    taken: socket.socket,
    place: Place,
    keys: Keys | None,
    say: Callable[[str], None],
    *,
    watched: socket.socket | None,
) -> None:
    settings, metrics = keeper.settings, Metrics()
    desk = Desk(keeper, settings, metrics)
    port = taken.getsockname()[1]
    app = make_app(desk, Rules(place.hosts(port), keys, settings))
    config = _config(app, settings, metrics)
    shown = f"[{place.host}]" if ":" in place.host else place.host
    where, watch = f"http://{shown}:{port}/", None
    if watched:
        own = Place(port=watched.getsockname()[1])
        rules = Rules(own.hosts(own.port), None, settings)
        watch = Watch(watched, _config(make_watch(desk, rules), settings, metrics))
        where += f" and http://{own.host}:{own.port}/metrics"
    server = _Server(config, desk, lambda: say(f"Serving: {where}"), watch)
    kept = asyncio.ensure_future(keeper.run(desk.serve))
    ended = asyncio.ensure_future(server.serve(sockets=[taken]))
    try:
        await asyncio.wait({kept, ended}, return_when=asyncio.FIRST_COMPLETED)
        if not ended.done():  # the keeper never ends but by a fault of its own
            server.should_exit = True
        await ended
    finally:
        kept.cancel()
        with suppress(asyncio.CancelledError):
            await kept


def _config(app: App, settings: Settings, metrics: Metrics) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        http=connection_class(settings, metrics.answered),
        ws="none",
        lifespan="off",
        log_level="error",
        access_log=False,
        server_header=False,
        proxy_headers=False,  # who asks is who is connected
        timeout_keep_alive=settings.idle_for,  # type: ignore[arg-type]
        timeout_graceful_shutdown=5,
        backlog=2048,
    )


def allow_descriptors(wanted: int) -> None:
    """As many open connections as the settings say, if the system lets us."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft < wanted:
        most = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        with suppress(OSError, ValueError):
            resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))


@dataclass(frozen=True)
class Watch:
    """A second place to listen, and what is told there."""

    taken: socket.socket
    config: uvicorn.Config


class _Server(uvicorn.Server):
    """Says when it listens; ends by draining, or at once when it is told twice."""

    def __init__(
        self, config: uvicorn.Config, desk: Desk, ready: Callable[[], None], watch: "Watch | None"
    ) -> None:
        super().__init__(config)
        self.desk, self.ready, self.watch = desk, ready, watch
        self._ending = 0.0

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.watch:
            loop, made = asyncio.get_running_loop(), partial(self._protocol, self.watch.config)
            self.servers.append(await loop.create_server(made, sock=self.watch.taken))
        gc.freeze()  # what is here stays, and looking through it takes a tenth of a second
        if self.started:
            self.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal begins the end; the second does not wait for it."""
        if self.desk.draining:
            if self.desk.keeper.child:
                self.desk.keeper.child.kill()
            os._exit(128 + sig)
        self.desk.draining = True
        self._ending = time.monotonic()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """End; whoever has connected but was not yet heard is heard and told."""
        last = [one for listening in sockets or () for one in _knocking(listening)]
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for one in last:
            await loop.connect_accepted_socket(partial(self._protocol, self.config), one)
        await super().shutdown(sockets)

    def _protocol(self, config: uvicorn.Config) -> asyncio.Protocol:
        if not config.loaded:
            config.load()
        kind = config.http_protocol_class
        state = {"server_state": self.server_state, "app_state": self.lifespan.state}
        return kind(config=config, **state)  # type: ignore[call-arg]

    async def on_tick(self, counter: int) -> bool:
        """Go on until all that was accepted is answered, and those who ask have been told."""
        if self._ending:
            gone = time.monotonic() - self._ending
            settings = self.desk.settings
            over = not self.desk.open and gone >= settings.notice
            if gone >= settings.drain_within:
                self.desk.close()
                over = True
            self.should_exit = self.should_exit or over
        return await super().on_tick(counter)


def _knocking(listening: socket.socket) -> Iterator[socket.socket]:
    """Connections that wait to be accepted."""
    with suppress(OSError):
        while True:
            one, _ = listening.accept()
            one.setblocking(False)
            yield one


def log_to(say: Callable[[str], None]) -> None:
    """Let the server's own lines be said; they have no text and no key in them."""
    logger = logging.getLogger("dhyan.serving")
    handler = logging.Handler()
    handler.emit = lambda record: say(record.getMessage())  # type: ignore[method-assign]
    logger.handlers = [handler]
    logger.propagate = False
