"""Folders written atomically, with a manifest of the size and SHA-256 of each file."""

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

from dhyan.errors import UserError, spell_option
from dhyan.safe_io.bounded_files import UnsafeFile, file_size, is_safe_name, read_file
from dhyan.safe_io.json_toml import read_json, safe_repr

MANIFEST = "manifest.json"
VERSION, CHECKSUM = "manifest_version", "checksum"  # the first and the last key
BLANK = "0" * 64  # stands for the checksum while it is computed
MAX_MANIFEST_BYTES = 2**20


class DamagedFolder(UserError):
    """A folder that is not what its manifest says."""


@contextmanager
def atomic_folder(
    out: Path, *, temporary: Path | None = None, resumable: bool = False
) -> Iterator[Path]:
    """A folder to write into, renamed to `out` once all is written and synced to disk.

    Until then it has the name `temporary`, and an error removes it; what a killed process left
    there is removed by the next one. A `resumable` one is left to the next one instead, to be
    finished. An error after the rename leaves the folder complete, but not known to survive a power
    failure.
    """
    temporary = temporary or out.with_name(f".{out.name}.dhyan-half")
    with _locked(temporary, out):
        try:
            if not resumable:
                remove_contents(temporary)
            yield temporary
            for path in (*temporary.iterdir(), temporary):
                sync(path)
            temporary.rename(out)
            sync(out.parent)
        except BaseException:
            if not resumable:
                shutil.rmtree(temporary, ignore_errors=True)
            raise


def remove_contents(folder: Path) -> None:
    """Remove everything in a folder."""
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() else path.unlink()


def check_writable(out: Path) -> None:
    """Refuse an output folder that cannot be written, before any work is done."""
    existing = Path(os.path.abspath(out))
    while not os.path.exists(existing):
        existing = existing.parent
    if not existing.is_dir():
        raise UserError(
            f"{out}: cannot be written to: {existing} is a file; name another {spell_option('out')}"
        )
    if not os.access(existing, os.W_OK | os.X_OK):
        raise UserError(
            f"{out}: cannot be written to: {existing} is not yours; name another "
            f"{spell_option('out')}"
        )


def checksum(data: bytes) -> dict[str, object]:
    """Size and SHA-256 of some bytes, as a manifest lists them."""
    return {"sha256": hashlib.sha256(data).hexdigest(), "bytes": len(data)}


def file_checksum(path: Path) -> dict[str, object]:
    """Size and SHA-256 of a file, read in pieces."""
    with open(path, "rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    return {"sha256": digest, "bytes": path.stat().st_size}


def write_manifest(
    folder: Path, facts: Mapping[str, object], checksums: Mapping[str, object]
) -> dict[str, Any]:
    """Write the manifest: facts, the checksum of each file, and a checksum of the manifest itself."""
    manifest = {VERSION: 1, **facts, "files": dict(checksums), CHECKSUM: BLANK}
    before, _, after = to_json_bytes(manifest).rpartition(BLANK.encode())
    manifest[CHECKSUM] = _manifest_checksum(before, after)
    (folder / MANIFEST).write_bytes(to_json_bytes(manifest))
    return manifest


def read_manifest(folder: Path, facts: Collection[str], *, remedy: str) -> dict[str, Any]:
    """Read and check a manifest; it must have all these facts, and name files of this folder."""
    path = folder / MANIFEST
    data = _read(path, MAX_MANIFEST_BYTES, remedy)
    try:
        manifest = read_json(data)
        entries = manifest["files"].values()
        valid = manifest.keys() >= set(facts) and all(map(_is_entry, entries))
    except (ValueError, KeyError, TypeError, AttributeError):
        valid = False
    if not valid:
        raise DamagedFolder(f"{path}: cannot be understood; {remedy}")
    for name in manifest["files"]:
        if not is_safe_name(name):
            raise DamagedFolder(f"{path}: {safe_repr(name)} may not name a file; {remedy}")
    if not _is_unchanged(data, manifest):
        raise DamagedFolder(f"{path}: was changed since it was written; {remedy}")
    return manifest


def read_files(
    folder: Path, manifest: Mapping[str, Any], names: Iterable[str] | None = None, *, remedy: str
) -> dict[str, bytes]:
    """The files of a folder, or those named, each compared with its checksum."""
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
    """Compare files with their checksums without reading them into memory."""
    for name in names:
        _check_size(folder / name, manifest, remedy)
        try:
            actual = file_checksum(folder / name)
        except OSError as error:
            raise _read_error(folder / name, error, remedy) from None
        _compare(folder / name, actual, manifest, remedy)


def sync(path: Path) -> None:
    """Sync a file or a folder to disk; an error names it."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    except OSError as error:
        raise OSError(error.errno, error.strerror, str(path)) from None
    finally:
        os.close(descriptor)


def to_json_bytes(value: object) -> bytes:
    """A value as indented JSON in UTF-8."""
    return (json.dumps(value, ensure_ascii=False, indent=1) + "\n").encode()


@contextmanager
def _locked(temporary: Path, out: Path) -> Iterator[None]:
    """Lock a folder for as long as this process writes into it."""
    temporary.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            locked = temporary.stat().st_ino == os.fstat(descriptor).st_ino
        except (BlockingIOError, FileNotFoundError):
            locked = False
        if not locked:  # by another process, which may have just renamed it
            raise UserError(
                f"{out}: another process is writing it; wait for it, or name another "
                f"{spell_option('out')}"
            )
        yield
    finally:
        os.close(descriptor)


def _is_unchanged(data: bytes, manifest: Mapping[str, Any]) -> bool:
    """Whether a manifest has its own checksum; a manifest without a version has none."""
    if VERSION not in manifest and CHECKSUM not in manifest:
        return True
    saved = str(manifest.get(CHECKSUM) or BLANK).encode(errors="replace")
    before, _, after = data.rpartition(saved)
    return _manifest_checksum(before, after).encode() == saved


def _manifest_checksum(before: bytes, after: bytes) -> str:
    """The checksum of a manifest with zeros in the place of its checksum."""
    return hashlib.sha256(before + BLANK.encode() + after).hexdigest()


def _read(path: Path, max_bytes: int, remedy: str) -> bytes:
    try:
        return read_file(path, max_bytes=max_bytes)
    except OSError as error:
        raise _read_error(path, error, remedy) from None
    except UnsafeFile as error:
        raise DamagedFolder(f"{error}; {remedy}") from None


def _is_entry(entry: Mapping[str, Any]) -> bool:
    size, digest = entry["bytes"], entry["sha256"]
    return type(size) is int and size >= 0 and isinstance(digest, str)


def _check_size(path: Path, manifest: Mapping[str, Any], remedy: str) -> None:
    """Refuse what is not a regular file of the listed size, before any of it is read."""
    listed = manifest["files"].get(path.name)
    if listed is None:
        raise DamagedFolder(f"{path}: is not listed in {MANIFEST}; {remedy}")
    try:
        same = file_size(path) == listed["bytes"]
    except OSError as error:
        raise _read_error(path, error, remedy) from None
    except UnsafeFile as error:
        raise DamagedFolder(f"{error}; {remedy}") from None
    if not same:
        raise DamagedFolder(f"{path}: is not what {MANIFEST} says; {remedy}")


def _read_error(path: Path, error: OSError, remedy: str) -> UserError:
    if isinstance(error, FileNotFoundError | IsADirectoryError | NotADirectoryError):
        return DamagedFolder(f"{path}: is missing; {remedy}")
    if error.errno == errno.EIO:
        return DamagedFolder(f"{path}: cannot be read: {error.strerror}; {remedy}")
    return UserError(f"{path}: cannot be read: {error.strerror}")


def _compare(
    path: Path, actual: Mapping[str, object], manifest: Mapping[str, Any], remedy: str
) -> None:
    listed = manifest["files"].get(path.name, {})
    if any(actual[key] != listed.get(key) for key in actual):
        raise DamagedFolder(f"{path}: is not what {MANIFEST} says; {remedy}")
