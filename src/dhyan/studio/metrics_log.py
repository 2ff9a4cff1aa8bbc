"""The metrics log of a run: new lines of metrics.jsonl as they are written."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

Event = dict[str, Any]
METRICS = "metrics.jsonl"


@dataclass
class Tail:
    """A file of JSON lines, read on from the last position."""

    path: Path
    _position: int = field(default=0, init=False)
    _inode: int = field(default=0, init=False)

    def read_new(self) -> tuple[bool, list[Event]]:
        """Whether the file was rewritten, as by a resumed run, and the complete new lines.

        A line that is still being written is read next time; a damaged one is skipped.
        """
        try:
            with self.path.open("rb") as file:
                status = self.path.stat()
                changed = status.st_ino != self._inode or status.st_size < self._position
                rewritten, self._inode = changed and bool(self._inode), status.st_ino
                self._position = 0 if rewritten else self._position
                file.seek(self._position)
                written, _, _ = file.read().rpartition(b"\n")
        except FileNotFoundError:
            return False, []
        if written:
            self._position += len(written) + 1
        return rewritten, [event for line in written.splitlines() if (event := _event(line))]


def read_events(folder: Path) -> list[Event]:
    """All events a run has written so far."""
    return Tail(folder / METRICS).read_new()[1]


def is_training(folder: Path) -> bool:
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
