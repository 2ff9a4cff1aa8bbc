"""Addresses, numbers and tags that pass a model by: each leaves a sign in its place."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from unicodedata import category

from dhyan.errors import UserError
from dhyan.text.normalize import normalize

MOST = 100  # signs a sentence can hold; further spans stay as they are
FIRST = 0xE000  # private-use characters, which the normal form and the tokenizers leave alone
SIGNS = f"{chr(FIRST)}-{chr(FIRST + MOST - 1)}"

_WITHIN = rf"[^\s<>\"'“”«»{{}}|\\^`(){SIGNS}]"  # what an address is made of, less its brackets
_ADDRESS = rf"(?:\({_WITHIN}*\)|{_WITHIN})*(?:\({_WITHIN}*\)|(?![.,;:!?।॥…*\]]){_WITHIN})"
_FORMAT = r"%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?l{0,2}[diouxXeEfgGcs@](?!\w)"
PATTERNS = {
    "tag": (
        rf"</?[A-Za-z][\w:.-]*(?:\s[^<>{SIGNS}]*)?/?>"
        rf"|\{{\{{[^{{}}\n{SIGNS}]+\}}\}}|\$?\{{[^{{}}\s{SIGNS}]*\}}|(?<![\d%]){_FORMAT}"
    ),
    "url": rf"(?<!\w)(?:(?:https?|ftp)://|www\.){_ADDRESS}",
    "email": r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "number": r"(?<!\w)(?<!\d[.,:/-])\d++(?:[.,:/-]\d++)*+(?!\w)",
}
KINDS = ("url", "email", "number", "tag")
_JOINS = ("M", "Sk")  # combining signs, and the shades of emoji


def mask(text: str, kinds: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The text with a sign for each span of these kinds, and the spans, in the signs' order.

    Equal spans share a sign. `restore` gives the text back exactly, even one that holds such
    private-use characters itself: they count as spans too. Without kinds nothing is masked.
    """
    if not kinds:
        return text, ()
    spans = _spans(text, kinds)
    kept = _chosen(text[start:stop] for start, stop in spans)
    return _replaced(text, spans, {span: placeholder(at) for at, span in enumerate(kept)}), kept


def mask_like(text: str, source_spans: Sequence[str], kinds: Sequence[str]) -> str:
    """Mask a target text: spans of the source get the source's placeholders, others stay."""
    masked, spans = mask(text, kinds)
    signs = {
        FIRST + at: placeholder(source_spans.index(span)) if span in source_spans else span
        for at, span in enumerate(spans)
    }
    return masked.translate(signs)


def mask_pair(source: str, target: str, kinds: Sequence[str]) -> tuple[str, str]:
    """A pair to learn from: the spans that both sides have, in their normal form, become signs.

    A span bears the sign that `mask` gives it in the source alone, as when translating. One that
    the target has not (a "2" that becomes "two") stays as it is on both sides, so that in all that
    a model reads a sign means one thing: say it again. When translating, where nobody knows the
    target, such a span is masked too, and is then said again like any other.
    A private-use character of the source is a span always; the target's, else, is no character.
    """
    here, there = _spans(source, kinds), _spans(target, kinds)
    theirs = {normalize(target[start:stop]) for start, stop in there}
    signs: dict[str, str] = {}
    shared: dict[str, str] = {}
    for at, span in enumerate(_chosen(source[start:stop] for start, stop in here)):
        if normalize(span) in theirs or _own(span):
            signs[span] = placeholder(at)
            shared.setdefault(normalize(span), placeholder(at))
    said = {target[start:stop] for start, stop in there}
    answers = {span: "\ufffd" for span in said if _own(span)}
    answers |= {span: shared[normalize(span)] for span in said if normalize(span) in shared}
    return _replaced(source, here, signs), _replaced(target, there, answers)


def restore(text: str, kept: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The text with the spans back in place of their signs, and the spans whose sign is not there.

    A sign that stands for no span is dropped.
    """
    said = {ord(sign) - FIRST for sign in re.findall(f"[{SIGNS}]", text)}
    spans = {FIRST + at: kept[at] if at < len(kept) else None for at in range(MOST)}
    return text.translate(spans), tuple(span for at, span in enumerate(kept) if at not in said)


def _spans(text: str, kinds: Sequence[str]) -> list[tuple[int, int]]:
    found = (match.span() for match in _pattern(tuple(kinds)).finditer(text))
    return [(start, stop) for start, stop in found if _apart(text, start, stop)]


@lru_cache
def _pattern(kinds: tuple[str, ...]) -> re.Pattern[str]:
    for kind in kinds:
        if kind not in PATTERNS:
            raise UserError(f"no placeholder is called {kind!r}: choose among {', '.join(KINDS)}")
    wanted = [pattern for kind, pattern in PATTERNS.items() if kind in kinds]
    return re.compile("|".join([f"[{SIGNS}]", *wanted]))


def _apart(text: str, start: int, stop: int) -> bool:
    """Whether a sign put here stands alone: nothing after it combines, no vowel sign before it."""
    before, after = text[start - 1 : start] if start else "", text[stop : stop + 1]
    digit = text[start].isdigit()
    return _own(text[start]) or not (
        (after and (category(after).startswith(_JOINS) or after in "\u200c\u200d"))
        or (before and (before == "\u200d" or digit and category(before).startswith("M")))
    )


def _chosen(spans: Iterable[str]) -> tuple[str, ...]:
    """The spans that get a sign, each once; those that could be taken for one always do."""
    once = list(dict.fromkeys(spans))
    own = {span for span in once if _own(span)}
    chosen = own.union([span for span in once if span not in own][: MOST - len(own)])
    return tuple(span for span in once if span in chosen)


def _replaced(text: str, spans: Iterable[tuple[int, int]], signs: Mapping[str, str]) -> str:
    parts, end = [], 0
    for start, stop in spans:
        parts += [text[end:start], signs.get(text[start:stop], text[start:stop])]
        end = stop
    return "".join([*parts, text[end:]])


def placeholder(index: int) -> str:
    """The character that stands for the span of this index."""
    return chr(FIRST + index)


def _own(span: str) -> bool:
    return len(span) == 1 and FIRST <= ord(span) < FIRST + MOST
