"""Answers are handed out one at a time, and whoever comes meanwhile is heard in between.

A batch answers a hundred clients at one moment. Were they all woken at once, a new request would
be read only after the last of them was served.
"""

import asyncio
from collections import deque

from dhyan.serving.jobs import Answer, Piece


class Hatch:
    """Answers in the order in which they came, one for each turn of the loop."""

    def __init__(self) -> None:
        self._line: deque[tuple[Piece, Answer]] = deque()

    def give(self, piece: Piece, answer: Answer) -> None:
        """Hand out an answer when it is its turn."""
        piece.said = True
        self._line.append((piece, answer))
        if len(self._line) == 1:
            asyncio.get_running_loop().call_soon(self._next)

    def _next(self) -> None:
        piece, answer = self._line[0]
        if not piece.gone:
            piece.answer.set_result(answer)
        self._line.popleft()
        if self._line:
            asyncio.get_running_loop().call_soon(self._next)
