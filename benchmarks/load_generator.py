"""An open loop of requests: they come when they come, however the server fares.

Arrivals are Poisson; a request's time runs from when it should have been sent, so that a client
that cannot keep up is not mistaken for a quick server.
"""

import asyncio
import gc
import json
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

PATIENCE = 30.0
RAMP = 0.5  # seconds at the beginning of a run, in which the queue fills, that do not count


@dataclass(frozen=True)
class Reply:
    """When a request should have come, how long it took, and what came of it; 0 is nothing."""

    at: float
    seconds: float
    status: int
    body: bytes = b""
    retry: bool = False


@dataclass(frozen=True)
class Outcome:
    """All replies of a run, which began at some time and for some seconds sent requests."""

    seconds: float
    began: float
    replies: list[Reply]

    def of(self, *statuses: int) -> list[Reply]:
        """Those of some statuses."""
        return [one for one in self.replies if one.status in statuses]

    def good(self, within: float) -> float:
        """Answers a second that came within a time from when they were asked for.

        Counted by when they came: what still waits at the end was not done in these seconds.
        """
        since, until = self.began + RAMP, self.began + self.seconds
        soon = (one.at + one.seconds for one in self.of(200) if one.seconds <= within)
        return sum(since < came <= until for came in soon) / (until - since)


def figures(runs: Sequence[Outcome], *, within: float) -> dict[str, Any]:
    """What is kept of runs of one kind; good is what was answered within a time."""
    replies = [one for run in runs for one in run.replies]
    accepted, refused = ([one for run in runs for one in run.of(status)] for status in (200, 429))
    seconds, silent = sum(run.seconds for run in runs), sum(len(run.of(0)) for run in runs)
    return {
        "offered_per_second": round(len(replies) / seconds, 1),
        "good_per_second": round(sum(run.good(within) for run in runs) / len(runs), 1),
        "accepted": len(accepted),
        "accepted_ms": percentiles([one.seconds for one in accepted]),
        "refused": len(refused),
        "refused_ms": percentiles([one.seconds for one in refused]),
        "refused_without_retry_after": sum(not one.retry for one in refused),
        "other_statuses": len(replies) - len(accepted) - len(refused) - silent,
        "connection_errors": silent,
    }


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds that half, and nearly all, took at most."""
    ranked = sorted(seconds)
    return {
        f"p{part}": round(1000 * ranked[min(len(ranked) - 1, len(ranked) * part // 100)], 1)
        for part in (50, 90, 99)
        if ranked
    }


LEAST_GOOD = 0.95  # share of capacity
MOST_SLOWER = 2.0  # times, the slowest accepted by those at nine tenths of capacity
MOST_REFUSED_MS = 50.0
LEAST_SERVED = 0.85  # share of what the command translates
MOST_OTHERS = 0.01  # share of what others ask, refused beside a flood
MOST_AFTER = 1.5  # times the usual, two seconds after a flood or beside one


def verdict(figures: Mapping[str, Any]) -> list[str]:
    """What the figures of a server miss of what was promised, a line each; none is what we want."""
    misses: list[str] = []
    for name in ("fixed", "real"):
        misses += (f"{name}: {miss}" for miss in _under_load(figures[name]))
    fixed, fair, bulk = figures["fixed"], figures["fairness"], figures["throughput"]
    after, usual = fixed["two_seconds_after_ten_times_ms"], fixed["levels"]["0.9"]["accepted_ms"]
    if after["p99"] > MOST_AFTER * usual["p99"]:
        misses.append(f"fixed: p99 {after['p99']} ms after a flood; usual is {usual['p99']}")
    if fair["p99_by_usual"] > MOST_AFTER:
        misses.append(f"fairness: p99 {fair['p99_by_usual']} times the usual beside a flood")
    if fair["others_refused"] > MOST_OTHERS:
        misses.append(f"fairness: {fair['others_refused']} of what others ask is refused")
    if not fair["flood_refused"]:
        misses.append("fairness: nothing of the flood refused")
    shares = [own["share"] for own in bulk.values() if isinstance(own, dict)]
    if max(shares) < LEAST_SERVED:
        misses.append(f"throughput: {max(shares)} of the command's; wanted {LEAST_SERVED}")
    for name, own in bulk.items():
        if isinstance(own, dict) and not own["same_translations"]:
            misses.append(f"throughput: {name}: other translations than by the command")
    return misses


def _under_load(found: Mapping[str, Any]) -> Iterator[str]:
    """What one model's figures miss."""
    if (good := found["least_good_share_of_capacity"]) < LEAST_GOOD:
        yield f"{good} of capacity done in time; wanted {LEAST_GOOD}"
    if (slower := found["worst_accepted_p99_by_that_at_0.9"]) > MOST_SLOWER:
        yield f"accepted p99 {slower} times that at 0.9; at most {MOST_SLOWER}"
    if (refused := found["worst_refused_p99_ms"]) > MOST_REFUSED_MS:
        yield f"refused p99 {refused} ms; at most {MOST_REFUSED_MS}"
    bare = sum(own["refused_without_retry_after"] for own in found["levels"].values())
    for name, count in (
        ("connection errors", found["connection_errors"]),
        ("other statuses", found["other_statuses"]),
        ("refused without Retry-After", bare),
    ):
        if count:
            yield f"{count} {name}"


def request(port: int, path: str, body: Any, headers: str = "") -> bytes:
    """The bytes of a request."""
    raw = json.dumps(body).encode()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\ncontent-type: application/json\r\n"
    return f"{head}{headers}content-length: {len(raw)}\r\n\r\n".encode() + raw


class Line(asyncio.Protocol):
    """A connection that has one request under way at most."""

    def __init__(self) -> None:
        self.transport: asyncio.Transport | None = None
        self.answer: asyncio.Future[tuple[int, bool, bytes]] | None = None
        self.alive, self._held = True, b""

    def connection_made(self, transport: Any) -> None:
        """It is open."""
        self.transport = transport

    def connection_lost(self, error: Exception | None) -> None:
        """It is closed; what was under way gets no answer."""
        self.alive = False
        if self.answer and not self.answer.done():
            self.answer.set_exception(error or ConnectionResetError())

    def data_received(self, data: bytes) -> None:
        """An answer, once it is whole."""
        self._held += data
        head, found, body = self._held.partition(b"\r\n\r\n")
        if not found:
            return
        lines = head.lower().split(b"\r\n")
        [length] = [int(line[15:]) for line in lines if line.startswith(b"content-length:")]
        if len(body) >= length and self.answer and not self.answer.done():
            self.alive = self.alive and b"connection: close" not in lines
            self._held = b""
            retry = any(line.startswith(b"retry-after:") for line in lines)
            self.answer.set_result((int(head[9:12]), retry, body))

    async def ask(self, sent: bytes) -> tuple[int, bool, bytes]:
        """Send a request and wait for its answer."""
        self.answer = asyncio.get_running_loop().create_future()
        assert self.transport
        self.transport.write(sent)
        return await asyncio.wait_for(self.answer, PATIENCE)


class Client:
    """Connections to one server, opened as they are needed and used again."""

    def __init__(self, port: int) -> None:
        self.port = port
        self._idle: list[tuple[float, Line]] = []

    async def ask(self, sent: bytes, at: float) -> Reply:
        """One request, timed from when it should have been sent."""
        try:
            line = await self._line()
            status, retry, body = await line.ask(sent)
        except (OSError, TimeoutError):
            return Reply(at, perf_counter() - at, 0)
        if line.alive:
            self._idle.append((perf_counter(), line))
        elif line.transport:
            line.transport.close()
        return Reply(at, perf_counter() - at, status, body, retry)

    async def _line(self) -> Line:
        while self._idle:
            since, line = self._idle.pop()
            if line.alive and perf_counter() - since < 2:  # the server closes those that rest
                return line
            if line.transport:
                line.transport.close()
        loop = asyncio.get_running_loop()
        _, line = await loop.create_connection(Line, "127.0.0.1", self.port)
        return line

    def close(self) -> None:
        """Close those that rest."""
        for _, line in self._idle:
            if line.transport:
                line.transport.close()


async def arrive(
    port: int, rate: float, seconds: float, sent: Callable[[int], bytes], *, seed: int = 1
) -> Outcome:
    """So many requests a second on average, for so long; then wait for all answers."""
    chance, client = random.Random(seed), Client(port)
    tasks: list[asyncio.Task[Reply]] = []
    gc.disable()  # the client's own pauses are not the server's
    begun = at = perf_counter()
    number = 0
    while (at := at + chance.expovariate(rate)) < begun + seconds:
        if (early := at - perf_counter()) > 0:
            await asyncio.sleep(early)
        tasks.append(asyncio.ensure_future(client.ask(sent(number), at)))
        number += 1
    replies = list(await asyncio.gather(*tasks))
    client.close()
    gc.enable()
    return Outcome(seconds, begun, replies)


async def saturate(
    port: int, at_once: int, count: int, sent: Callable[[int], bytes]
) -> tuple[float, list[Reply]]:
    """So many requests, always some under way: the seconds they took, and the replies in order."""
    client, numbers = Client(port), iter(range(count))
    replies: dict[int, Reply] = {}

    async def work() -> None:
        for number in numbers:
            replies[number] = await client.ask(sent(number), perf_counter())

    begun = perf_counter()
    await asyncio.gather(*(work() for _ in range(at_once)))
    client.close()
    return perf_counter() - begun, [replies[number] for number in range(count)]
