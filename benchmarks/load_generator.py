"""Load generator with an open loop: requests arrive independently of the server's replies.

Arrivals are Poisson. Latency is measured from the scheduled arrival, so that a slow client is not
mistaken for a fast server (coordinated omission).
"""

import asyncio
import gc
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

TIMEOUT = 30.0
RAMP = 0.5  # seconds at the start of a run that do not count: the queue fills


@dataclass(frozen=True)
class Reply:
    """Scheduled arrival, latency and HTTP status of a request; status 0 means no reply."""

    at: float
    seconds: float
    status: int
    body: bytes = b""
    retry: bool = False


@dataclass(frozen=True)
class Outcome:
    """All replies of a run that sent requests for `seconds` from `start`."""

    seconds: float
    start: float
    replies: list[Reply]

    def with_status(self, *statuses: int) -> list[Reply]:
        """Replies with one of these statuses."""
        return [reply for reply in self.replies if reply.status in statuses]

    def goodput(self, within: float) -> float:
        """Goodput: successful replies per second with a latency of at most `within` seconds.

        Counted by time of reply, so requests still queued at the end of the run do not count.
        """
        first, last = self.start + RAMP, self.start + self.seconds
        times = (
            reply.at + reply.seconds for reply in self.with_status(200) if reply.seconds <= within
        )
        return sum(first < at <= last for at in times) / (last - first)


def summarize(runs: Sequence[Outcome], *, within: float) -> dict[str, Any]:
    """Rates, latencies and errors over several runs at one load level."""
    replies = [reply for run in runs for reply in run.replies]
    accepted, refused = (
        [reply for run in runs for reply in run.with_status(status)] for status in (200, 429)
    )
    seconds, no_reply = (
        sum(run.seconds for run in runs),
        sum(len(run.with_status(0)) for run in runs),
    )
    return {
        "offered_per_second": round(len(replies) / seconds, 1),
        "goodput_per_second": round(sum(run.goodput(within) for run in runs) / len(runs), 1),
        "accepted": len(accepted),
        "accepted_ms": percentiles([reply.seconds for reply in accepted]),
        "refused": len(refused),
        "refused_ms": percentiles([reply.seconds for reply in refused]),
        "refused_without_retry_after": sum(not reply.retry for reply in refused),
        "other_statuses": len(replies) - len(accepted) - len(refused) - no_reply,
        "connection_errors": no_reply,
    }


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """50th, 90th and 99th percentile in milliseconds."""
    ranked = sorted(seconds)
    return {
        f"p{part}": round(1000 * ranked[min(len(ranked) - 1, len(ranked) * part // 100)], 1)
        for part in (50, 90, 99)
        if ranked
    }


MIN_GOODPUT = 0.95  # share of capacity
MAX_P99_RATIO = 2.0  # p99 of accepted requests by that at 0.9 of capacity
MAX_REFUSED_MS = 50.0
MIN_THROUGHPUT = 0.95  # share of that of `dhyan translate`, with default settings
MAX_OTHERS_REFUSED = 0.01  # share of other clients' requests, during a flood
MAX_FLOOD_RATIO = 1.5  # p99 by the baseline, during a flood or two seconds after it


def missed_targets(figures: Mapping[str, Any]) -> list[str]:
    """Targets that the figures of a server miss, a line each; empty if all are reached."""
    misses: list[str] = []
    for name in ("fixed", "real"):
        misses += (f"{name}: {miss}" for miss in _missed_under_load(figures[name]))
    fixed, fair, bulk = figures["fixed"], figures["fairness"], figures["throughput"]
    after, usual = fixed["recovery_ms"], fixed["levels"]["0.9"]["accepted_ms"]
    if after["p99"] > MAX_FLOOD_RATIO * usual["p99"]:
        misses.append(
            f"fixed: p99 {after['p99']} ms after overload; at 0.9 it is {usual['p99']} ms"
        )
    if fair["p99_ratio"] > MAX_FLOOD_RATIO:
        misses.append(f"fairness: p99 {fair['p99_ratio']} times the baseline during a flood")
    if fair["others_refused"] > MAX_OTHERS_REFUSED:
        misses.append(f"fairness: {fair['others_refused']} of other clients' requests refused")
    if not fair["flood_refused"]:
        misses.append("fairness: no request of the flood refused")
    if (share := bulk["default_batches"]["share"]) < MIN_THROUGHPUT:
        misses.append(f"throughput: {share} of `dhyan translate`; target {MIN_THROUGHPUT}")
    for name, run in bulk.items():
        if isinstance(run, dict) and not run["same_translations"]:
            misses.append(f"throughput: {name}: translations differ from `dhyan translate`")
    return misses


def _missed_under_load(figures: Mapping[str, Any]) -> Iterator[str]:
    """Targets missed by one worker under load."""
    if (goodput := figures["min_goodput_share"]) < MIN_GOODPUT:
        yield f"goodput {goodput} of capacity; target {MIN_GOODPUT}"
    if (slower := figures["max_accepted_p99_ratio"]) > MAX_P99_RATIO:
        yield f"accepted p99 {slower} times that at 0.9; at most {MAX_P99_RATIO}"
    if (refused := figures["max_refused_p99_ms"]) > MAX_REFUSED_MS:
        yield f"refused p99 {refused} ms; at most {MAX_REFUSED_MS}"
    bare = sum(level["refused_without_retry_after"] for level in figures["levels"].values())
    for name, count in (
        ("connection errors", figures["connection_errors"]),
        ("other statuses", figures["other_statuses"]),
        ("refused without Retry-After", bare),
    ):
        if count:
            yield f"{count} {name}"


def request(port: int, path: str, body: Any, headers: str = "") -> bytes:
    """The bytes of a request."""
    raw = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return f"{head}{headers}content-length: {len(raw)}\r\n\r\n".encode() + raw


class Connection(asyncio.Protocol):
    """An HTTP connection with at most one request in flight."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.answer: asyncio.Future[tuple[int, bool, bytes]] | None = None
        self.alive, self._buffer = True, b""

    def connection_made(self, transport: Any) -> None:
        """The connection is open."""
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """The connection is closed; a request in flight fails."""
        self.alive = False
        if self.answer and not self.answer.done():
            self.answer.set_exception(error or ConnectionResetError())

    def data_received(self, data: bytes) -> None:
        """Set the reply once it is complete."""
        self._buffer += data
        head, separator, body = self._buffer.partition(b"\r\n\r\n")
        if not separator:
            return
        lines = head.lower().split(b"\r\n")
        [length] = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
        if len(body) >= length and self.answer and not self.answer.done():
            self.alive = self.alive and b"connection: close" not in lines
            self._buffer = b""
            retry = any(line.startswith(b"retry-after:") for line in lines)
            self.answer.set_result((int(head[9:12]), retry, body))

    async def send(self, message: bytes) -> tuple[int, bool, bytes]:
        """Send a request and wait for its reply."""
        self.answer = asyncio.get_running_loop().create_future()
        assert self.transport
        self.transport.write(message)
        return await asyncio.wait_for(self.answer, TIMEOUT)


class Client:
    """A pool of connections to one server."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._idle: list[tuple[float, Connection]] = []

    async def send(self, message: bytes, at: float) -> Reply:
        """Send one request; latency counts from `at`, its scheduled arrival."""
        try:
            connection = await self._connect()
            status, retry, body = await connection.send(message)
        except (OSError, TimeoutError):
            return Reply(at, perf_counter() - at, 0)
        if connection.alive:
            self._idle.append((perf_counter(), connection))
        elif connection.transport:
            connection.transport.close()
        return Reply(at, perf_counter() - at, status, body, retry)

    async def _connect(self) -> Connection:
        while self._idle:
            since, connection = self._idle.pop()
            if connection.alive and perf_counter() - since < 2:  # the server closes idle ones
                return connection
            if connection.transport:
                connection.transport.close()
        loop = asyncio.get_running_loop()
        _, connection = await loop.create_connection(Connection, "127.0.0.1", self.port)
        return connection

    def close(self) -> None:
        """Close the idle connections."""
        for _, connection in self._idle:
            if connection.transport:
                connection.transport.close()


async def run_open_loop(
    port: int, rate: float, seconds: float, message: Callable[[int], bytes], *, seed: int = 1
) -> Outcome:
    """Send `rate` requests per second on average for `seconds`; then wait for all replies."""
    generator, client = random.Random(seed), Client(port)
    tasks: list[asyncio.Task[Reply]] = []
    gc.disable()  # pauses of the client are not latency of the server
    start = at = perf_counter()
    number = 0
    while (at := at + generator.expovariate(rate)) < start + seconds:
        if (early := at - perf_counter()) > 0:
            await asyncio.sleep(early)
        tasks.append(asyncio.ensure_future(client.send(message(number), at)))
        number += 1
    replies = list(await asyncio.gather(*tasks))
    client.close()
    gc.enable()
    return Outcome(seconds, start, replies)


async def saturate(
    port: int, in_flight: int, count: int, message: Callable[[int], bytes]
) -> tuple[float, list[Reply]]:
    """Closed loop with `in_flight` requests: the total seconds, and the replies in order."""
    client, numbers = Client(port), iter(range(count))
    replies: dict[int, Reply] = {}

    async def work() -> None:
        for number in numbers:
            replies[number] = await client.send(message(number), perf_counter())

    start = perf_counter()
    await asyncio.gather(*(work() for _ in range(in_flight)))
    client.close()
    return perf_counter() - start, [replies[number] for number in range(count)]
