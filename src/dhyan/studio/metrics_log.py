"""What a run has written about its course: the lines of its metrics.jsonl, as they come."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Event = dict[str, Any]
METRICS = "metrics.jsonl"


@dataclass
class Tail:
    """A file of JSON lines, read on from where it was left."""

    path: Path
    _place: int = field(default=0, init=False)
    _file: int = field(default=0, init=False)

    def new(self) -> tuple[bool, list[Event]]:
        """The whole lines written since, and whether the file began anew, as a resumed run's does.

        A line that is still being written waits for its end; one that is damaged is passed over.
        """
        try:
            with self.path.open("rb") as file:
                found = self.path.stat()
                anew = found.st_ino != self._file or found.st_size < self._place
                anew, self._file = anew and bool(self._file), found.st_ino
                self._place = 0 if anew else self._place
                file.seek(self._place)
                written, _, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return False, []
        if written:
            self._place += len(written) + 1
        return anew, [event for line in written.splitlines() if (event := _event(line))]


def events_of(folder: Path) -> list[Event]:
    """All that a run has told so far."""
    return Tail(folder / METRICS).new()[1]


def trained_now(folder: Path) -> bool:
    """Whether a process is training in this folder: it holds the folder's lock."""
    import fcntl

    try:
        with (folder / "lock").open("rb") as file:
            fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except FileNotFoundError:
        return False
    except BlockingIOError:
        return True
    return False


def _event(line: bytes) -> Event | None:
    try:
        event = json.loads(line)
    except ValueError:
        return None
    return event if isinstance(event, dict) and isinstance(event.get("step"), int) else None
