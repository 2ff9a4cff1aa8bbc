"""Who may ask: keys of which only sums are kept, and how much each of their owners may ask.

A file of keys has a line for each: a name, and the sha256 of the key. A key is 256 random bits, so
a sum that is quick to compute is enough.
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

from dhyan.errors import UserError

NAME = re.compile(r"[A-Za-z0-9._-]{1,64}")
SUM = re.compile(r"[0-9a-f]{64}")
MOST = 10_000
MOST_CLIENTS = 4096


@dataclass(frozen=True)
class Keys:
    """The sums of all keys, by the names of their owners."""

    sums: Mapping[str, bytes] = field(default_factory=dict)

    def owner(self, key: str) -> str:
        """Whose key it is; no one's is an empty name. All are compared, whichever it is."""
        sought, found = _sum(key), ""
        for name, own in self.sums.items():
            if hmac.compare_digest(sought, own):
                found = name
        return found


def read_keys(file: Path) -> Keys:
    """The keys of a file."""
    sums: dict[str, bytes] = {}
    try:
        lines = file.read_text(encoding="utf-8").split("\n")
    except UnicodeDecodeError:
        raise UserError(f"{file}: is no file of keys; make one by --add-key NAME") from None
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        name, _, own = line.strip().partition(" ")
        if not NAME.fullmatch(name) or not SUM.fullmatch(own.strip()):
            raise UserError(f"{file}:{number}: a name, a space and a sha256; add keys by --add-key")
        if name in sums:
            raise UserError(f"{file}:{number}: {name} has a key further up; remove one of them")
        sums[name] = bytes.fromhex(own.strip())
    if not sums:
        raise UserError(f"{file}: has no key; add one by --add-key NAME")
    return Keys(sums)


def add_key(file: Path, name: str) -> str:
    """A new key for someone, whose sum is added to a file that only its owner reads."""
    if not NAME.fullmatch(name):
        raise UserError(f"--add-key {name}: a name has up to 64 of a-z, A-Z, 0-9, '.', '_' and '-'")
    if file.exists() and file.stat().st_size and name in read_keys(file).sums:
        raise UserError(f"{file}: {name} has a key already; remove its line first")
    between = "\n" if file.exists() and file.read_bytes()[-1:] not in (b"", b"\n") else ""
    key = secrets.token_urlsafe(32)
    descriptor = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    with os.fdopen(descriptor, "a", encoding="utf-8") as opened:
        opened.write(f"{between}{name} {_sum(key).hex()}\n")
        opened.flush()
        os.fsync(opened.fileno())
    return key


class Allowance:
    """A bucket of letters for each client, filled at a rate up to what may come at once."""

    def __init__(self, rate: float, burst: float) -> None:
        self.rate, self.most = rate, rate * burst
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()

    def take(self, client: str, letters: int) -> float:
        """Take so many; else the seconds after which there will be enough, and none are taken.

        More than ever fit are taken from a bucket that is full, and owed.
        """
        if not self.rate:
            return 0.0
        now = time.monotonic()
        left, then = self._left.pop(client, (self.most, now))
        left = min(self.most, left + (now - then) * self.rate)
        lacking = min(letters, self.most) - left
        self._left[client] = (left if lacking > 0 else left - letters, now)
        while len(self._left) > MOST_CLIENTS:
            self._left.popitem(last=False)
        return max(lacking, 0.0) / self.rate

    def give(self, client: str, letters: int) -> None:
        """Give some back, for which nothing was done."""
        if client in self._left:
            left, then = self._left[client]
            self._left[client] = (min(self.most, left + letters), then)


def _sum(key: str) -> bytes:
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()
