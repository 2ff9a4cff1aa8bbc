"""Listening addresses, bound sockets, and the limits of connections.

Imports no library at the top: every start of the command line reads the limits.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from dhyan.errors import UserError

if TYPE_CHECKING:
    import socket

LOOPBACK_NAMES = ("127.0.0.1", "localhost", "[::1]")
ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://([a-z0-9._-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")
DEFAULT_PORTS = re.compile(r"http://.*:80|https://.*:443")


@dataclass(frozen=True)
class ListenAddress:
    """An IP address and port, and further host names the server answers to."""

    host: str = "127.0.0.1"
    port: int = 8080
    names: Sequence[str] = ()

    @property
    def is_loopback(self) -> bool:
        """Whether only programs of this machine can connect."""
        import ipaddress

        try:
            return ipaddress.ip_address(self.host).is_loopback
        except ValueError:
            raise UserError(
                f"--host {self.host}: not an IP address; give one such as 127.0.0.1 or 0.0.0.0"
            ) from None

    def allowed_hosts(self, port: int) -> frozenset[str]:
        """The exact values of `Host` that are answered."""
        import ipaddress

        unspecified = ipaddress.ip_address(self.host).is_unspecified
        public_names = () if unspecified else (self._url_host,)
        with_port = [f"{name}:{port}" for name in (*LOOPBACK_NAMES, *public_names)]
        return frozenset(name.lower() for name in (*with_port, *self.names))

    def url(self, port: int) -> str:
        """The address as a browser takes it."""
        return f"http://{self._url_host}:{port}/"

    @property
    def _url_host(self) -> str:
        return f"[{self.host}]" if ":" in self.host else self.host


@dataclass(frozen=True, kw_only=True)
class ConnectionLimits:
    """Limits of a connection; times in seconds, sizes in bytes."""

    header_timeout: float = 5.0
    body_timeout: float = 10.0
    """also the time a client has to read a response"""
    keep_alive_timeout: float = 5.0
    max_body_bytes: int = 1024 * 1024
    max_header_bytes: int = 16 * 1024
    max_connections: int = 4096


def check_origin(origin: str) -> str:
    """A web page's origin as browsers send it, such as `https://example.org`, or a UserError."""
    if not ORIGIN.fullmatch(origin):
        raise UserError(
            f"--cors-origin {origin}: not an origin; give scheme, host and port as the browser "
            "sends them, such as https://example.org or http://localhost:3000"
        )
    if DEFAULT_PORTS.fullmatch(origin):
        raise UserError(
            f"--cors-origin {origin}: browsers leave out the default port; leave it out too"
        )
    return origin


def bind(address: ListenAddress, option: str = "--port") -> "socket.socket":
    """A socket bound to the address; `option` is named in the error if the port is taken."""
    import socket

    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    listener = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # TCP: no Nagle delay
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listener.bind((address.host, address.port))
    except OSError as error:
        listener.close()
        reason = error.strerror or str(error)
        raise UserError(
            f"{address.host} port {address.port}: {reason}; "
            f"choose another with {option} (0: any free port)"
        ) from None
    return listener
