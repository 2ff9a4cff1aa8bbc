"""Files packed by gzip, xz or zstd, opened by the end of their names."""

import gzip
import lzma
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from dhyan.errors import UserError

ZSTD = ("compression.zstd", "backports.zstd")  # Python's own from 3.14 on, and the same for before


def open_zstd(path: Path, mode: Literal["rb"]) -> Any:
    """A file packed by zstd, of one frame or of many."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        try:
            from backports import zstd
        except ImportError:
            remedy = "install it with `pip install backports.zstd`, or unpack the file"
            raise UserError(f"{path}: .zst needs the package backports.zstd; {remedy}") from None
    return zstd.open(path, mode)


OPEN: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".zst": open_zstd}


def signs_of_damage() -> tuple[type[Exception], ...]:
    """What reading a broken file raises, in any of the packings."""
    loaded = (sys.modules[name].ZstdError for name in ZSTD if sys.modules.get(name))
    return EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, *loaded
