"""A connection with deadlines: for the head of a request, for its body, and for its silence.

A middleware would come too late for these: it is called when a head is whole.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dhyan.serving.errors import Refusal, ending
from dhyan.serving.settings import Settings

LAST = 0.5  # seconds that a connection stays open for a request when the server ends
GRACE = 1.0  # seconds that one under way has then for what it sends or reads
LINGER = 1.0  # seconds in which a client that still sends may read why it is refused
MOST_PARTS = 4096  # of a body
DISCARD = 8 * 1024 * 1024  # bytes that are thrown away meanwhile
LATE = Refusal(408, "late", "the request did not come in time")
CROWDED = Refusal(503, "crowded", "too many connections: ask again later", after=1.0)
LARGE = Refusal(413, "too_large", "the request is too large")
HEAD = Refusal(431, "head_too_large", "the head of the request is too large")
UNREAD = (h11.SEND_BODY, h11.ERROR)
MALFORMED = Refusal(400, "malformed", "this is no HTTP request")
PHRASES = {400: "Bad Request", 408: "Request Timeout", 413: "Content Too Large",
           431: "Request Header Fields Too Large", 503: "Service Unavailable"}  # fmt: skip


def connection_class(settings: Settings, count: Callable[[int], None]) -> type[asyncio.Protocol]:
    """The class of a server's connections, which all have its limits; it counts refusals."""
    return type("Limited", (Connection,), {"limits": settings, "counted": staticmethod(count)})


class Parts(h11.Connection):
    """Refuses a body in very many parts, of which each costs more to read than it holds."""

    many = 0

    def next_event(self) -> Any:
        """The next, unless it is one part too many."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.many = 0
        elif isinstance(event, h11.Data):
            self.many += 1
            if self.many > MOST_PARTS:
                raise h11.RemoteProtocolError("too many parts")
        return event


class Connection(H11Protocol):
    """uvicorn's, which closes on those who are late, too large, or too many."""

    limits: Settings
    counted: Callable[[int], None]

    def __init__(self, *args: Any, **named: Any) -> None:
        super().__init__(*args, **named)
        self.conn = Parts(h11.SERVER, self.limits.largest_head)

    def connection_made(self, transport: Any) -> None:
        """Begin to wait for a head."""
        self._parted, self._discarded, self._body = False, 0, 0
        self._late: asyncio.TimerHandle | None = None
        self._unread: asyncio.TimerHandle | None = None
        self._waits_for = ""
        super().connection_made(Parting(transport, self))  # type: ignore[arg-type]
        if len(self.connections) > self.limits.connections:
            self._refuse(CROWDED)
        else:
            self._wait()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the deadlines."""
        self._stop()
        if self._unread:
            self._unread.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read on, unless it was refused: then nothing is kept of what still comes."""
        if self._parted:
            self._discarded += len(data)
            if self._discarded > DISCARD:
                self.transport.abort()
            return
        super().data_received(data)
        if not self._parted:
            self._count(len(data))
        if not self._parted:
            self._wait()

    def pause_writing(self) -> None:
        """Who does not read an answer has as long for it as for a body."""
        super().pause_writing()
        self._unread = self.loop.call_later(self.limits.body_within, self.transport.abort)

    def resume_writing(self) -> None:
        """It is read after all."""
        super().resume_writing()
        if self._unread:
            self._unread.cancel()

    def on_response_complete(self) -> None:
        """Wait for the next request; what may still come of a body that was not read has ended."""
        super().on_response_complete()
        if not self._parted:
            self._wait()

    def send_400_response(self, msg: str) -> None:
        """What is no HTTP is told so in the shape of all refusals."""
        unread, _ = self.conn.trailing_data
        if self.conn.many > MOST_PARTS:  # type: ignore[attr-defined]
            self._refuse(LARGE)
        else:
            self._refuse(HEAD if len(unread) > self.limits.largest_head else MALFORMED)

    def part(self, *, linger: bool) -> None:
        """Close; a client that may still be sending is first left time to read."""
        if self._parted:
            return
        self._stop()
        self._parted = True
        self.transport.flush()  # type: ignore[attr-defined]
        plain = self.transport.plain  # type: ignore[attr-defined]
        if not linger or plain.is_closing():
            plain.close()
            return
        try:
            self.flow.resume_reading()
            plain.write_eof()
        except OSError:  # it has closed already
            plain.close()
        else:
            self._late = self.loop.call_later(LINGER, plain.abort)

    def shutdown(self) -> None:
        """The server ends: a request that is on its way may still come, and be told so."""
        if self.cycle is None or self.cycle.response_complete:
            self._unset_keepalive_if_required()
            self.loop.call_later(LAST, self._forsake)
        else:
            super().shutdown()
            self.loop.call_later(GRACE, self._forsake)

    def _forsake(self) -> None:
        """Do not wait for those who neither send nor read."""
        if self.cycle is None or self.cycle.response_complete:
            self.part(linger=False)
        elif self.flow.write_paused:
            self.transport.abort()
        elif self.conn.their_state is h11.SEND_BODY:
            self._refuse(ending())

    @property
    def parted(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._parted

    def _count(self, size: int) -> None:
        """A body that grows too large is refused while it comes."""
        if self.conn.their_state is not h11.SEND_BODY:
            self._body = 0
            return
        self._body += size
        if self._body > self.limits.largest_body + self.limits.largest_head:
            self._refuse(LARGE)

    def _wait(self) -> None:
        """One deadline at a time: for what is to come next, from when it was first waited for."""
        state = self.conn.their_state
        idle = self.timeout_keep_alive_task is not None
        awaited = {h11.IDLE: "" if idle else "head", h11.SEND_BODY: "body"}.get(state, "")
        if awaited == self._waits_for:
            return
        self._stop()
        self._waits_for = awaited
        if awaited:
            within = self.limits.headers_within if awaited == "head" else self.limits.body_within
            self._late = self.loop.call_later(within, self._lapse)

    def _lapse(self) -> None:
        """The deadline has come; to one who has said nothing there is nothing to say."""
        if self._waits_for == "body" or self.conn.trailing_data[0]:
            self._refuse(LATE)
        else:
            self.part(linger=False)

    def _stop(self) -> None:
        self._waits_for = ""
        if self._late:
            self._late.cancel()
            self._late = None

    def _refuse(self, why: Refusal) -> None:
        """Say why, unless it has its answer already, and close; a request under way is over."""
        if self.transport.is_closing():
            return
        begun = self.cycle is not None and not self.cycle.response_complete
        unread = self.conn.their_state is h11.SEND_BODY
        if not ((begun or unread) and self.cycle.response_started):
            head = f"HTTP/1.1 {why.status} {PHRASES[why.status]}\r\n".encode()
            lines = [b"%s: %s\r\n" % pair for pair in [*why.headers(), (b"connection", b"close")]]
            self.transport.write(head + b"".join(lines) + b"\r\n" + why.body())
            self.counted(why.status)
        if begun:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.part(linger=True)


class Parting:
    """A transport that sends a head and its body at once, and leaves the other side time to read
    before it closes."""

    def __init__(self, plain: asyncio.Transport, connection: Connection) -> None:
        self.plain, self._connection = plain, connection
        self._held: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.plain, name)

    def write(self, data: bytes) -> None:
        """Send it with all else that is written before the loop goes on."""
        if not self._held:
            self._connection.loop.call_soon(self.flush)
        self._held.append(data)

    def flush(self) -> None:
        """Send what is held."""
        if self._held and not self.plain.is_closing():
            self.plain.write(b"".join(self._held))
        self._held.clear()

    def close(self) -> None:
        """Close in the connection's own time."""
        self._connection.part(linger=self._connection.conn.their_state in UNREAD)

    def is_closing(self) -> bool:
        """Whether it is closed, or about to be."""
        return self._connection.parted or self.plain.is_closing()
