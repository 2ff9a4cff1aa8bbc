"""What a client is told when it gets no translation: one shape, short, and nothing it sent."""

import json
from collections.abc import Sequence

Headers = list[tuple[bytes, bytes]]
LONGEST = 500  # letters of a message
LARGEST = 1000  # bytes of it, as JSON writes it


class Refusal(Exception):
    """A request that is not answered, with its status, a word for programs and one for people."""

    def __init__(self, status: int, code: str, message: str, *, after: float = 0.0) -> None:
        super().__init__(message)
        self.status, self.code, self.message = status, code, _short(message)
        self.after = after

    def body(self) -> bytes:
        """As it is sent."""
        return json.dumps({"error": {"code": self.code, "message": self.message}}).encode()

    def headers(self) -> Headers:
        """Those that go with it."""
        found = [(b"content-type", b"application/json"), (b"cache-control", b"no-store")]
        found.append((b"content-length", str(len(self.body())).encode()))
        if self.after:
            found.append((b"retry-after", str(max(1, round(self.after))).encode()))
        if self.status == 401:
            found.append((b"www-authenticate", b"Bearer"))
        return found


def _short(message: str) -> str:
    """As much of a message as is sent."""
    cut = message[:LONGEST]
    while (over := len(json.dumps(cut)) - LARGEST) > 0:
        cut = cut[: -max(1, over // 12)]  # bytes that a letter takes at most
    return cut


def busy(seconds: float) -> Refusal:
    """There is more to do than can be done in time."""
    return Refusal(429, "busy", "too much is waiting: ask again later", after=max(seconds, 1.0))


def ending() -> Refusal:
    """The server is being stopped."""
    return Refusal(503, "ending", "the server is ending: ask another", after=1.0)


def unready(reason: str) -> Refusal:
    """There is no model to ask at this moment."""
    return Refusal(503, "unready", reason or "the model is being loaded: ask again soon", after=1.0)


def expired() -> Refusal:
    """The deadline has come before the translation."""
    return Refusal(504, "expired", "the deadline passed before the translation was done")


def malformed(message: str) -> Refusal:
    """The request is not what the document says."""
    return Refusal(400, "malformed", message)


def place_of(parts: Sequence[object]) -> str:
    """Where in a body something stands; names that a client made up are not repeated."""
    known = [part if isinstance(part, int) else str(part) for part in parts]
    return ".".join(str(part) for part in known[:4])[:80]
