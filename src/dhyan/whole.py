"""Folders that appear whole or not at all, with a manifest of what each of their files must be."""

import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dhyan.faults import Fault

MANIFEST = "manifest.json"


class Damaged(Fault):
    """A folder that is not what its manifest says."""


@contextmanager
def whole_folder(out: Path, *, half: Path | None = None) -> Iterator[Path]:
    """A folder to write into, which takes the name `out` once all is written and on the disk.

    Until then it is called `half`, by a name that is nobody else's. If anything goes wrong it is
    removed; what a killed process left is swept by the next one.
    """
    half = half or out.with_name(f".{out.name}.dhyan-half")
    with _claimed(half, out):
        try:
            yield half
            for path in (*half.iterdir(), half):
                sync(path)
            half.rename(out)
            sync(out.parent)
        except BaseException:
            shutil.rmtree(half, ignore_errors=True)
            raise


def check_place(out: Path) -> None:
    """Refuse a folder that could not be written, before any work is done for it."""
    there = Path(os.path.abspath(out))
    while not os.path.exists(there):
        there = there.parent
    if not there.is_dir():
        raise Fault(f"{out}: cannot be written to: {there} is a file; name another --out")
    if not os.access(there, os.W_OK | os.X_OK):
        raise Fault(f"{out}: cannot be written to: {there} is not yours; name another --out")


def sum_of(data: bytes) -> dict[str, object]:
    """What a manifest says of a file that holds these bytes."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def file_sum(path: Path) -> dict[str, object]:
    """The same of a file on disk, read piece by piece."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}


def write_manifest(
    folder: Path, facts: Mapping[str, object], sums: Mapping[str, object]
) -> dict[str, Any]:
    """Write what a folder holds, and whatever else is to be known of it."""
    manifest = {**facts, "files": dict(sums)}
    (folder / MANIFEST).write_bytes(as_json(manifest))
    return manifest


def read_manifest(folder: Path, facts: Collection[str], *, remedy: str) -> dict[str, Any]:
    """What a folder says it holds; it must say all these facts."""
    path = folder / MANIFEST
    try:
        manifest = json.loads(_read(path, remedy))
        listed = manifest["files"].values()
        told = manifest.keys() >= set(facts) and all({"sha256", "bytes"} <= set(s) for s in listed)
    except (ValueError, KeyError, TypeError, AttributeError):
        told = False
    if not told:
        raise Damaged(f"{path}: cannot be understood; {remedy}")
    return manifest


def read_files(folder: Path, manifest: Mapping[str, Any], *, remedy: str) -> dict[str, bytes]:
    """Every file of a folder, compared with its sum."""
    files = {name: _read(folder / name, remedy) for name in manifest["files"]}
    for name, data in files.items():
        _compare(folder / name, sum_of(data), manifest, remedy)
    return files


def check_files(
    folder: Path, manifest: Mapping[str, Any], names: Iterable[str], *, remedy: str
) -> None:
    """Compare files that are too large to be read at once with their sums."""
    for name in names:
        try:
            found = file_sum(folder / name)
        except OSError as error:
            raise _unread(folder / name, error, remedy) from None
        _compare(folder / name, found, manifest, remedy)


def sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def as_json(value: object) -> bytes:
    """A value as JSON to be read by people too."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


@contextmanager
def _claimed(half: Path, out: Path) -> Iterator[None]:
    """Hold a folder, emptied, for as long as this process writes into it."""
    half.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(half, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = half.stat().st_ino == os.fstat(descriptor).st_ino
        except (BlockingIOError, FileNotFoundError):
            mine = False
        if not mine:  # held by another, or renamed by it in this moment
            raise Fault(f"{out}: another process is writing it; wait for it, or name another --out")
        for left in half.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield
    finally:
        os.close(descriptor)


def _read(path: Path, remedy: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _unread(path, error, remedy) from None


def _unread(path: Path, error: OSError, remedy: str) -> Fault:
    if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError):
        return Damaged(f"{path}: is missing; {remedy}")
    return Fault(f"{path}: cannot be read: {error.strerror}")


def _compare(
    path: Path, found: Mapping[str, object], manifest: Mapping[str, Any], remedy: str
) -> None:
    listed = manifest["files"].get(path.name, {})
    if any(found[key] != listed.get(key) for key in found):
        raise Damaged(f"{path}: is not what {MANIFEST} says; {remedy}")
