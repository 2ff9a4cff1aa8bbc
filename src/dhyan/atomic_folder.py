"""Folders that appear whole or not at all, with a manifest of what each of their files must be."""

import errno
import fcntl
import hashlib
import json
import os
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from dhyan.errors import UserError
from dhyan.safe_io.files import UnsafeFile, file_size, is_safe_name, read_file
from dhyan.safe_io.json_toml import read_json, safe_repr

MANIFEST = "manifest.json"
VERSION, CHECKSUM, BLANK = "manifest_version", "checksum", "0" * 64  # first and last key
LONGEST_MANIFEST = 2**20


class DamagedFolder(UserError):
    """A folder that is not what its manifest says."""


@contextmanager
def atomic_folder(out: Path, *, half: Path | None = None) -> Iterator[Path]:
    """A folder to write into, which takes the name `out` once all is written and on the disk.

    Until then it is called `half`, by a name that is nobody else's, and if anything goes wrong it
    is removed; what a killed process left is swept by the next one. An error after that leaves it
    in its place: whole, but not known to stay there if the power fails.
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


def check_writable(out: Path) -> None:
    """Refuse a folder that could not be written, before any work is done for it."""
    there = Path(os.path.abspath(out))
    while not os.path.exists(there):
        there = there.parent
    if not there.is_dir():
        raise UserError(f"{out}: cannot be written to: {there} is a file; name another --out")
    if not os.access(there, os.W_OK | os.X_OK):
        raise UserError(f"{out}: cannot be written to: {there} is not yours; name another --out")


def checksum(data: bytes) -> dict[str, object]:
    """What a manifest says of a file that holds these bytes."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def file_checksum(path: Path) -> dict[str, object]:
    """The same of a file on disk, read piece by piece."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}


def write_manifest(
    folder: Path, facts: Mapping[str, object], sums: Mapping[str, object]
) -> dict[str, Any]:
    """Write what a folder holds, whatever else is to be known of it, and a sum of all that."""
    manifest = {VERSION: 1, **facts, "files": dict(sums), CHECKSUM: BLANK}
    before, _, after = to_json_bytes(manifest).rpartition(BLANK.encode())
    manifest[CHECKSUM] = _own_sum(before, after)
    (folder / MANIFEST).write_bytes(to_json_bytes(manifest))
    return manifest


def read_manifest(folder: Path, facts: Collection[str], *, remedy: str) -> dict[str, Any]:
    """What a folder says it holds; it must say all these facts, and name files right in it."""
    path = folder / MANIFEST
    data = _read(path, LONGEST_MANIFEST, remedy)
    try:
        manifest = read_json(data)
        listed = manifest["files"].items()
        told = manifest.keys() >= set(facts) and all(_is_sum(one) for _, one in listed)
    except (ValueError, KeyError, TypeError, AttributeError):
        told = False
    if not told:
        raise DamagedFolder(f"{path}: cannot be understood; {remedy}")
    for name in manifest["files"]:
        if not is_safe_name(name):
            raise DamagedFolder(f"{path}: {safe_repr(name)} may not name a file; {remedy}")
    if not _as_written(data, manifest):
        raise DamagedFolder(f"{path}: was changed since it was written; {remedy}")
    return manifest


def read_files(
    folder: Path, manifest: Mapping[str, Any], names: Iterable[str] | None = None, *, remedy: str
) -> dict[str, bytes]:
    """Every file of a folder, or those named, compared with its sum."""
    files = {}
    for name in manifest["files"] if names is None else names:
        _check_size(folder / name, manifest, remedy)
        files[name] = _read(folder / name, manifest["files"][name]["bytes"], remedy)
    for name, data in files.items():
        _compare(folder / name, checksum(data), manifest, remedy)
    return files


def check_files(
    folder: Path, manifest: Mapping[str, Any], names: Iterable[str], *, remedy: str
) -> None:
    """Compare files that are too large to be read at once with their sums."""
    for name in names:
        _check_size(folder / name, manifest, remedy)
        try:
            found = file_checksum(folder / name)
        except OSError as error:
            raise _unread(folder / name, error, remedy) from None
        _compare(folder / name, found, manifest, remedy)


def sync(path: Path) -> None:
    """Wait until a file or a folder is on the disk; an error names it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(descriptor)


def to_json_bytes(value: object) -> bytes:
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
            raise UserError(
                f"{out}: another process is writing it; wait for it, or name another --out"
            )
        for left in half.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield
    finally:
        os.close(descriptor)


def _as_written(data: bytes, manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest's bytes have its own sum; one from before there were sums has none."""
    if VERSION not in manifest and CHECKSUM not in manifest:
        return True
    found = str(manifest.get(CHECKSUM) or BLANK).encode(errors="replace")
    before, _, after = data.rpartition(found)
    return _own_sum(before, after).encode() == found


def _own_sum(before: bytes, after: bytes) -> str:
    """The sum of a manifest in whose place for it stand zeros."""
    return hashlib.sha256(before + BLANK.encode() + after).hexdigest()


def _read(path: Path, max_bytes: int, remedy: str) -> bytes:
    try:
        return read_file(path, max_bytes=max_bytes)
    except OSError as error:
        raise _unread(path, error, remedy) from None
    except UnsafeFile as fault:
        raise DamagedFolder(f"{fault}; {remedy}") from None


def _is_sum(listed: Mapping[str, Any]) -> bool:
    size, digest = listed["bytes"], listed["sha256"]
    return type(size) is int and size >= 0 and isinstance(digest, str)


def _check_size(path: Path, manifest: Mapping[str, Any], remedy: str) -> None:
    """Refuse what is no plain file, or of another size, before any of it is read."""
    listed = manifest["files"].get(path.name)
    if listed is None:
        raise DamagedFolder(f"{path}: is not listed in {MANIFEST}; {remedy}")
    try:
        same = file_size(path) == listed["bytes"]
    except OSError as error:
        raise _unread(path, error, remedy) from None
    except UnsafeFile as fault:
        raise DamagedFolder(f"{fault}; {remedy}") from None
    if not same:
        raise DamagedFolder(f"{path}: is not what {MANIFEST} says; {remedy}")


def _unread(path: Path, error: OSError, remedy: str) -> UserError:
    if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError):
        return DamagedFolder(f"{path}: is missing; {remedy}")
    if error.errno == errno.EIO:
        return DamagedFolder(f"{path}: cannot be read: {error.strerror}; {remedy}")
    return UserError(f"{path}: cannot be read: {error.strerror}")


def _compare(
    path: Path, found: Mapping[str, object], manifest: Mapping[str, Any], remedy: str
) -> None:
    listed = manifest["files"].get(path.name, {})
    if any(found[key] != listed.get(key) for key in found):
        raise DamagedFolder(f"{path}: is not what {MANIFEST} says; {remedy}")
