"""Spans that pass the model by: signs stand for them in what it reads and says."""

from collections.abc import Sequence

from dhyan.text.placeholders import FIRST, mask


def hide(text: str, placeholders: Sequence[str]) -> tuple[str, tuple[str, ...]]:
    """The text as a model reads it that placeholders these kinds of spans, and the spans."""
    return mask(text, placeholders) if placeholders else (text, ())


def hide_as(text: str, kept: Sequence[str], placeholders: Sequence[str]) -> str:
    """A text in the target language with the spans that a source placeholders as the source's signs."""
    hidden, spans = hide(text, placeholders)
    signs = {
        FIRST + place: sign_of(kept.index(span)) if span in kept else span
        for place, span in enumerate(spans)
    }
    return hidden.translate(signs)


def sign_of(place: int) -> str:
    """What stands for the span at this place among the kept ones."""
    return chr(FIRST + place)
