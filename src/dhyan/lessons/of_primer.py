"""Sentences of the primer for a trained model: those of which it knows every word."""

from collections.abc import Callable, Iterator

from dhyan.data.primer import Twin, primer_twins
from dhyan.decoding.translator import Translator
from dhyan.errors import UserError
from dhyan.special_tokens import UNK

SEED, LONGEST, CORE = 1, 20, 0.3
PATIENCE = 500  # sentences in a row without a new one


def known(translator: Translator, text: str) -> bool:
    """Whether the model has met every word."""
    return UNK not in translator.encode(text)


def some(
    translator: Translator,
    twins: Iterator[Twin],
    count: int,
    fits: Callable[[Twin], bool] = lambda twin: True,
) -> list[Twin]:
    """So many different ones that fit and that the model knows the words of, or fewer."""
    found: dict[str, Twin] = {}
    idle = 0  # since the last new one
    for twin in twins:
        new = twin.english not in found and fits(twin) and known(translator, twin.english)
        if new:
            found[twin.english] = twin
        idle = 0 if new else idle + 1
        if len(found) == count or idle == PATIENCE:
            break
    return list(found.values())


def of_split(
    translator: Translator,
    split: str,
    count: int,
    fits: Callable[[Twin], bool] = lambda twin: True,
) -> list[Twin]:
    """Sentences of a test of the primer; a model that knows none was not trained on it."""
    found = some(
        translator, primer_twins(split, seed=SEED, longest=LONGEST, core=CORE), count, fits
    )
    if not found:
        raise UserError(
            "model: it knows the words of none of the primer's sentences; give one trained with "
            "data.task=primer"
        )
    return found
