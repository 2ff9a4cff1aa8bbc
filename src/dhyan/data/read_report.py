"""Report of reading sentence pairs: how many were kept, dropped or faulty, and at which lines."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from typing import Any

from dhyan.data.pairs import Pair, Side
from dhyan.errors import UserError

MAX_LOCATIONS, MAX_ERRORS = 3, 50  # stored in a report


@dataclass
class Occurrences:
    """How often something occurred, and the first locations."""

    count: int = 0
    locations: list[str] = field(default_factory=list)

    def add(self, location: str) -> None:
        """Count an occurrence, and store its location if it is among the first."""
        self.count += 1
        if len(self.locations) < MAX_LOCATIONS:
            self.locations.append(location)

    def __str__(self) -> str:
        return ", ".join([*self.locations, *["…"][: self.count - len(self.locations)]])


@dataclass
class ReadReport:
    """Counts of kept and dropped pairs, with reasons; a tolerant report collects errors too."""

    tolerant: bool = False
    kept_count: int = 0
    dropped: dict[str, Occurrences] = field(default_factory=dict)
    errors: list[str] = field(default_factory=list)
    error_count: int = 0
    notes: list[str] = field(default_factory=list)
    unescaped: Occurrences = field(default_factory=Occurrences)  # sentences with HTML entities
    columns: Sequence[str] = ()  # the names of the two columns that are read, if they have names
    files: dict[Side, str] = field(default_factory=lambda: {"source": "source", "target": "target"})
    folder: str = ""  # of pictures; their paths count from here
    _hash: Any = field(default_factory=sha256, repr=False)

    @property
    def fingerprint(self) -> str:
        """The sha256 of the pairs read so far; neither file format nor place matters."""
        return self._hash.hexdigest()

    def keep(self, pair: Pair) -> None:
        """Count a pair that is used."""
        self.kept_count += 1
        source = pair.source.removeprefix(self.folder)
        self._hash.update(f"{source}\0{pair.target}\n".encode())

    def drop(self, reason: str, side: Side, line: int) -> None:
        """Count a pair that is left out, by its reason."""
        self.dropped.setdefault(reason, Occurrences()).add(self.location(side, line))

    def add_error(self, error: UserError) -> None:
        """Raise an error, or collect it if the report is tolerant."""
        if not self.tolerant:
            raise error
        self.error_count += 1
        if len(self.errors) < MAX_ERRORS:
            self.errors.append(str(error))

    def location(self, side: Side, line: int) -> str:
        """A line as `file:line`."""
        return f"{self.files[side]}:{line}"

    def lines(self) -> list[str]:
        """The report as text: notes, errors, the number of kept pairs, and each reason to drop."""
        more = self.error_count - len(self.errors)
        return [
            *self.notes,
            *self.errors,
            *([f"{more:,} more errors like these"] if more else []),
            f"kept {_count_pairs(self.kept_count)}",
            *self._unescaped_lines(),
            *(
                f"dropped {_count_pairs(where.count)}: {reason} ({where})"
                for reason, where in self.dropped.items()
            ),
        ]

    def _unescaped_lines(self) -> list[str]:
        count = self.unescaped.count
        sentences = f"{count:,} sentence{'' if count == 1 else 's'}"
        return [f"unescaped HTML entities in {sentences} ({self.unescaped})"] if count else []


def _count_pairs(count: int) -> str:
    return f"{count:,} pair{'' if count == 1 else 's'}"
