"""How the server and its model's process talk: JSON, each message with its length before it."""

import json
import struct
from collections.abc import Iterator, Mapping
from typing import Any

LENGTH = struct.Struct(">I")
LARGEST = 64 * 1024 * 1024

Message = dict[str, Any]


def pack(message: Mapping[str, Any]) -> bytes:
    """A message as bytes; what is no number is refused, since JSON has no word for it."""
    body = json.dumps(message, allow_nan=False, separators=(",", ":")).encode()
    return LENGTH.pack(len(body)) + body


def length_of(head: bytes) -> int:
    """How long the message after these four bytes is."""
    (length,) = LENGTH.unpack(head)
    if length > LARGEST:
        raise ValueError(f"a message of {length:,} bytes; at most {LARGEST:,}")
    return int(length)


def unpack(body: bytes) -> Message:
    """The message in a body."""
    found = json.loads(body)
    if not isinstance(found, dict):
        raise ValueError("a message is an object")
    return found


class Unpacker:
    """Messages from bytes that come in pieces."""

    def __init__(self) -> None:
        self._held = bytearray()

    def feed(self, data: bytes) -> Iterator[Message]:
        """Those that are whole now."""
        self._held += data
        while len(self._held) >= LENGTH.size:
            end = LENGTH.size + length_of(bytes(self._held[: LENGTH.size]))
            if len(self._held) < end:
                return
            body = bytes(self._held[LENGTH.size : end])
            del self._held[:end]
            yield unpack(body)
