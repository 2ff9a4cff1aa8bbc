"""The files of the page: scripts, styles, and the texts of its catalogues."""

import json
from importlib.resources import files
from typing import Literal

STATIC = files("dhyan.studio") / "static"
Language = Literal["en", "hi"]
Catalogue = dict[str, dict[str, str]]


def catalogue(language: Language) -> Catalogue:
    """The texts of a language by the part of the page and the key."""
    path = STATIC / "text" / f"{language}.json"
    texts: Catalogue = json.loads(path.read_text(encoding="utf-8"))
    return texts
