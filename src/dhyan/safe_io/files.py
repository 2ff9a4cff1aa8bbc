"""Files of unknown origin: a plain file of a bounded size, or nothing is read."""

import os
import re
import stat
from pathlib import Path
from typing import IO

from dhyan.errors import UserError

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
KINDS = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
BLOCK = 512  # bytes, in which the room is counted that a file takes


class UnsafeFile(UserError):
    """Something is there, but not what may be read."""


def is_safe_name(text: object) -> bool:
    """Whether this names a file right here, by letters that look like nothing else."""
    return isinstance(text, str) and NAME.fullmatch(text) is not None and ".." not in text


def file_size(path: Path) -> int:
    """How many bytes a plain file has."""
    found = os.lstat(path)
    _check_kind(path, found)
    return found.st_size


def is_sparse(path: Path) -> bool:
    """Whether max_bytes of a file is a hole, which takes no room until someone reads it."""
    found = os.lstat(path)
    return 0 < found.st_blocks * BLOCK < found.st_size // 4  # some file systems count no blocks


def open_file(path: Path, *, max_bytes: int, follow_links: bool = False) -> IO[bytes]:
    """A plain file of at max_bytes so many bytes, open; a pipe or a device is never touched.

    A link is one only if it may be `follow_links`, as what a person names.
    """
    _check_kind(path, os.stat(path, follow_symlinks=follow_links))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        found = os.fstat(file.fileno())
        _check_kind(path, found)
        if found.st_size > max_bytes:
            raise UnsafeFile(
                f"{path}: has {found.st_size:,} bytes, more than the {max_bytes:,} it may"
            )
    except BaseException:
        file.close()
        raise
    return file


def read_file(path: Path, *, max_bytes: int, follow_links: bool = False) -> bytes:
    """All of a plain file, if that is no more than so many bytes."""
    with open_file(path, max_bytes=max_bytes, follow_links=follow_links) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UnsafeFile(f"{path}: grew while it was read, beyond {max_bytes:,} bytes")
    return data


def _check_kind(path: Path, found: os.stat_result) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        raise UnsafeFile(f"{path}: is {KINDS.get(kind, 'something else')}, not a file")
