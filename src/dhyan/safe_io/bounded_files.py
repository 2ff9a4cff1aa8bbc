"""Bounded file reading for files of unknown origin: regular files up to a maximum size only."""

import os
import re
import stat
from pathlib import Path
from typing import IO

from dhyan.errors import UserError

NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,63}", re.ASCII)
FILE_TYPES = {
    stat.S_IFLNK: "a link",
    stat.S_IFDIR: "a folder",
    stat.S_IFIFO: "a pipe",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}
BLOCK_BYTES = 512  # the unit of st_blocks


class UnsafeFile(UserError):
    """A path that is not a regular file, or a file larger than allowed."""


def is_safe_name(text: object) -> bool:
    """Whether a text is a plain file name: ASCII, no folders, no `..`."""
    return isinstance(text, str) and NAME.fullmatch(text) is not None and ".." not in text


def file_size(path: Path) -> int:
    """Size of a regular file, in bytes."""
    status = os.lstat(path)
    _check_regular(path, status)
    return status.st_size


def is_sparse(path: Path) -> bool:
    """Whether most of a file is a hole, which takes no disk space."""
    status = os.lstat(path)
    return 0 < status.st_blocks * BLOCK_BYTES < status.st_size // 4  # 0 where it is not counted


def open_file(path: Path, *, max_bytes: int, follow_links: bool = False) -> IO[bytes]:
    """Open a regular file of at most `max_bytes`; a pipe or a device is never opened.

    Symbolic links are refused, unless `follow_links`, for a path that a person named.
    """
    _check_regular(path, os.stat(path, follow_symlinks=follow_links))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if follow_links else os.O_NOFOLLOW)
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        status = os.fstat(file.fileno())
        _check_regular(path, status)
        if status.st_size > max_bytes:
            raise UnsafeFile(
                f"{path}: has {status.st_size:,} bytes, more than the {max_bytes:,} it may"
            )
    except BaseException:
        file.close()
        raise
    return file


def read_file(path: Path, *, max_bytes: int, follow_links: bool = False) -> bytes:
    """The bytes of a regular file of at most `max_bytes`."""
    with open_file(path, max_bytes=max_bytes, follow_links=follow_links) as file:
        data = file.read(max_bytes + 1)
    if len(data) > max_bytes:
        raise UnsafeFile(f"{path}: grew while it was read, beyond {max_bytes:,} bytes")
    return data


def _check_regular(path: Path, status: os.stat_result) -> None:
    file_type = stat.S_IFMT(status.st_mode)
    if file_type != stat.S_IFREG:
        raise UnsafeFile(f"{path}: is {FILE_TYPES.get(file_type, 'something else')}, not a file")
