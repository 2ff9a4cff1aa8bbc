"""Limits and intervals of the translation server."""

from dataclasses import dataclass, field

from dhyan.web.connection import ConnectionLimits

MAX_TEXT_CHARACTERS = 5000
MAX_TEXTS = 128
MAX_BEAM = 16
MIN_DEADLINE, MAX_DEADLINE = 0.1, 60.0  # seconds


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Settings of one server; times in seconds, capacities in cost (tokens × beam)."""

    deadline: float = 10.0
    """of a request that names none"""
    batch_capacity: int = 4096
    queue_capacity: int = 6144
    """what may wait ahead of a request"""
    rate_limit: float = 0.0
    """characters per second of one client; 0: no limit"""
    burst_seconds: float = 10.0
    """how many seconds' worth of the rate limit a client may send at once"""
    drain_timeout: float = 25.0
    drain_notice: float = 1.0
    """how long new requests are still answered with 503 at shutdown"""
    load_timeout: float = 300.0
    cancel_timeout: float = 5.0
    """a worker still busy with cancelled work after this is killed"""
    canary_interval: float = 30.0
    restart_delay: float = 1.0
    """before a worker that failed to start is started again; doubled up to the maximum"""
    max_restart_delay: float = 30.0
    connection: ConnectionLimits = field(default_factory=ConnectionLimits)
