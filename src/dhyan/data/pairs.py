"""What became of every pair of a corpus: kept, dropped for a reason, or at fault."""

from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any, Literal

from dhyan.errors import UserError

FIRST_PLACES, FIRST_FAULTS = 3, 50  # how many a tally remembers

Side = Literal["source", "target"]


@dataclass(frozen=True)
class Pair:
    """A sentence, its translation, and the line of the file they begin on."""

    source: str
    target: str
    line: int


@dataclass
class Noted:
    """How often a thing was seen, and where first."""

    count: int = 0
    places: list[str] = field(default_factory=list)

    def add(self, place: str) -> None:
        """Count one more, and remember its place if it is among the first."""
        self.count += 1
        if len(self.places) < FIRST_PLACES:
            self.places.append(place)

    def __str__(self) -> str:
        return ", ".join([*self.places, *["…"][: self.count - len(self.places)]])


@dataclass
class Tally:
    """What became of every pair; a tolerant one notes the faults of single lines and reads on."""

    tolerant: bool = False
    kept: int = 0
    drops: dict[str, Noted] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)
    faulty: int = 0
    notes: list[str] = field(default_factory=list)
    names: dict[Side, str] = field(default_factory=lambda: {"source": "source", "target": "target"})
    _hash: Any = field(default_factory=sha256, repr=False)

    @property
    def fingerprint(self) -> str:
        """The sha256 of the pairs read so far: the same text gives the same in any kind of file."""
        return self._hash.hexdigest()

    def keep(self, pair: Pair) -> None:
        """Count a pair that goes on."""
        self.kept += 1
        self._hash.update(f"{pair.source}\0{pair.target}\n".encode())

    def drop(self, reason: str, side: Side, line: int) -> None:
        """Count a pair left behind, by its reason."""
        self.drops.setdefault(reason, Noted()).add(self.place(side, line))

    def report(self, fault: UserError) -> None:
        """Raise a fault, or note it if the tally is tolerant."""
        if not self.tolerant:
            raise fault
        self.faulty += 1
        if len(self.faults) < FIRST_FAULTS:
            self.faults.append(str(fault))

    def place(self, side: Side, line: int) -> str:
        """Where a line stands, as `file:line`."""
        return f"{self.names[side]}:{line}"

    def lines(self) -> list[str]:
        """The tally in words: faults, what was kept, and a line for each reason to drop."""
        more = self.faulty - len(self.faults)
        return [
            *self.notes,
            *self.faults,
            *([f"{more:,} more faults like these"] if more else []),
            f"kept {_pairs(self.kept)}",
            *(f"dropped {_pairs(n.count)}: {reason} ({n})" for reason, n in self.drops.items()),
        ]


def _pairs(count: int) -> str:
    return f"{count:,} pair{'' if count == 1 else 's'}"
