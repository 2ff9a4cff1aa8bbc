"""The page's server on this machine alone: a port, an address to print, and an end by Ctrl-C."""

import asyncio
import errno
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress

import uvicorn

from dhyan.errors import UserError
from dhyan.studio.app import make_app
from dhyan.studio.registry import Shelf

HOST = "127.0.0.1"
PATIENCE = 2  # seconds that answers under way have when the server ends


def take_port(port: int) -> socket.socket:
    """The port if it is free; 0 takes any that is."""
    taken = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # or Nagle waits
    taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        taken.bind((HOST, port))
    except OSError as error:
        taken.close()
        if error.errno == errno.EADDRINUSE:
            why = "another program has it (perhaps another studio)"
        else:
            why = error.strerror or str(error)
        raise UserError(f"port {port}: {why}; choose another by --port, 0 takes any") from None
    return taken


def serve(shelf: Shelf, taken: socket.socket, *, browser: bool, say: Callable[[str], None]) -> None:
    """Answer until Ctrl-C."""
    address = f"http://{HOST}:{taken.getsockname()[1]}/"
    config = uvicorn.Config(
        make_app(shelf), log_level="warning", timeout_graceful_shutdown=PATIENCE, access_log=False
    )
    logging.getLogger("uvicorn.error").addFilter(_worth_telling)

    def ready() -> None:
        say(f"Studio: {address} (Ctrl-C to stop)")
        if browser:
            threading.Timer(0.5, webbrowser.open, (address,)).start()

    with suppress(KeyboardInterrupt):  # told again once the answers under way are given
        _Server(config, ready).run(sockets=[taken])


class _Server(uvicorn.Server):
    """Says when it answers: from then on Ctrl-C is heard by it alone."""

    def __init__(self, config: uvicorn.Config, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self.ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Begin to listen."""
        await super().startup(sockets)
        if self.started:
            self.ready()


def _worth_telling(record: logging.LogRecord) -> bool:
    """Not that answers under way were cut off at the end: whoever stops the server knows."""
    cut = record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cut and not record.getMessage().startswith("Cancel ")
