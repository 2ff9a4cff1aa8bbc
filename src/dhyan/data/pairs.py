"""Sentence pair: a source sentence, its translation and its line in the file, as one value."""

from dataclasses import dataclass
from typing import Literal

Side = Literal["source", "target"]


@dataclass(frozen=True)
class Pair:
    """A source sentence, its translation, and the line of the file they begin on."""

    source: str
    target: str
    line: int
