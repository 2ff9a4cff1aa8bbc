"""What every server of ours has in common: how messages look, and whether another page asks."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]


def elsewhere(headers: Mapping[bytes, str]) -> bool:
    """Whether a browser says that another page asks."""
    origin = headers.get(b"origin")
    if origin is not None and origin != f"http://{headers.get(b'host', '')}":
        return True
    return headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none")
