"""Data URIs (RFC 2397): a text that holds a file itself, in base64."""

import binascii
import re

from dhyan.errors import UserError

MAX_URI_CHARACTERS = 2**20  # of a data URI in a corpus
_START = re.compile(r"data:[a-z0-9.+/-]*(?:;[a-z0-9.+=-]+)*;base64,", re.IGNORECASE)


def is_data_uri(text: str) -> bool:
    """Whether a text holds a file itself, and is not the path of one."""
    return text[:5].lower() == "data:"


def encode_data_uri(data: bytes, media_type: str) -> str:
    """A file as a data URI."""
    return f"data:{media_type};base64,{binascii.b2a_base64(data, newline=False).decode()}"


def decode_data_uri(text: str) -> bytes:
    """The file that a data URI holds."""
    if len(text) > MAX_URI_CHARACTERS:
        raise UserError(
            f"a data URI of {len(text):,} characters, more than the {MAX_URI_CHARACTERS:,} it may "
            f"have; make the file smaller"
        )
    start = _START.match(text)
    if start is None:
        raise UserError("not a data URI such as data:image/png;base64,…")
    try:
        return binascii.a2b_base64(text[start.end() :], strict_mode=True)
    except ValueError as error:
        raise UserError(f"its base64 is broken ({error}); encode it again") from None
