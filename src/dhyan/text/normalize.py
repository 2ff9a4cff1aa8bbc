"""Text normalisation before tokenizing: Unicode NFC, straight quotes, no invisible characters."""

import re
from collections.abc import Iterator
from itertools import chain, groupby
from unicodedata import combining
from unicodedata import normalize as unicode_form

_INVISIBLE = [
    *range(0x20),  # C0 controls, less those that are white space
    *range(0x7F, 0xA0),  # C1 controls, the same
    0xAD,  # soft hyphen
    0x61C,  # Arabic letter mark, a bidi control
    0x200B,  # zero-width space
    *(0x200E, 0x200F, *range(0x202A, 0x202F)),  # bidi marks and embeddings
    *range(0x2060, 0x2070),  # word joiner, invisible operators, bidi isolates
    *(0xFEFF, *range(0xFFF9, 0xFFFC)),  # byte order mark, annotation anchors
    *range(0xE0000, 0xE0080),  # tags
]
_REMOVED = {
    **{code: None for code in _INVISIBLE if not chr(code).isspace()},
    **dict.fromkeys(range(0xD800, 0xE000), "\ufffd"),  # half of a surrogate pair is no character
}
_CHARACTERS = {
    **_REMOVED,
    **dict.fromkeys(map(ord, "‘’‚‛‹›"), "'"),
    **dict.fromkeys(map(ord, "“”„‟«»"), '"'),
    ord("▁"): "_",  # the tokenizer's word mark
}
_DEVANAGARI = r"[\u0900-\u0963\u0966-\u097f\u1cd0-\u1cfa\ua8e0-\ua8ff]"  # less its dandas
_CLOSES = r"(?=[\"')\]]*(?: |\Z))"
_BAR = re.compile(rf"(?<={_DEVANAGARI})( ?)([|।]{{2}}|\|){_CLOSES}")
_SPACES = (
    "[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+"  # of str.split
)
_LONG = 1000


def normalize(text: str) -> str:
    """Normalise a text; the function is idempotent.

    Characters take Unicode's composed form (NFC), so every spelling of a nukta letter is the same:
    U+0958–095F become base and nukta, U+0929, 0931 and 0934 stay whole. Curly, low and angle
    quotes become straight. Every kind of white space becomes one ASCII space, none at the ends.
    The joiners ZWJ and ZWNJ stay, since they spell words; other invisible characters are removed:
    controls, zero-width space, word joiner, byte order mark, soft hyphen, bidi marks, tags.
    A pipe that closes a Devanagari sentence is a danda, and two dandas are a double one.
    """
    text = " ".join(_compose(text.translate(_CHARACTERS)).split())
    return _BAR.sub(lambda bar: bar[1] + "।॥"[len(bar[2]) - 1], text)


def normalization_steps() -> Iterator[tuple[str, str] | None]:
    """The same as patterns and what replaces each, in their order; None is Unicode's form NFC.

    For tokenizers that run without this package; halves of surrogate pairs reach none of them.
    """
    by_replacement: dict[str, str] = {}
    for code, replacement in _CHARACTERS.items():
        if not 0xD800 <= code < 0xE000:
            by_replacement[replacement or ""] = by_replacement.get(replacement or "", "") + chr(
                code
            )
    for replacement, characters in by_replacement.items():
        yield f"[{characters}]", replacement
    yield None
    yield _SPACES, " "
    yield r"\A | \Z", ""
    for bar, danda in ((r"[|।]{2}", "॥"), (r"\|", "।")):
        for space in ("", " "):
            yield f"(?<={_DEVANAGARI}{space}){bar}{_CLOSES}", danda


def remove_invisible(text: str) -> str:
    """The text on one line, without invisible characters; all others stay as they are."""
    return " ".join(text.translate(_REMOVED).split())


def _compose(text: str) -> str:
    """NFC in linear time; Python's is quadratic in a run of unsorted combining marks."""
    if len(text) > _LONG:
        characters = chain.from_iterable(unicode_form("NFD", character) for character in text)
        runs = groupby(characters, key=lambda character: combining(character) > 0)
        text = "".join(chain.from_iterable(sorted(run, key=combining) for _, run in runs))
    return unicode_form("NFC", text)
