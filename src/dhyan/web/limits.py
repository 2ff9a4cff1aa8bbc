"""Limits of HTTP connections; free of web libraries, so that a command line can read them."""

from dataclasses import dataclass


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
