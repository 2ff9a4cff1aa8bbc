"""Request guard middleware: refuses foreign hosts, foreign origins and oversized requests.

A foreign `Host` is a name made to point at this machine (DNS rebinding); a foreign `Origin` is
another page in the user's browser. Pages of allowed origins get CORS headers; credentials such as
cookies are never allowed.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from dhyan.web.errors import ApiError, RawHeaders, body_too_large, invalid_request, send_error

MAX_HEADERS = 100
SINGLE_HEADERS = (b"host", b"origin", b"authorization", b"content-length", b"content-type")
SECURITY_HEADERS = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
PREFLIGHT_HEADERS = (
    (b"access-control-allow-methods", b"GET, POST"),
    (b"access-control-allow-headers", b"authorization, content-type"),
    (b"access-control-max-age", b"600"),
)

Headers = Mapping[bytes, str]


@dataclass(frozen=True)
class GuardPolicy:
    """Which hosts are answered, how large a request may be, and the headers of every response.

    Pages of `allowed_origins` may use the server. Errors of `string_error_paths` are a string.
    """

    allows_host: Callable[[str], bool]
    max_body_bytes: int
    max_header_bytes: int
    content_security_policy: str
    allowed_origins: Collection[str] = ()
    string_error_paths: Collection[str] = ()

    def response_headers(self, origin: str) -> RawHeaders:
        """The headers added to every response to a page of this origin, or to no page."""
        policy = self.content_security_policy.encode()
        headers = [(b"content-security-policy", policy), *SECURITY_HEADERS]
        if self.allowed_origins:
            headers.append((b"vary", b"origin"))
        if origin in self.allowed_origins:
            headers.append((b"access-control-allow-origin", origin.encode()))
            headers.append((b"access-control-expose-headers", b"retry-after"))
        return headers


def _admit_all(scope: Scope, headers: Headers) -> None:
    pass


def _no_headers(status: int) -> RawHeaders:
    return []


class RequestGuard:
    """ASGI middleware that enforces a policy.

    `admit` raises `ApiError` to refuse a request that the policy allows; `on_response` gets every
    status and returns further headers.
    """

    def __init__(
        self,
        app: ASGIApp,
        policy: GuardPolicy,
        *,
        admit: Callable[[Scope, Headers], None] = _admit_all,
        on_response: Callable[[int], RawHeaders] = _no_headers,
    ) -> None:
        self.app, self.policy = app, policy
        self._admit, self._on_response = admit, on_response

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, or answer it with an error."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = self._with_headers(send, _origin(scope))
        try:
            headers = single_headers(scope["headers"], self.policy.max_header_bytes)
            self._check(headers)
            if self._is_preflight(scope, headers):
                await _send_preflight(send)
                return
            self._admit(scope, headers)
        except ApiError as error:
            as_string = scope["path"] in self.policy.string_error_paths
            await send_error(send, error, as_string=as_string)
            return
        await self.app(scope, self._limited(receive), send)

    def _is_preflight(self, scope: Scope, headers: Headers) -> bool:
        """Whether a browser asks if a page of an allowed origin may send a request."""
        return (
            scope["method"] == "OPTIONS"
            and headers.get(b"origin") in self.policy.allowed_origins
            and b"access-control-request-method" in headers
        )

    def _check(self, headers: Headers) -> None:
        if not self.policy.allows_host(headers.get(b"host", "").lower()):
            raise ApiError(403, "forbidden_host", "This server is not served under that host name.")
        allowed = headers.get(b"origin") in self.policy.allowed_origins
        if is_cross_origin(headers) and not allowed:
            raise ApiError(403, "forbidden_origin", "Requests from other web pages are refused.")
        length = headers.get(b"content-length", "0")
        if not length.isascii() or not length.isdecimal():
            raise invalid_request("content-length is not a number")
        if len(length) > 18 or int(length) > self.policy.max_body_bytes:
            raise body_too_large(self.policy.max_body_bytes)

    def _limited(self, receive: Receive) -> Receive:
        """Count the bytes of a body that did not declare its length."""
        received = 0

        async def limited() -> Message:
            nonlocal received
            message = await receive()
            received += len(message.get("body", b""))
            if received > self.policy.max_body_bytes:
                raise body_too_large(self.policy.max_body_bytes)
            return message

        return limited

    def _with_headers(self, send: Send, origin: str) -> Send:
        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                policy_headers, further = self.policy.response_headers(origin), self._on_response
                added = [*policy_headers, *further(message["status"])]
                message["headers"] = [*message.get("headers", ()), *added]
            await send(message)

        return send_with_headers


def _origin(scope: Scope) -> str:
    return dict(scope["headers"]).get(b"origin", b"").decode("latin-1")


async def _send_preflight(send: Send) -> None:
    start = {"status": 204, "headers": list(PREFLIGHT_HEADERS)}
    await send({"type": "http.response.start", **start})
    await send({"type": "http.response.body", "body": b""})


def single_headers(raw: RawHeaders, max_bytes: int) -> Headers:
    """Headers by name; refuses too many, too large, and duplicates of those that decide."""
    size = sum(len(name) + len(value) + 4 for name, value in raw)
    if len(raw) > MAX_HEADERS or size > max_bytes:
        raise headers_too_large()
    names = [name for name, _ in raw]
    for name in SINGLE_HEADERS:
        if names.count(name) > 1:
            raise invalid_request(f"{name.decode()} is given twice")
    return {name: value.decode("latin-1") for name, value in raw}


def headers_too_large() -> ApiError:
    """The header section exceeds its limit."""
    return ApiError(431, "headers_too_large", "The request headers are too large.")


def is_cross_origin(headers: Headers) -> bool:
    """Whether the browser's headers show that another page sent the request."""
    origin = headers.get(b"origin")
    if origin is not None and origin != f"http://{headers.get(b'host', '')}":
        return True
    return headers.get(b"sec-fetch-site", "same-origin") not in ("same-origin", "none")
