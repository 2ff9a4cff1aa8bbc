"""Settings of the translation server: capacities, deadlines, timeouts and limits."""

from dataclasses import dataclass, field

from dhyan.config.declare_settings import setting
from dhyan.safe_io.data_uri import is_data_uri
from dhyan.web.listen import ConnectionLimits

MAX_TEXT_CHARACTERS = 5000
MAX_PICTURE_CHARACTERS = 2**18  # of a picture as a data URI
PICTURE_CHARACTERS = 1000  # that a picture counts as in rates and queues
MAX_TEXTS = 128
MAX_BEAM = 16
MAX_PREFIX_CHARACTERS = 1000
MAX_GLOSSARY_TERMS = 200
MAX_TERM_CHARACTERS = 200
MIN_DEADLINE, MAX_DEADLINE = 0.1, 60.0  # seconds


def counted_characters(text: str) -> int:
    """The characters a text counts as; those of a picture say nothing of the work it makes."""
    return PICTURE_CHARACTERS if is_data_uri(text) else len(text)


@dataclass(frozen=True, kw_only=True)
class ServerSettings:
    """Settings of one server."""

    deadline: float = setting(
        10.0,
        "Deadline of requests that name none.",
        low=MIN_DEADLINE,
        high=MAX_DEADLINE,
        unit="seconds",
    )
    batch_capacity: int = setting(4096, "Batch capacity.", low=1, unit="tokens × beam")
    queue_capacity: int = setting(
        6144, "Queue capacity ahead of a request, for each worker.", low=0, unit="tokens × beam"
    )
    rate_limit: float = setting(
        0.0, "Rate limit per client; 0 for none.", low=0.0, unit="characters per second"
    )
    burst_seconds: float = setting(
        10.0, "Burst: time whose rate limit a client may send at once.", low=0.0, unit="seconds"
    )
    drain_timeout: float = setting(
        25.0, "Drain timeout: longest shutdown.", low=0.0, unit="seconds"
    )
    drain_notice: float = setting(
        1.0,
        "Drain notice: new requests are answered with 503 at shutdown.",
        low=0.0,
        unit="seconds",
    )
    load_timeout: float = setting(300.0, "Load timeout of the worker.", low=0.0, unit="seconds")
    cancel_timeout: float = setting(
        5.0, "Cancel timeout: a worker busy with cancelled work is killed.", low=0.0, unit="seconds"
    )
    canary_interval: float = setting(30.0, "Canary interval.", low=0.0, unit="seconds")
    restart_delay: float = setting(
        1.0,
        "Restart delay of a worker that failed to start, doubled each time.",
        low=0.0,
        unit="seconds",
    )
    max_restart_delay: float = setting(30.0, "Longest restart delay.", low=0.0, unit="seconds")
    connection: ConnectionLimits = field(default_factory=ConnectionLimits)
