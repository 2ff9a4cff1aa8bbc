"""After a power cut at any moment, with whatever was not yet on the disk lost, the run loads.

The calls of a run are replayed on a model of a disk. What is in a file counts once the file was
synced; until then it may be empty, half there or all there. Names change in the order of the calls:
those up to the last synced folder count, and of those after it any first few may have come through.
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
GONE = re.compile(r'^(?:unlink|rmdir)\("(.*?)"\) += 0')
GONE_FROM = re.compile(r'^unlinkat\(\d+<(.*?)>, "(.*?)", ')


class Disk:
    """Names of files with what was written into each, and what a sync has made of it."""

    def __init__(self, folder):
        self.folder = str(folder)
        self.data = {}  # number of a file → its parts, as they were written
        self.synced = {}  # number of a file → how many of them are on the disk for sure
        self.names = {}  # path → number of a file, or None for a folder
        self.changes = []  # of names: (path, number or None, kind)
        self.sure = 0  # so many of them are on the disk

    def play(self, line):
        """Take in a call; True if it has to do with the folder."""
        if self.folder not in line:
            return False
        if match := OPEN.match(line):
            if match[1] not in self.names:
                self.data[len(self.data)] = []
                self._change("put", match[1], len(self.data) - 1)
        elif (match := WRITE.match(line)) and match[1] in self.names:
            self.data[self.names[match[1]]].append(unescaped(match[2]))
        elif match := SYNC.match(line):
            self._sync(match[1])
        elif match := RENAME.match(line):
            self._change("move", match[1], match[2])
        elif match := MKDIR.match(line):
            self._change("put", match[1], None)
        elif match := GONE.match(line):
            self._change("drop", match[1], None)
        elif match := GONE_FROM.match(line):
            self._change("drop", f"{match[1]}/{match[2]}", None)
        else:
            return False
        return True

    def _sync(self, path):
        number = self.names.get(path)
        if number is None:
            inside = [n for n, one in enumerate(self.changes) if folder_of(one) == path]
            self.sure = max([self.sure, *(n + 1 for n in inside)])
        else:
            self.synced[number] = len(self.data[number])

    def _change(self, kind, path, what):
        self.changes.append((kind, path, what))
        apply(self.names, kind, path, what)

    def promised(self):
        """The newest checkpoint whose name is on the disk for sure, or −1."""
        moved = (what for kind, _, what in self.changes[: self.sure] if kind == "move")
        steps = (re.fullmatch(r"step-(\d+)", Path(path).name) for path in moved)
        return max((int(step[1]) for step in steps if step), default=-1)

    def states(self):
        """Every folder that may be found after a cut now: its files by their paths."""
        for count in range(self.sure, len(self.changes) + 1):
            names = {}
            for change in self.changes[:count]:
                apply(names, *change)
            for share in (0.0, 0.5, 1.0):
                yield {
                    path: None if number is None else self._found(number, share)
                    for path, number in names.items()
                }

    def _found(self, number, share):
        whole, sure = b"".join(self.data[number]), self.synced.get(number, 0)
        kept = len(b"".join(self.data[number][:sure]))
        return whole[: kept + int(share * (len(whole) - kept))]


def folder_of(change):
    kind, path, what = change
    return str(Path(what if kind == "move" else path).parent)


def apply(names, kind, path, what):
    if kind == "put":
        names[path] = what
    elif kind == "drop":
        names.pop(path, None)
    else:
        moved = {p: n for p, n in names.items() if p == path or p.startswith(f"{path}/")}
        for old, number in moved.items():
            del names[old]
            names[what + old[len(path) :]] = number


def unescaped(text):
    return text.encode("latin-1").decode("unicode_escape").encode("latin-1")


def laid_out(state, folder, place):
    for path, data in sorted(state.items()):
        there = place / Path(path).relative_to(folder)
        if data is None:
            there.mkdir(parents=True, exist_ok=True)
        else:
            there.parent.mkdir(parents=True, exist_ok=True)
            there.write_bytes(data)


def found_after(state, folder, place):
    """The step that a run would go on from, or −1."""
    laid_out(state, folder, place)
    try:
        found = newest_valid_checkpoint(place, (*MODEL_FILES, *STATE_FILES))
    except UserError:
        return -1
    return int(found[0].name.removeprefix("step-")) if found else -1


@pytest.mark.parametrize(
    ("family", "every"),
    [
        pytest.param("rnn", 13, marks=pytest.mark.slow),
        pytest.param("rnn", 1, marks=pytest.mark.soak),
        pytest.param("transformer", 1, marks=pytest.mark.soak),
    ],
)
def test_after_a_power_cut_the_last_checkpoint_or_a_newer_one_loads(
    server, training_of, family, every, tmp_path
):
    training, out = training_of(family), tmp_path / "run"
    code, calls, output = traced(server, training.arguments(out), "-s", "9999999")
    assert code == 0, output
    disk, promised, seen, cuts = Disk(out), -1, {}, 0
    for line in calls.splitlines():
        call = line.partition(" ")[2].lstrip()
        if not disk.play(call):
            continue
        cuts += 1
        promised = max(promised, disk.promised())
        for state in disk.states() if cuts % every == 0 else ():
            key = hash(frozenset(state.items()))
            if key not in seen:
                seen[key] = found_after(state, out, tmp_path / f"cut-{len(seen)}")
            assert seen[key] >= promised, f"{call}: step {seen[key]} is found, not {promised}"
    assert promised == 3
    assert len(set(seen.values())) >= 4
    print(f"{family}: {cuts} moments, {len(seen)} different disks")
