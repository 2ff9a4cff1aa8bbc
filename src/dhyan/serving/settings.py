"""What a server allows: how much, how long, and how many."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Limits of one server; times are in seconds, sizes in bytes, work in tokens times beam."""

    deadline: float = 10.0
    """what a request has if it does not say"""
    longest_deadline: float = 60.0
    batch: int = 4096
    """most work of one batch"""
    queue: int = 6144
    """most work that may wait before a request"""
    headers_within: float = 5.0
    body_within: float = 10.0
    idle_for: float = 5.0
    """how long a connection may wait for its next request"""
    largest_body: int = 1024 * 1024
    largest_head: int = 16 * 1024
    connections: int = 4096
    longest_text: int = 5000
    """letters of one text"""
    most_texts: int = 128
    widest_beam: int = 16
    rate: float = 0.0
    """letters a second of one client; 0 is as many as it likes"""
    burst: float = 10.0
    """seconds of that rate that may come at once"""
    drain_within: float = 25.0
    notice: float = 1.0
    """how long new requests are told that the server is ending"""
    load_within: float = 300.0
    stuck_for: float = 5.0
    """a child that goes on so long with work nobody waits for is ended"""
    canary_every: float = 30.0
    rest: float = 1.0
    """before a child that failed to start is started again; doubled up to `longest_rest`"""
    longest_rest: float = 30.0
