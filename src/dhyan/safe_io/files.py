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


class Strange(UserError):
    """Something is there, but not what may be read."""


def is_name(text: object) -> bool:
    """Whether this names a file right here, by letters that look like nothing else."""
    return isinstance(text, str) and NAME.fullmatch(text) is not None and ".." not in text


def size_of(path: Path) -> int:
    """How many bytes a plain file has."""
    found = os.lstat(path)
    _check_kind(path, found)
    return found.st_size


def is_hollow(path: Path) -> bool:
    """Whether most of a file is a hole, which takes no room until someone reads it."""
    found = os.lstat(path)
    return 0 < found.st_blocks * BLOCK < found.st_size // 4  # some file systems count no blocks


def open_file(path: Path, *, most: int, linked: bool = False) -> IO[bytes]:
    """A plain file of at most so many bytes, open; a pipe or a device is never touched.

    A link is one only if it may be `linked`, as what a person names.
    """
    _check_kind(path, os.stat(path, follow_symlinks=linked))
    flags = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | (0 if linked else os.O_NOFOLLOW)
    file = os.fdopen(os.open(path, flags), "rb")
    try:
        found = os.fstat(file.fileno())
        _check_kind(path, found)
        if found.st_size > most:
            raise Strange(f"{path}: has {found.st_size:,} bytes, more than the {most:,} it may")
    except BaseException:
        file.close()
        raise
    return file


def read_file(path: Path, *, most: int, linked: bool = False) -> bytes:
    """All of a plain file, if that is no more than so many bytes."""
    with open_file(path, most=most, linked=linked) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise Strange(f"{path}: grew while it was read, beyond {most:,} bytes")
    return data


def _check_kind(path: Path, found: os.stat_result) -> None:
    kind = stat.S_IFMT(found.st_mode)
    if kind != stat.S_IFREG:
        raise Strange(f"{path}: is {KINDS.get(kind, 'something else')}, not a file")
