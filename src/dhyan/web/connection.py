"""HTTP connections with deadlines and size limits, enforced while a request is received.

ASGI middleware runs only after the header section is complete, too late for these limits. This
module and `web.server` are the only ones that depend on uvicorn's internals (`H11Protocol`);
pyproject.toml caps uvicorn to the versions they were tested with.
"""

import asyncio
from collections.abc import Callable, Collection
from http import HTTPStatus
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

from dhyan.web.errors import ApiError, body_too_large, invalid_request
from dhyan.web.guard import headers_too_large
from dhyan.web.listen import ConnectionLimits

IDLE_GRACE = 0.5  # seconds an idle connection stays open for one more request at shutdown
TRANSFER_GRACE = 1.0  # seconds a connection has at shutdown to send its body or read its answer
LINGER = 1.0  # seconds in which a client that still sends may read why it is refused
MAX_LINGER_BYTES = 8 * 1024 * 1024  # bytes discarded meanwhile
MAX_BODY_CHUNKS = 4096
UNREAD_STATES = (h11.SEND_BODY, h11.ERROR)


def shutting_down() -> ApiError:
    """The server is being stopped."""
    message = "Server is shutting down; retry on another instance."
    return ApiError(503, "shutting_down", message, retry_after=1.0)


def _request_timeout() -> ApiError:
    return ApiError(408, "request_timeout", "The request was not received in time.")


def _too_many_connections() -> ApiError:
    message = "Too many connections; retry later."
    return ApiError(503, "too_many_connections", message, retry_after=1.0)


def connection_class(
    limits: ConnectionLimits,
    on_error: Callable[[int], None],
    string_error_paths: Collection[str] = (),
) -> type[asyncio.Protocol]:
    """The protocol class of a server's connections; `on_error` gets the status of each error.

    Errors of requests to `string_error_paths` have the message alone.
    """
    attributes = {
        "limits": limits,
        "on_error": staticmethod(on_error),
        "string_error_paths": string_error_paths,
    }
    return type("LimitedConnection", (Connection,), attributes)


class ChunkLimit(h11.Connection):
    """Refuses a body of very many chunks: each costs more to parse than it holds."""

    chunks = 0

    def next_event(self) -> Any:
        """The next event, unless it is one chunk too many."""
        event = super().next_event()
        if isinstance(event, h11.Request):
            self.chunks = 0
        elif isinstance(event, h11.Data):
            self.chunks += 1
            if self.chunks > MAX_BODY_CHUNKS:
                raise h11.RemoteProtocolError("too many chunks")
        return event


class Connection(H11Protocol):
    """uvicorn's HTTP/1.1 protocol that closes on slow, oversized and excess connections."""

    limits: ConnectionLimits
    on_error: Callable[[int], None]
    string_error_paths: Collection[str]

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self.conn = ChunkLimit(h11.SERVER, self.limits.max_header_bytes)

    def connection_made(self, transport: Any) -> None:
        """Start the deadline of the header section."""
        self.closed, self._discarded_bytes, self._body_bytes = False, 0, 0
        self._deadline: asyncio.TimerHandle | None = None
        self._write_deadline: asyncio.TimerHandle | None = None
        self._awaited = ""
        super().connection_made(LingeringTransport(transport, self))  # type: ignore[arg-type]
        if len(self.connections) > self.limits.max_connections:
            self._refuse(_too_many_connections())
        else:
            self._set_deadline()

    def connection_lost(self, exc: Exception | None) -> None:
        """Cancel the deadlines."""
        self._cancel_deadline()
        if self._write_deadline:
            self._write_deadline.cancel()
        self._unset_keepalive_if_required()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Parse what arrives; after an error it is discarded."""
        if self.closed:
            self._discarded_bytes += len(data)
            if self._discarded_bytes > MAX_LINGER_BYTES:
                self.transport.abort()
            return
        super().data_received(data)
        if not self.closed:
            self._count_body(len(data))
        if not self.closed:
            self._set_deadline()

    def pause_writing(self) -> None:
        """Start the deadline for a client that does not read its response."""
        super().pause_writing()
        self._write_deadline = self.loop.call_later(self.limits.body_timeout, self.transport.abort)

    def resume_writing(self) -> None:
        """Cancel that deadline: the client reads."""
        super().resume_writing()
        if self._write_deadline:
            self._write_deadline.cancel()

    def on_response_complete(self) -> None:
        """Wait for the next request, or for the rest of a body that was not read."""
        super().on_response_complete()
        if not self.closed:
            self._set_deadline()

    def send_400_response(self, msg: str) -> None:
        """Answer invalid HTTP with the error body."""
        unparsed, _ = self.conn.trailing_data
        if self.conn.chunks > MAX_BODY_CHUNKS:  # type: ignore[attr-defined]
            self._refuse(body_too_large(self.limits.max_body_bytes))
        elif len(unparsed) > self.limits.max_header_bytes:
            self._refuse(headers_too_large())
        else:
            self._refuse(invalid_request("This is not a valid HTTP request."))

    def close(self, *, linger: bool) -> None:
        """Close; a client that may still be sending first gets time to read the response."""
        if self.closed:
            return
        self._cancel_deadline()
        self.closed = True
        self.transport.flush()  # type: ignore[attr-defined]
        inner = self.transport.inner  # type: ignore[attr-defined]
        if not linger or inner.is_closing():
            inner.close()
            return
        try:
            self.flow.resume_reading()
            inner.write_eof()
        except OSError:  # the client has closed already
            inner.close()
        else:
            self._deadline = self.loop.call_later(LINGER, inner.abort)

    def shutdown(self) -> None:
        """Shut down gracefully: a request that is being sent still gets its answer."""
        if self.cycle is None or self.cycle.response_complete:
            self._unset_keepalive_if_required()
            self.loop.call_later(IDLE_GRACE, self._close_if_stalled)
        else:
            super().shutdown()
            self.loop.call_later(TRANSFER_GRACE, self._close_if_stalled)

    def _close_if_stalled(self) -> None:
        """Do not wait for a client that neither sends nor reads."""
        if self.cycle is None or self.cycle.response_complete:
            self.close(linger=False)
        elif self.flow.write_paused:
            self.transport.abort()
        elif self.conn.their_state is h11.SEND_BODY:
            self._refuse(shutting_down())

    def _count_body(self, size: int) -> None:
        """Refuse a body while it grows too large."""
        if self.conn.their_state is not h11.SEND_BODY:
            self._body_bytes = 0
            return
        self._body_bytes += size
        if self._body_bytes > self.limits.max_body_bytes + self.limits.max_header_bytes:
            self._refuse(body_too_large(self.limits.max_body_bytes))

    def _set_deadline(self) -> None:
        """One deadline at a time, for the part of a request that is awaited."""
        state = self.conn.their_state
        is_idle = self.timeout_keep_alive_task is not None
        awaited = {h11.IDLE: "" if is_idle else "headers", h11.SEND_BODY: "body"}.get(state, "")
        if awaited == self._awaited:
            return
        self._cancel_deadline()
        self._awaited = awaited
        if awaited:
            limits = self.limits
            timeout = limits.header_timeout if awaited == "headers" else limits.body_timeout
            self._deadline = self.loop.call_later(timeout, self._time_out)

    def _time_out(self) -> None:
        """The deadline has passed; a client that sent nothing gets no error."""
        if self._awaited == "body" or self.conn.trailing_data[0]:
            self._refuse(_request_timeout())
        else:
            self.close(linger=False)

    def _cancel_deadline(self) -> None:
        self._awaited = ""
        if self._deadline:
            self._deadline.cancel()
            self._deadline = None

    def _refuse(self, error: ApiError) -> None:
        """Send the error unless a response has begun, and close; a running request is dropped."""
        if self.transport.is_closing():
            return
        is_running = self.cycle is not None and not self.cycle.response_complete
        is_unread = self.conn.their_state is h11.SEND_BODY
        if not ((is_running or is_unread) and self.cycle.response_started):
            has_path = is_running or is_unread
            as_string = has_path and self.cycle.scope["path"] in self.string_error_paths
            self.transport.write(_raw_response(error, as_string))
            self.on_error(error.status_code)
        if is_running:
            self.cycle.disconnected = True
            self.cycle.message_event.set()
        self.close(linger=True)


def _raw_response(error: ApiError, as_string: bool) -> bytes:
    phrase = HTTPStatus(error.status_code).phrase
    headers = [*error.raw_headers(as_string=as_string), (b"connection", b"close")]
    lines = [b"%s: %s\r\n" % header for header in headers]
    start = f"HTTP/1.1 {error.status_code} {phrase}\r\n".encode()
    return start + b"".join(lines) + b"\r\n" + error.body(as_string=as_string)


class LingeringTransport:
    """A transport that sends headers and body in one write, and closes when the connection does."""

    def __init__(self, inner: asyncio.Transport, connection: Connection) -> None:
        self.inner, self._connection = inner, connection
        self._pending: list[bytes] = []

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def write(self, data: bytes) -> None:
        """Send together with everything written in this iteration of the event loop."""
        if not self._pending:
            self._connection.loop.call_soon(self.flush)
        self._pending.append(data)

    def flush(self) -> None:
        """Send what is pending."""
        if self._pending and not self.inner.is_closing():
            self.inner.write(b"".join(self._pending))
        self._pending.clear()

    def close(self) -> None:
        """Close the connection, lingering if the client may still be sending."""
        self._connection.close(linger=self._connection.conn.their_state in UNREAD_STATES)

    def is_closing(self) -> bool:
        """Whether it is closed or about to be."""
        return self._connection.closed or self.inner.is_closing()
