"""The studio's server: loopback only, announces its address, stops on Ctrl-C."""

import asyncio
import logging
import socket
import threading
import webbrowser
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

from dhyan.studio.app import make_app
from dhyan.studio.registry import ModelRegistry
from dhyan.web.listen import ListenAddress
from dhyan.web.server import Server, listener


@dataclass(frozen=True)
class Announcement:
    """Prints the address when the server is ready, and opens the browser."""

    url: str
    browser: bool
    write: Callable[[str], None]

    def ready(self) -> None:
        """Announce the address."""
        self.write(f"Studio: {self.url} (Ctrl-C to stop)")
        if self.browser:
            threading.Timer(0.5, webbrowser.open, (self.url,)).start()

    def stop(self, signal_number: int) -> bool:
        """Stop at the first signal."""
        return True

    def is_drained(self) -> bool:
        """Only a signal stops the studio."""
        return False


def serve(
    registry: ModelRegistry, bound: socket.socket, *, browser: bool, announce: Callable[[str], None]
) -> None:
    """Answer until Ctrl-C."""
    logging.getLogger("uvicorn.error").addFilter(_is_unexpected)
    main = listener(bound, make_app(registry))
    announcement = Announcement(ListenAddress().url(main.port), browser, announce)
    with suppress(KeyboardInterrupt):  # raised again by uvicorn after its shutdown
        Server([main], announcement).run_listeners()


def _is_unexpected(record: logging.LogRecord) -> bool:
    """Whether a log record is more than a request cut off by the shutdown."""
    cancelled = record.exc_info and isinstance(record.exc_info[1], asyncio.CancelledError)
    return not cancelled and not record.getMessage().startswith("Cancel ")
