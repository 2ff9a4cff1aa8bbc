"""Files compressed by gzip, xz or zstd, opened by their suffix."""

import gzip
import lzma
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

from dhyan.errors import UserError

ZSTD = (
    "compression.zstd",
    "backports.zstd",
)  # the standard module of Python 3.14, and its backport


def open_zstd(path: Path, mode: Literal["rb"]) -> Any:
    """A file compressed by zstd, of one frame or several."""
    if sys.version_info >= (3, 14):
        from compression import zstd
    else:
        try:
            from backports import zstd
        except ImportError:
            remedy = "install it with `pip install backports.zstd`, or decompress the file"
            raise UserError(f"{path}: .zst needs the package backports.zstd; {remedy}") from None
    return zstd.open(path, mode)


OPENERS: dict[str, Callable[..., Any]] = {".gz": gzip.open, ".xz": lzma.open, ".zst": open_zstd}


def decompression_errors() -> tuple[type[Exception], ...]:
    """The exceptions that reading a damaged compressed file raises."""
    loaded = (sys.modules[name].ZstdError for name in ZSTD if sys.modules.get(name))
    return EOFError, zlib.error, lzma.LZMAError, gzip.BadGzipFile, *loaded
