"""A batch that the model's process has, from its sending to its end."""

import asyncio
import time
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

from dhyan.serving.jobs import Piece
from dhyan.serving.response_pacing import Hatch
from dhyan.serving.worker_handle import Child


class Batch:
    """Pieces of one manner under one number; answers come one by one, then the end."""

    def __init__(
        self, number: int, pieces: Sequence[Piece], stuck_for: float, hatch: Hatch
    ) -> None:
        self.hatch = hatch
        self.number, self.pieces = number, {piece.number: piece for piece in pieces}
        self.began, self.work = time.monotonic(), sum(piece.cost for piece in pieces)
        self.expected, self._stuck_for = self.began, stuck_for
        self.ended, self._said = False, 0
        self._gone: set[int] = set()

    @property
    def whole(self) -> bool:
        """Whether everyone who asked has waited for it."""
        return not self._gone

    @property
    def answered(self) -> bool:
        """Whether all has been said, though the end may be yet to come."""
        return self._said == len(self.pieces)

    def send(self, child: Child) -> None:
        """Give it to a process."""
        (manner, *_) = {piece.manner for piece in self.pieces.values()}
        texts = [[piece.number, piece.text] for piece in self.pieces.values()]
        child.tell(do="translate", number=self.number, pieces=texts, **asdict(manner))

    def hear(self, message: dict[str, Any]) -> tuple[int, int]:
        """Pass on what the process says; the letters it has read, and their tokens."""
        if message.get("number") != self.number:
            return 0, 0
        match message["is"]:
            case "done":
                self.ended = True
            case "words":
                piece = self.pieces[message["piece"]]
                if piece.hear and not piece.gone:
                    piece.hear(message["from"], message["words"])
            case "said":
                self._said += 1
                piece = self.pieces[message["piece"]]
                self.hatch.give(piece, message["answer"])
                return len(piece.text), message["answer"].get("tokens", 0)
        return 0, 0

    def leave(self, child: Child, numbers: Sequence[int]) -> None:
        """Some of it is not wanted any more; a process that goes on with none at all is ended."""
        self._gone |= {number for number in numbers if number in self.pieces}
        child.tell(do="leave", pieces=sorted(self._gone))
        if all(piece.gone for piece in self.pieces.values()):
            asyncio.get_running_loop().call_later(self._stuck_for, self._end, child)

    def _end(self, child: Child) -> None:
        if not self.ended and not child.over.is_set():
            child.kill()
