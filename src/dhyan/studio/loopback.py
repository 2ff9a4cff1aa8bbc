"""What every request must pass: it comes from this machine's own page, and is not too large.

The page is served to this machine alone. A foreign `Host` (a name that was made to point here) or
a foreign `Origin` (another page in the same browser) is refused before anything is read.
"""

from collections.abc import MutableMapping

from dhyan.web import App, Message, Receive, Scope, Send, elsewhere

LOOPBACK = frozenset(("127.0.0.1", "localhost", "[::1]", "::1"))
LARGEST = 64 * 1024  # bytes of a body
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; font-src 'self' data:; "
    "img-src 'self' data: blob:; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
HEADERS = (
    (b"content-security-policy", POLICY.encode()),
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class Guard:
    """Wraps an application: refuses what is foreign or too large, and adds the headers to all."""

    def __init__(self, app: App) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        if reason := foreign(headers):
            await _refuse(send, 403, reason)
            return
        if too_large(headers):
            await _refuse(send, 413, f"the request is too large: at most {LARGEST} bytes")
            return
        await self.app(scope, _counted(receive), _with_headers(send))


def foreign(headers: MutableMapping[bytes, str]) -> str:
    """Why a request is not from this machine's own page; nothing if it is."""
    host = headers.get(b"host", "")
    if _name(host) not in LOOPBACK:
        return "this page is for this machine alone: open it as http://127.0.0.1"
    return "requests from other pages are refused" if elsewhere(headers) else ""


def too_large(headers: MutableMapping[bytes, str]) -> bool:
    """Whether a body says of itself that it is."""
    length = headers.get(b"content-length", "0")
    return not length.isdecimal() or int(length) > LARGEST


def _name(host: str) -> str:
    """A host without its port."""
    return host.rsplit(":", 1)[0] if host.rpartition(":")[2].isdecimal() else host


def _counted(receive: Receive) -> Receive:
    """A body that does not say its length is counted as it comes; past the limit it is gone."""
    seen = 0

    async def counted() -> Message:
        nonlocal seen
        message = await receive()
        seen += len(message.get("body", b""))
        return {"type": "http.disconnect"} if seen > LARGEST else message

    return counted


def _with_headers(send: Send) -> Send:
    async def sent(message: Message) -> None:
        if message["type"] == "http.response.start":
            message["headers"] = [*message.get("headers", ()), *HEADERS]
        await send(message)

    return sent


async def _refuse(send: Send, status: int, reason: str) -> None:
    headers = [(b"content-type", b"text/plain; charset=utf-8"), *HEADERS]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": reason.encode()})
