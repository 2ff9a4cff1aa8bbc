"""Pretrained models: small models inside the package, by name, each with its card.

The rule of names, wherever a command or function takes a model: a text that is exactly the name of a
pretrained model means that model; anything else is the path of a folder. A folder of the same name is
given as a path, `./en-hi`, or in Python as a `Path`.
"""

import os
from difflib import get_close_matches
from pathlib import Path

from dhyan.errors import UserError
from dhyan.pretrained.card import CARD, Card, read_card

TRANSLATORS = (
    "en-hi-transformer",
    "en-hi-bahdanau",
    "en-hi-luong",
    "en-hi-no-attention",
    "en-fr-transformer",
    "en-fr-bahdanau",
)
NAMES = (*TRANSLATORS, "hi-transliteration", "en-pronunciation")  # the studio opens with the first
ALIASES = {"en-hi": "en-hi-transformer", "en-fr": "en-fr-transformer"}
MODELS = Path(__file__).parent / "models"
VARIABLE = "DHYAN_PRETRAINED"  # of the environment: a folder to use instead of MODELS


def models_folder() -> Path:
    """The folder of the pretrained models: the package's, unless DHYAN_PRETRAINED names another."""
    return Path(os.environ.get(VARIABLE) or MODELS)


def model_names() -> list[str]:
    """The names of the models that are there, the package's own first."""
    folder = models_folder()
    found = {path.parent.name for path in folder.glob(f"*/{CARD}")}
    return [*(name for name in NAMES if name in found), *sorted(found - set(NAMES))]


def all_names() -> list[str]:
    """The names by which a model can be asked for: short ones, then full ones."""
    names = model_names()
    return [*(alias for alias, name in ALIASES.items() if name in names), *names]


def find_pretrained(model: str | Path) -> Path | None:
    """The folder of a pretrained model; None for a path, and for a name that no model has."""
    if not isinstance(model, str):
        return None
    name = ALIASES.get(model, model)
    return models_folder() / name if name in model_names() else None


def model_folder(model: str | Path) -> Path:
    """The folder that a model is asked for by: a pretrained model's, or the path itself."""
    return find_pretrained(model) or Path(model)


def aliases_of(name: str) -> list[str]:
    """The short names of a model."""
    return [alias for alias, full in ALIASES.items() if full == name]


def suggest_name(wrong: str | Path) -> str:
    """What to give instead of a folder that is not there, as the end of an error message.

    Empty for what can only be a path: no name of a model has a separator or a suffix.
    """
    if Path(wrong).name != str(wrong) or Path(wrong).suffix:
        return ""
    names = all_names()
    close = get_close_matches(str(wrong), names, n=1)
    listed = f", or a pretrained model: {', '.join(names)}" if names else ""
    return listed + (f"; did you mean {close[0]!r}?" if close else "")


def card_of(name: str) -> Card:
    """The card of a pretrained model, by its name or short name."""
    folder = find_pretrained(name)
    if folder is None:
        names = all_names()
        known = f"there are {', '.join(names)}" if names else "this installation has none"
        close = get_close_matches(name, names, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else ""
        raise UserError(f"no pretrained model {name!r}; {known}{hint}")
    return read_card(folder)


def size_of(name: str) -> int:
    """Size of a model on disk, in bytes."""
    folder = find_pretrained(name)
    return sum(path.stat().st_size for path in folder.iterdir()) if folder else 0
