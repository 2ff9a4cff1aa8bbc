"""What every request must pass before any of its body is read: host, origin, size, and key."""

from collections.abc import Sequence
from dataclasses import dataclass

from dhyan.serving import errors as refusals
from dhyan.serving.api_keys import Keys
from dhyan.serving.errors import Refusal
from dhyan.serving.scheduler import Desk
from dhyan.serving.settings import Settings
from dhyan.web import App, Message, Receive, Scope, Send, elsewhere

HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"content-security-policy", b"default-src 'none'; frame-ancestors 'none'"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
OPEN = frozenset(("/livez", "/readyz"))
KEY_MAY_FOLLOW = "/translate"  # where a client may put its key into the body
WORK = frozenset(("/v1/translate", "/v1/translate/stream", "/translate"))
MOST_HEADERS = 100


@dataclass
class Rules:
    """Under which names the server answers, and to whom."""

    hosts: frozenset[str]
    keys: Keys | None
    settings: Settings


class Door:
    """Wraps an application: refuses what may not come in, and adds the headers to all."""

    def __init__(self, app: App, rules: Rules, desk: Desk) -> None:
        self.app, self.rules, self.desk = app, rules, desk

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on with its client's name, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        sent = self._sending(send)
        try:
            scope["client_name"] = self._let_in(scope)
        except Refusal as refusal:
            await refuse(sent, refusal)
            return
        await self.app(scope, receive, sent)

    def _let_in(self, scope: Scope) -> str:
        """The client's name: of its key, or of the machine it asks from; empty if yet unknown."""
        headers = _once(scope["headers"], self.rules.settings.largest_head)
        if headers.get(b"host", "").lower() not in self.rules.hosts:
            raise Refusal(403, "foreign", "this server does not answer under that name")
        if elsewhere(headers):
            raise Refusal(403, "foreign", "requests from web pages are refused")
        _measured(headers, self.rules.settings.largest_body)
        path = scope["path"]
        client = self._client(scope, headers)
        if path in WORK and scope["method"] == "POST":
            if self.desk.draining:
                raise refusals.ending()
            if self.desk.full(client):
                self.desk.metrics.count("refused")
                raise refusals.busy(1.0)
        return client

    def _client(self, scope: Scope, headers: dict[bytes, str]) -> str:
        if self.rules.keys is None:
            return str((scope.get("client") or ("",))[0])
        if scope["path"] in OPEN:
            return ""
        kind, _, key = headers.get(b"authorization", "").partition(" ")
        if not key and kind == "" and scope["path"] == KEY_MAY_FOLLOW:
            return ""
        owner = self.rules.keys.owner(key.strip()) if kind.lower() == "bearer" else ""
        if not owner:
            raise unknown()
        return owner

    def _sending(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                ending = [(b"connection", b"close")] if self.desk.draining else []
                message["headers"] = [*message.get("headers", ()), *HEADERS, *ending]
                self.desk.metrics.answered(message["status"])
            await send(message)

        return sent


def unknown() -> Refusal:
    """There is no such key."""
    return Refusal(401, "unauthorized", "a key is needed: Authorization: Bearer KEY")


async def refuse(send: Send, refusal: Refusal) -> None:
    """Answer with a refusal."""
    headers = refusal.headers()
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": refusal.body()})


def _once(found: Sequence[tuple[bytes, bytes]], largest: int) -> dict[bytes, str]:
    """Headers by name; not too many, and none twice of those that decide."""
    size = sum(len(name) + len(value) + 4 for name, value in found)
    if len(found) > MOST_HEADERS or size > largest:
        raise Refusal(431, "head_too_large", "the head of the request is too large")
    headers = {name: value.decode("latin-1") for name, value in found}
    for name in (b"host", b"origin", b"authorization", b"content-length", b"content-type"):
        if sum(one == name for one, _ in found) > 1:
            raise refusals.malformed(f"{name.decode()} is given twice")
    return headers


def _measured(headers: dict[bytes, str], largest: int) -> None:
    """Refuse a body that says of itself that it is too large; others are counted as they come."""
    length = headers.get(b"content-length", "0")
    if not length.isascii() or not length.isdecimal():
        raise refusals.malformed("content-length is no number")
    if len(length) > 18 or int(length) > largest:
        raise Refusal(413, "too_large", f"the body is too large: at most {largest} bytes")
