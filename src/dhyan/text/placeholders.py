"""Placeholders: URLs, e-mail addresses, numbers and tags, masked for the model and restored."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from unicodedata import category

from dhyan.errors import UserError
from dhyan.text.normalize import normalize

MAX_PLACEHOLDERS = 100  # of a sentence; further spans are not masked
FIRST_CODE = 0xE000  # private-use characters, which the normal form and the tokenizers leave alone
PLACEHOLDER_RANGE = f"{chr(FIRST_CODE)}-{chr(FIRST_CODE + MAX_PLACEHOLDERS - 1)}"

_URL_CHARACTER = rf"[^\s<>\"'“”«»{{}}|\\^`(){PLACEHOLDER_RANGE}]"  # of a URL, without parentheses
_URL_PART = rf"\({_URL_CHARACTER}*\)"
_URL_END = rf"(?![.,;:!?।॥…*\]]){_URL_CHARACTER}"
_URL_REST = rf"(?:{_URL_PART}|{_URL_CHARACTER})*(?:{_URL_PART}|{_URL_END})"
_FORMAT = r"%(?:\(\w+\)|\d+\$)?[-+#0]*\d*(?:\.\d+)?l{0,2}[diouxXeEfgGcs@](?!\w)"
PATTERNS = {
    "tag": (
        rf"</?[A-Za-z][\w:.-]*(?:\s[^<>{PLACEHOLDER_RANGE}]*)?/?>"
        rf"|\{{\{{[^{{}}\n{PLACEHOLDER_RANGE}]+\}}\}}|\$?\{{[^{{}}\s{PLACEHOLDER_RANGE}]*\}}|(?<![\d%]){_FORMAT}"
    ),
    "url": rf"(?<!\w)(?:(?:https?|ftp)://|www\.){_URL_REST}",
    "email": r"(?<![\w.+-])[\w.+-]+@[\w-]+(?:\.[\w-]+)+",
    "number": r"(?<!\w)(?<!\d[.,:/-])\d++(?:[.,:/-]\d++)*+(?!\w)",
}
KINDS = ("url", "email", "number", "tag")
_JOINS = ("M", "Sk")  # combining marks and emoji modifiers


def mask(text: str, kinds: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The text with a placeholder for each span of these kinds, and the spans in the same order.

    Equal spans share a placeholder. `restore` gives the text back exactly, even one that holds such
    private-use characters itself: they count as spans too. Without kinds nothing is masked.
    """
    if not kinds:
        return text, ()
    spans = _spans(text, kinds)
    selected = _select(text[start:stop] for start, stop in spans)
    return _replace(
        text, spans, {span: placeholder(at) for at, span in enumerate(selected)}
    ), selected


def mask_like(text: str, source_spans: Sequence[str], kinds: Sequence[str]) -> str:
    """Mask a target text: spans of the source get the source's placeholders, others stay."""
    masked, spans = mask(text, kinds)
    replacements = {
        FIRST_CODE + at: placeholder(source_spans.index(span)) if span in source_spans else span
        for at, span in enumerate(spans)
    }
    return masked.translate(replacements)


def mask_pair(source: str, target: str, kinds: Sequence[str]) -> tuple[str, str]:
    """A training pair: the normalised spans that both sides have become placeholders.

    A span gets the placeholder that `mask` gives it in the source alone, as in translation. One
    that the target lacks (a "2" that becomes "two") is not masked, so that the model learns to
    copy every placeholder. In translation, where the target is unknown, such a span is masked too
    and copied like any other. A private-use character of the source is always a span; one of the
    target that the source lacks becomes U+FFFD.
    """
    if not kinds:
        return source, target
    source_matches, target_matches = _spans(source, kinds), _spans(target, kinds)
    normalized_targets = {normalize(target[start:stop]) for start, stop in target_matches}
    replacements: dict[str, str] = {}
    shared: dict[str, str] = {}
    for at, span in enumerate(_select(source[start:stop] for start, stop in source_matches)):
        if normalize(span) in normalized_targets or _is_placeholder(span):
            replacements[span] = placeholder(at)
            shared.setdefault(normalize(span), placeholder(at))
    target_spans = {target[start:stop] for start, stop in target_matches}
    target_replacements = {span: "\ufffd" for span in target_spans if _is_placeholder(span)}
    target_replacements |= {
        span: shared[normalize(span)] for span in target_spans if normalize(span) in shared
    }
    return _replace(source, source_matches, replacements), _replace(
        target, target_matches, target_replacements
    )


def restore(text: str, selected: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The text with its spans restored, and the spans whose placeholder is missing.

    A placeholder without a span is dropped.
    """
    present = {
        ord(character) - FIRST_CODE for character in re.findall(f"[{PLACEHOLDER_RANGE}]", text)
    }
    replacements = {
        FIRST_CODE + at: selected[at] if at < len(selected) else None
        for at in range(MAX_PLACEHOLDERS)
    }
    return text.translate(replacements), tuple(
        span for at, span in enumerate(selected) if at not in present
    )


def _spans(text: str, kinds: Sequence[str]) -> list[tuple[int, int]]:
    matches = (match.span() for match in _pattern(tuple(kinds)).finditer(text))
    return [(start, stop) for start, stop in matches if _stands_alone(text, start, stop)]


@lru_cache
def _pattern(kinds: tuple[str, ...]) -> re.Pattern[str]:
    for kind in kinds:
        if kind not in PATTERNS:
            raise UserError(f"no placeholder is called {kind!r}: choose among {', '.join(KINDS)}")
    patterns = [pattern for kind, pattern in PATTERNS.items() if kind in kinds]
    return re.compile("|".join([f"[{PLACEHOLDER_RANGE}]", *patterns]))


def _stands_alone(text: str, start: int, stop: int) -> bool:
    """Whether a placeholder here stands alone: no combining mark after it, no vowel sign before it."""
    before, after = text[start - 1 : start] if start else "", text[stop : stop + 1]
    digit = text[start].isdigit()
    return _is_placeholder(text[start]) or not (
        (after and (category(after).startswith(_JOINS) or after in "\u200c\u200d"))
        or (before and (before == "\u200d" or digit and category(before).startswith("M")))
    )


def _select(spans: Iterable[str]) -> tuple[str, ...]:
    """The spans that get a placeholder, each once; private-use characters always do."""
    distinct = list(dict.fromkeys(spans))
    placeholders = {span for span in distinct if _is_placeholder(span)}
    chosen = placeholders.union(
        [span for span in distinct if span not in placeholders][
            : MAX_PLACEHOLDERS - len(placeholders)
        ]
    )
    return tuple(span for span in distinct if span in chosen)


def _replace(text: str, spans: Iterable[tuple[int, int]], replacements: Mapping[str, str]) -> str:
    parts, end = [], 0
    for start, stop in spans:
        parts += [text[end:start], replacements.get(text[start:stop], text[start:stop])]
        end = stop
    return "".join([*parts, text[end:]])


def placeholder(index: int) -> str:
    """The character that stands for the span of this index."""
    return chr(FIRST_CODE + index)


def _is_placeholder(span: str) -> bool:
    return len(span) == 1 and FIRST_CODE <= ord(span) < FIRST_CODE + MAX_PLACEHOLDERS
