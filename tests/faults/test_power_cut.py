"""A power cut at any moment, with the loss of all data that is not synced: the run still loads.

The system calls of a run are replayed on a model of a disk. The content of a file is durable once
the file is synced; until then it may be empty, half written or complete. Names change in the order
of the calls: changes up to the last synced folder are durable, and any first few after it may be.
"""

import re
from pathlib import Path

import pytest

from dhyan.checkpoint import newest_valid_checkpoint
from dhyan.errors import UserError
from dhyan.run.load import MODEL_FILES
from dhyan.run.run_folder import STATE_FILES
from tests.faults.fork_client import traced

OPEN = re.compile(r'^openat\(AT_FDCWD<[^>]*>, "(.*?)", .*O_CREAT.* = \d+')
WRITE = re.compile(r'^write\(\d+<(.*?)>, "(.*)", \d+\) += \d+$')
SYNC = re.compile(r"^fsync\(\d+<(.*?)>\)")
RENAME = re.compile(r'^rename\("(.*?)", "(.*?)"\)')
MKDIR = re.compile(r'^mkdir\("(.*?)", \d+\) += 0')
REMOVE = re.compile(r'^(?:unlink|rmdir)\("(.*?)"\) += 0')
REMOVE_AT = re.compile(r'^unlinkat\(\d+<(.*?)>, "(.*?)", ')


class Disk:
    """A model of a disk: file names, the data written into each file, and what is synced."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.data = {}  # file number → its parts, as they were written
        self.synced = {}  # file number → how many parts are durable
        self.names = {}  # path → file number, or None for a folder
        self.changes = []  # of names: (operation, path, file number or new path)
        self.durable = 0  # how many of these changes are durable

    def play(self, line):
        """Apply a system call; returns whether it concerns the folder."""
        if self.folder not in line:
            return False
        if match := OPEN.match(line):
            if match[1] not in self.names:
                self.data[len(self.data)] = []
                self._change("put", match[1], len(self.data) - 1)
        elif (match := WRITE.match(line)) and match[1] in self.names:
            self.data[self.names[match[1]]].append(unescape(match[2]))
        elif match := SYNC.match(line):
            self._sync(match[1])
        elif match := RENAME.match(line):
            self._change("move", match[1], match[2])
        elif match := MKDIR.match(line):
            self._change("put", match[1], None)
        elif match := REMOVE.match(line):
            self._change("drop", match[1], None)
        elif match := REMOVE_AT.match(line):
            self._change("drop", f"{match[1]}/{match[2]}", None)
        else:
            return False
        return True

    def _sync(self, path):
        number = self.names.get(path)
        if number is None:
            inside = [n for n, change in enumerate(self.changes) if folder_of(change) == path]
            self.durable = max([self.durable, *(n + 1 for n in inside)])
        else:
            self.synced[number] = len(self.data[number])

    def _change(self, operation, path, what):
        self.changes.append((operation, path, what))
        apply(self.names, operation, path, what)

    def promised(self):
        """The newest checkpoint whose name is durable, or −1."""
        moved = (what for operation, _, what in self.changes[: self.durable] if operation == "move")
        steps = (re.fullmatch(r"step-(\d+)", Path(path).name) for path in moved)
        return max((int(step[1]) for step in steps if step), default=-1)

    def states(self):
        """Every possible content of the folder after a power cut now, by path."""
        for count in range(self.durable, len(self.changes) + 1):
            names = {}
            for change in self.changes[:count]:
                apply(names, *change)
            for share in (0.0, 0.5, 1.0):
                yield {
                    path: None if number is None else self._surviving_content(number, share)
                    for path, number in names.items()
                }

    def _surviving_content(self, number, share):
        content, sure = b"".join(self.data[number]), self.synced.get(number, 0)
        synced_size = len(b"".join(self.data[number][:sure]))
        return content[: synced_size + int(share * (len(content) - synced_size))]


def folder_of(change):
    operation, path, what = change
    return str(Path(what if operation == "move" else path).parent)


def apply(names, operation, path, what):
    if operation == "put":
        names[path] = what
    elif operation == "drop":
        names.pop(path, None)
    else:
        moved = {p: n for p, n in names.items() if p == path or p.startswith(f"{path}/")}
        for old, number in moved.items():
            del names[old]
            names[what + old[len(path) :]] = number


def unescape(text):
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def write_state(state, folder, target):
    for name, data in sorted(state.items()):
        path = target / Path(name).relative_to(folder)
        if data is None:
            path.mkdir(parents=True, exist_ok=True)
        else:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)


def resumed_step(state, folder, target):
    """The step that a run would resume from, or −1."""
    write_state(state, folder, target)
    try:
        checkpoint = newest_valid_checkpoint(target, (*MODEL_FILES, *STATE_FILES))
    except UserError:
        return -1
    return int(checkpoint[0].name.removeprefix("step-")) if checkpoint else -1


@pytest.mark.parametrize(
    ("family", "every"),
    [
        pytest.param("rnn", 13, marks=pytest.mark.slow),
        pytest.param("rnn", 1, marks=pytest.mark.soak),
        pytest.param("transformer", 1, marks=pytest.mark.soak),
    ],
)
def test_after_a_power_cut_a_saved_checkpoint_loads(server, training_of, family, every, tmp_path):
    training, out = training_of(family), tmp_path / "run"
    code, calls, output = traced(server, training.arguments(out), "-s", "9999999")
    assert code == 0, output
    disk, promised, steps_by_state, moments = Disk(out), -1, {}, 0
    for line in calls.splitlines():
        call = line.partition(" ")[2].lstrip()
        if not disk.play(call):
            continue
        moments += 1
        promised = max(promised, disk.promised())
        for state in disk.states() if moments % every == 0 else ():
            key = hash(frozenset(state.items()))
            if key not in steps_by_state:
                steps_by_state[key] = resumed_step(
                    state, out, tmp_path / f"cut-{len(steps_by_state)}"
                )
            assert steps_by_state[key] >= promised, (
                f"{call}: step {steps_by_state[key]} is found, not {promised}"
            )
    assert promised == 3
    assert len(set(steps_by_state.values())) >= 4
    print(f"{family}: {moments} moments, {len(steps_by_state)} different disks")
