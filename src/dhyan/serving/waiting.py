"""The one queue: texts wait here in an order that is fair between clients.

Start-time fair queueing (Goyal et al., 1996): a text's tag is when it would end if its client had
an equal share; the lowest tag goes first. A client that floods waits behind itself.
"""

import heapq
from collections.abc import Iterator

from dhyan.serving.asked import Piece

MOST_CLIENTS = 4096


class Waiting:
    """Pieces by their tags; those whose asker has left are passed over."""

    def __init__(self) -> None:
        self._heap: list[tuple[float, int, Piece]] = []
        self._last: dict[str, float] = {}
        self._now = 0.0

    def __len__(self) -> int:
        return sum(1 for _ in self)

    def __iter__(self) -> Iterator[Piece]:
        return (piece for _, _, piece in self._heap if not piece.gone)

    @property
    def cost(self) -> int:
        """The work of all that wait."""
        return sum(piece.cost for piece in self)

    def add(self, piece: Piece) -> None:
        """Put one behind those of its client, and among the others by its share."""
        piece.tag = self._tag(piece.client) + piece.cost
        self._last[piece.client] = piece.tag
        heapq.heappush(self._heap, (piece.tag, piece.number, piece))

    def ahead(self, client: str, cost: int) -> int:
        """The work that goes before the end of so much more of a client's."""
        tag = self._tag(client) + cost
        return sum(piece.cost for piece in self if piece.tag <= tag)

    def of(self, client: str) -> int:
        """The work of one client that waits."""
        return sum(piece.cost for piece in self if piece.client == client)

    def take(self, most: int) -> list[Piece]:
        """The next pieces, all of one manner, up to so much work; one alone may be more."""
        taken: list[Piece] = []
        others: list[tuple[float, int, Piece]] = []
        work = 0
        while self._heap:
            tag, number, piece = heapq.heappop(self._heap)
            if piece.gone:
                continue
            if not taken or (piece.manner == taken[0].manner and work + piece.cost <= most):
                taken.append(piece)
                work += piece.cost
                self._now = max(self._now, tag - piece.cost)
                if piece.manner.stream:
                    break
            else:
                others.append((tag, number, piece))
                if work + piece.cost > most:
                    break
        for other in others:
            heapq.heappush(self._heap, other)
        self._forget()
        return taken

    def sweep(self) -> None:
        """Let go of those whose asker has left."""
        kept = [entry for entry in self._heap if not entry[2].gone]
        if len(kept) < len(self._heap):
            self._heap = kept
            heapq.heapify(self._heap)

    def _tag(self, client: str) -> float:
        return max(self._now, self._last.get(client, 0.0))

    def _forget(self) -> None:
        """Clients that have no more than their share need no memory."""
        if len(self._last) > MOST_CLIENTS or not self._heap:
            self._last = {name: tag for name, tag in self._last.items() if tag > self._now}
