"""A reader's trained model: ready, or in the folder of a run."""

from pathlib import Path

from dhyan.decoding.translator import Translator
from dhyan.errors import UserError


def translator_of(model: str | Path | Translator) -> Translator:
    """The model itself, loaded if it is not yet."""
    from dhyan.run import load

    return model if isinstance(model, Translator) else load(model)


def single(model: str | Path | Translator) -> Translator:
    """A model that speaks alone, so that its own modules can be looked into."""
    found = translator_of(model)
    if found.other_models:
        raise UserError(
            f"{1 + len(found.other_models)} models speak at once here; give a single one"
        )
    return found
