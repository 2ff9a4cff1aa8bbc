"""The one queue: texts wait here in an order that is fair between clients.

Start-time fair queueing (Goyal et al., 1996): a text's tag is when it would end if its client had
an equal share; the lowest tag goes first. A client that floods waits behind itself.
"""

import heapq
from collections import OrderedDict
from collections.abc import Iterator
from dataclasses import dataclass, field

from dhyan.serving.jobs import Piece

MOST_CLIENTS = 4096


@dataclass
class Lane:
    """One client's pieces in their order; tags follow from where the first begins, so that a piece
    which leaves moves up all behind it."""

    start: float
    pieces: "OrderedDict[int, Piece]" = field(default_factory=OrderedDict)
    work: int = 0

    def tagged(self) -> Iterator[tuple[float, int, Piece]]:
        """Pieces with their tags."""
        tag = self.start
        for number, piece in self.pieces.items():
            tag += piece.cost
            yield tag, number, piece

    def before(self, tag: float) -> float:
        """How much of it goes before a tag, to within a piece."""
        first = next(iter(self.pieces.values()), None)
        if first is None or self.start + first.cost > tag:
            return 0
        return min(self.work, tag - self.start)


class Waiting:
    """A lane for each client. Sums are kept as pieces come and go, so that to ask for one takes no
    longer when much waits."""

    def __init__(self, most: int = 0) -> None:
        self._most = most
        self._lanes: dict[str, Lane] = {}
        self._count, self._now = 0, 0.0
        self.cost, self.crowd = 0, 0
        """the work of all that wait; the same, but of no client more than `most`"""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Piece]:
        return (piece for lane in self._lanes.values() for piece in lane.pieces.values())

    def add(self, piece: Piece) -> None:
        """Put one behind those of its client, and among the others by its share."""
        lane = self._lanes.setdefault(piece.client, Lane(self._now))
        if not lane.pieces:
            lane.start = max(lane.start, self._now)
        lane.pieces[piece.number] = piece
        self._change(lane, piece.cost, 1)

    def drop(self, piece: Piece) -> None:
        """Let go of one whose asker has left: its client owes nothing for it."""
        lane = self._lanes.get(piece.client)
        if lane and lane.pieces.pop(piece.number, None):
            self._change(lane, -piece.cost, -1)

    def ahead(self, client: str, cost: int) -> float:
        """The work that goes before the end of so much more of a client's."""
        own = self._lanes.get(client) or Lane(self._now)
        tag = max(own.start, self._now) + own.work + cost
        others = (lane.before(tag) for name, lane in self._lanes.items() if name != client)
        return own.work + sum(others)

    def of(self, client: str) -> int:
        """The work of one client that waits."""
        lane = self._lanes.get(client)
        return lane.work if lane else 0

    def take(self, most: int) -> list[Piece]:
        """The next pieces, all of one manner, up to so much work; one alone may be more.

        Called when nothing is under way: if nothing waits either, all clients begin anew.
        """
        taken, gone = self._chosen(most)
        for piece in gone:
            self.drop(piece)
        for piece in taken:
            self.drop(piece)
            self._lanes[piece.client].start += piece.cost
        self._forget(all_=not taken or len(self._lanes) > MOST_CLIENTS)
        return taken

    def _chosen(self, most: int) -> tuple[list[Piece], list[Piece]]:
        """Those to be taken, and those on the way whose asker has left."""
        taken: list[Piece] = []
        gone: list[Piece] = []
        work = 0
        for tag, _, piece in heapq.merge(*(lane.tagged() for lane in self._lanes.values())):
            if piece.gone:
                gone.append(piece)
            elif not taken or (piece.manner == taken[0].manner and work + piece.cost <= most):
                taken.append(piece)
                work += piece.cost
                self._now = max(self._now, tag - piece.cost)
                if piece.manner.stream:
                    break
            elif work + piece.cost > most:
                break
        return taken, gone

    def _forget(self, *, all_: bool) -> None:
        """Of clients with nothing that waits, those that had no more than their share, or all."""
        self._lanes = {
            name: lane
            for name, lane in self._lanes.items()
            if lane.pieces or (lane.start > self._now and not all_)
        }

    def _change(self, lane: Lane, work: int, count: int) -> None:
        self.crowd -= min(lane.work, self._most)
        lane.work += work
        self.crowd += min(lane.work, self._most)
        self.cost += work
        self._count += count
