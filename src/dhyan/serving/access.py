"""Access control: API keys, rate limit, and the request guard before every route.

The key file has a line for each client: its name and the SHA-256 of its key. A key is 256 random
bits, so a fast hash is enough.
"""

import hashlib
import hmac
import os
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from starlette.types import ASGIApp, Scope

from dhyan.errors import UserError
from dhyan.serving.errors import shutting_down, unauthorized
from dhyan.serving.models import ServedModels
from dhyan.serving.settings import ServerSettings
from dhyan.web.errors import RawHeaders
from dhyan.web.guard import GuardPolicy, Headers, RequestGuard

NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
SHA256 = re.compile(r"[0-9a-f]{64}")
MAX_CLIENTS = 4096  # whose rate is remembered
CONTENT_SECURITY_POLICY = "default-src 'none'; frame-ancestors 'none'"
KEYLESS_PATHS = frozenset(("/livez", "/readyz"))
LIBRETRANSLATE_PATHS = frozenset(("/translate", "/detect", "/languages"))
"""whose clients send the API key in the body, and read errors as a string"""
TRANSLATE_PATHS = frozenset(("/v1/translate", "/v1/translate/stream", "/v1/predict", "/translate"))


@dataclass(frozen=True)
class ApiKeys:
    """Hashes of the API keys by client name."""

    hashes: Mapping[str, bytes] = field(default_factory=dict)

    def client(self, key: str) -> str:
        """The client a key belongs to, or an empty name; compares with every key, in equal time."""
        key_hash, client = _hash(key), ""
        for name, known_hash in self.hashes.items():
            if hmac.compare_digest(key_hash, known_hash):
                client = name
        return client


def read_keys(path: Path) -> ApiKeys:
    """The API keys of a file."""
    hashes: dict[str, bytes] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise UserError(f"{path}: not a file of API keys; make one with --add-key NAME") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, _, digest = line.strip().partition(" ")
        if not NAME.fullmatch(name) or not SHA256.fullmatch(digest.strip()):
            raise UserError(
                f"{path}:{number}: expected a name, a space and a SHA-256; add keys with --add-key"
            )
        if name in hashes:
            raise UserError(f"{path}:{number}: {name} has a key on an earlier line; remove one")
        hashes[name] = bytes.fromhex(digest.strip())
    if not hashes:
        raise UserError(f"{path}: has no API key; add one with --add-key NAME")
    return ApiKeys(hashes)


def add_key(path: Path, name: str) -> str:
    """A new API key; its hash is appended to the file, which only its owner can read."""
    if not NAME.fullmatch(name):
        raise UserError(
            f"--add-key {name}: a name has up to 64 characters of a-z, A-Z, 0-9, '.', '_' and '-'"
        )
    if path.exists() and path.stat().st_size and name in read_keys(path).hashes:
        raise UserError(f"{path}: {name} has a key already; remove its line first")
    separator = "\n" if path.exists() and path.read_bytes()[-1:] not in (b"", b"\n") else ""
    key = secrets.token_urlsafe(32)
    descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as file:
        file.write(f"{separator}{name} {_hash(key).hex()}\n")
        file.flush()
        os.fsync(file.fileno())
    return key


def _hash(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


class RateLimiter:
    """Token bucket of characters for each client."""

    def __init__(self, rate: float, burst_seconds: float) -> None:
        self.rate, self.capacity = rate, rate * burst_seconds
        self._buckets: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, characters: int) -> float:
        """Take characters; if there are too few, take none and return the seconds to wait.

        A request larger than the bucket is allowed when the bucket is full, and leaves it negative.
        """
        if not self.rate:
            return 0.0
        now = time.monotonic()
        level, updated = self._buckets.pop(client, (self.capacity, now))
        level = min(self.capacity, level + (now - updated) * self.rate)
        missing = min(characters, self.capacity) - level
        self._buckets[client] = (level if missing > 0 else level - characters, now)
        while len(self._buckets) > MAX_CLIENTS:
            self._buckets.popitem(last=False)
        return max(missing, 0.0) / self.rate

    def give_back(self, client: str, characters: int) -> None:
        """Return characters of a request that was refused."""
        if client in self._buckets:
            level, updated = self._buckets[client]
            self._buckets[client] = (min(self.capacity, level + characters), updated)


@dataclass(frozen=True)
class AccessPolicy:
    """The host names a server answers to, the API keys it requires, if any, and the origins of web
    pages that may use it."""

    hosts: frozenset[str]
    keys: ApiKeys | None
    settings: ServerSettings
    origins: frozenset[str] = frozenset()

    def client(self, scope: Scope, headers: Headers) -> str:
        """The client's name: that of its key, or its address; empty if not known yet."""
        if self.keys is None:
            return str((scope.get("client") or ("",))[0])
        if scope["path"] in KEYLESS_PATHS:
            return ""
        scheme, _, key = headers.get(b"authorization", "").partition(" ")
        if not scheme and not key and scope["path"] in LIBRETRANSLATE_PATHS:
            return ""
        client = self.keys.client(key.strip()) if scheme.lower() == "bearer" else ""
        if not client:
            raise unauthorized()
        return client


def access_guard(app: ASGIApp, policy: AccessPolicy, models: ServedModels) -> RequestGuard:
    """The guard before all routes: host, origin, size, API key, and room in the queue.

    A request passes with its client's name in `scope["client_name"]`.
    """
    limits = policy.settings.connection
    guard_policy = GuardPolicy(
        allows_host=policy.hosts.__contains__,
        max_body_bytes=limits.max_body_bytes,
        max_header_bytes=limits.max_header_bytes,
        content_security_policy=CONTENT_SECURITY_POLICY,
        allowed_origins=policy.origins,
        string_error_paths=LIBRETRANSLATE_PATHS,
    )

    def admit(scope: Scope, headers: Headers) -> None:
        client = scope["client_name"] = policy.client(scope, headers)
        if scope["path"] in TRANSLATE_PATHS and scope["method"] == "POST":
            if models.draining:
                raise shutting_down()
            models.check_capacity(client)

    def on_response(status: int) -> RawHeaders:
        models.metrics.count_response(status)
        return [(b"connection", b"close")] if models.draining else []

    return RequestGuard(app, guard_policy, admit=admit, on_response=on_response)
