"""One text on its way through the server, and the manner in which it is to be translated."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

Answer = dict[str, Any]
Hear = Callable[[int, list[str]], None]
"""From which word on a translation has changed, and its words from there."""


@dataclass(frozen=True)
class Manner:
    """What may be asked of a translation; texts of one manner share a batch. A beam of 0 is the
    model's own."""

    beam: int = 0
    nbest: int = 1
    align: bool = False
    paragraphs: bool = False
    stream: bool = False


@dataclass(eq=False)
class Piece:
    """A text that waits, or is being translated, or whose answer is `said` and on its way; whoever
    asked may have left."""

    number: int
    text: str
    manner: Manner
    client: str
    cost: int
    answer: "asyncio.Future[Answer]"
    hear: Hear | None = None
    added: float = 0.0
    sent: bool = field(default=False)
    said: bool = field(default=False)

    @property
    def gone(self) -> bool:
        """Whether nobody waits for it any more."""
        return self.answer.done()
