"""Signs in a text that no reader sees, and that `normalize` takes out."""

import re
from collections.abc import Iterator

UNSEEN = {
    "bidi overrides and isolates": re.compile(r"[\u202a-\u202e\u2066-\u2069]"),
    "tag characters": re.compile(r"[\U000e0000-\U000e007f]"),
    "other unseen signs": re.compile(
        r"[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\u00ad\u061c\u200b\u200e\u200f"
        r"\u2060-\u2065\u206a-\u206f\ufeff\ufff9-\ufffb]"
    ),
}
_ANY = re.compile("|".join(kind.pattern for kind in UNSEEN.values()))


def unseen(text: str) -> Iterator[str]:
    """The kinds of unseen signs that a text has; the joiners, which spell words, are none."""
    if _ANY.search(text):
        yield from (name for name, kind in UNSEEN.items() if kind.search(text))
