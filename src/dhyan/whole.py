"""Folders that appear whole or not at all."""

import fcntl
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dhyan.faults import Fault


@contextmanager
def whole_folder(out: Path) -> Iterator[Path]:
    """A folder to write into, which takes the name `out` once all is written and on the disk.

    If anything goes wrong it is removed; what a killed process left is swept by the next one.
    """
    temporary = out.with_name(f"tmp-{out.name}")
    try:
        with _claimed(temporary, out):
            try:
                yield temporary
                for path in (*temporary.iterdir(), temporary):
                    _sync(path)
                temporary.rename(out)
                _sync(out.parent)
            except BaseException:
                shutil.rmtree(temporary, ignore_errors=True)
                raise
    except OSError as error:
        where = error.filename or out
        raise Fault(
            f"{where}: cannot be written: {error.strerror}; see to it, or name another --out"
        ) from None


@contextmanager
def _claimed(temporary: Path, out: Path) -> Iterator[None]:
    """Hold a folder, emptied, for as long as this process writes into it."""
    temporary.mkdir(parents=True, exist_ok=True)
    descriptor = os.open(temporary, os.O_RDONLY)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            mine = temporary.stat().st_ino == os.fstat(descriptor).st_ino
        except (BlockingIOError, FileNotFoundError):
            mine = False
        if not mine:  # held by another, or renamed by it in this moment
            raise Fault(f"{out}: another process is writing it; wait for it, or name another --out")
        for left in temporary.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        yield
    finally:
        os.close(descriptor)


def _sync(path: Path) -> None:
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
