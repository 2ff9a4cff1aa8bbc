"""Server lifecycle on uvicorn: startup, signals, and a shutdown that loses no connection."""

import asyncio
import ctypes
import socket
import struct
from collections.abc import Collection, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from types import FrameType
from typing import Any, Protocol

import uvicorn
from starlette.types import ASGIApp

from dhyan.web.connection import connection_class
from dhyan.web.listen import ConnectionLimits

BACKLOG = 2048
SO_ATTACH_FILTER = 26  # of Linux; Python's socket module does not name it
DROP_ALL = struct.pack("HBBI", 0x06, 0, 0, 0)  # a BPF program of one instruction: return 0


class Lifecycle(Protocol):
    """Callbacks of a server: readiness, signals, and whether to shut down."""

    def ready(self) -> None:
        """The server accepts connections."""
        ...

    def stop(self, signal_number: int) -> bool:
        """SIGINT or SIGTERM arrived; whether to shut down at once."""
        ...

    def is_drained(self) -> bool:
        """Asked ten times a second: whether to shut down now."""
        ...


@dataclass(frozen=True)
class Listener:
    """A bound socket and the application behind it."""

    socket: socket.socket
    config: uvicorn.Config

    @property
    def port(self) -> int:
        """The bound port."""
        return int(self.socket.getsockname()[1])


def listener(
    bound: socket.socket,
    app: ASGIApp,
    *,
    limits: ConnectionLimits | None = None,
    proxies: Sequence[str] = (),
    on_error: Any = lambda status: None,
    string_error_paths: Collection[str] = (),
    graceful_seconds: int = 2,
    log_level: str = "warning",
) -> Listener:
    """A listener; with `limits` its connections have deadlines and size limits.

    The client is the peer of the connection, or, if that is one of the `proxies`, the last address
    of `X-Forwarded-For` that is none of them.
    """
    options: dict[str, Any] = {}
    if limits:
        options = {
            "http": connection_class(limits, on_error, string_error_paths),
            "timeout_keep_alive": limits.keep_alive_timeout,
        }
    config = uvicorn.Config(
        app,
        ws="none",
        lifespan="off",
        log_level=log_level,
        access_log=False,
        server_header=False,
        proxy_headers=bool(proxies),
        forwarded_allow_ips=list(proxies),
        timeout_graceful_shutdown=graceful_seconds,
        backlog=BACKLOG,
        **options,
    )
    return Listener(bound, config)


class Server(uvicorn.Server):
    """uvicorn's server on one or more listeners, with an owner that decides when it ends."""

    def __init__(self, listeners: Sequence[Listener], lifecycle: Lifecycle) -> None:
        main, *others = listeners
        super().__init__(main.config)
        self._main, self._others, self._lifecycle = main, others, lifecycle

    async def serve_listeners(self) -> None:
        """Answer requests until the owner or a signal ends it."""
        await self.serve(sockets=[self._main.socket])

    def run_listeners(self) -> None:
        """Run `serve_listeners` in a new event loop."""
        self.run(sockets=[self._main.socket])

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        loop = asyncio.get_running_loop()
        for other in self._others:
            protocol = partial(self._protocol, other.config)
            self.servers.append(await loop.create_server(protocol, sock=other.socket))
        if self.started:
            self._lifecycle.ready()

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """Let the owner decide what a signal does."""
        if self._lifecycle.stop(sig):
            super().handle_exit(sig, frame)

    async def on_tick(self, counter: int) -> bool:
        """Go on until the owner has drained its requests."""
        self.should_exit = self.should_exit or self._lifecycle.is_drained()
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Shut down; connections that wait in the backlog are accepted and answered first."""
        for bound in sockets or ():
            _refuse_new_connections(bound)
        backlog = [client for bound in sockets or () for client in _accept_backlog(bound)]
        for server in self.servers:
            server.close()
        loop = asyncio.get_running_loop()
        for client in backlog:
            await loop.connect_accepted_socket(partial(self._protocol, self.config), client)
        await super().shutdown(sockets)

    def _protocol(self, config: uvicorn.Config) -> asyncio.Protocol:
        if not config.loaded:
            config.load()
        state = {"server_state": self.server_state, "app_state": self.lifespan.state}
        return config.http_protocol_class(config=config, **state)  # type: ignore[call-arg]


def _refuse_new_connections(bound: socket.socket) -> None:
    """Drop connection attempts from now on, so that none is reset between accept and close.

    The client repeats its attempt and is refused by the closed port. Only Linux can do this.
    """
    program = ctypes.create_string_buffer(DROP_ALL)
    with suppress(OSError):
        pointer = struct.pack("HL", 1, ctypes.addressof(program))
        bound.setsockopt(socket.SOL_SOCKET, SO_ATTACH_FILTER, pointer)


def _accept_backlog(bound: socket.socket) -> Iterator[socket.socket]:
    """Connections that wait to be accepted."""
    with suppress(OSError):
        while True:
            client, _ = bound.accept()
            client.setblocking(False)
            yield client
