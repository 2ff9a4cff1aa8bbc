"""Several translators of the same words, joined to one."""

from collections.abc import Sequence
from dataclasses import replace

from dhyan.decoding.translator import Limits, Translator
from dhyan.errors import UserError
from dhyan.text.tokenizer import Tokenizer


def together(translators: Sequence[Translator], *, names: Sequence[str] = ()) -> Translator:
    """The first, with the models of the others beside its own; `names` are for faults.

    Their vocabularies must be equal, since probabilities are averaged word by word.
    """
    first, *others = translators
    called = names or [f"model {number}" for number in range(1, len(translators) + 1)]
    for other, name in zip(others, called[1:], strict=True):
        if difference := _difference(first, other):
            raise UserError(f"{name} cannot speak together with {called[0]}: {difference}")
    models = [model for one in translators for model in (one.model, *one.beside)]
    highest = [one.limits.highest for one in translators if one.limits.highest is not None]
    limits = Limits(
        source=min(one.limits.source for one in translators), highest=min(highest, default=None)
    )
    return replace(first, limits=limits, model=models[0], beside=tuple(models[1:]))


def _difference(first: Translator, other: Translator) -> str:
    """What keeps two translators apart, if anything does."""
    if first.keeps != other.keeps:
        ours, theirs = (", ".join(one.keeps) or "nothing" for one in (first, other))
        return f"it keeps {theirs} whole, the other {ours} (text.placeholders)"
    for side in ("source", "target"):
        if how := _unlike(getattr(first, side), getattr(other, side)):
            return f"their {side} vocabularies differ: {how}; train both with the same vocabularies"
    return ""


def _unlike(one: Tokenizer, other: Tokenizer) -> str:
    """How two vocabularies differ, if they do."""
    if one.to_json() == other.to_json():
        return ""
    ours, theirs = list(one.piece_ids()), list(other.piece_ids())
    for id, (our, their) in enumerate(zip(ours, theirs, strict=False)):
        if our != their:
            return f"{len(theirs):,} pieces and {len(ours):,}, and id {id} is {their!r} and {our!r}"
    if len(ours) != len(theirs):
        return f"{len(theirs):,} pieces and {len(ours):,}"
    return "they have the same pieces but cut words differently"
