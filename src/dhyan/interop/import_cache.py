"""A folder of another toolkit named as a model: it is imported once, into a cache by its content."""

import fcntl
import hashlib
import logging
import os
from pathlib import Path

from dhyan.atomic_folder import MANIFEST
from dhyan.errors import UserError
from dhyan.interop.foreign_folder import MAX_WEIGHTS_BYTES
from dhyan.interop.import_model import import_model
from dhyan.safe_io.bounded_files import open_file
from dhyan.version import __version__

logger = logging.getLogger(__name__)

VARIABLE = "DHYAN_CACHE"  # of the environment: the folder to use instead of ~/.cache/dhyan
BLOCK_BYTES = 2**22
READ = (
    ".json",
    ".txt",
    ".spm",
    ".model",
    ".safetensors",
)  # beside model.bin: files that importers read


def imported_folder(folder: Path) -> Path:
    """The model folder that an import of `folder` gives; an earlier one of the same content is used."""
    out = cache_folder() / "imported" / _content_key(folder) / folder.absolute().name
    if (out / MANIFEST).is_file():
        return out
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        with (out.parent / "lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)  # another process may be importing it now
            if not (out / MANIFEST).is_file():
                import_model(folder, out)
                logger.info(f"{folder}: imported into {out}")
    except OSError as error:
        raise UserError(
            f"{out}: cannot be written: {error.strerror}; set {VARIABLE} to another folder, or "
            f"import {folder} with dhyan import"
        ) from None
    return out


def cache_folder() -> Path:
    """The folder of what can be made again: DHYAN_CACHE, else dhyan in XDG_CACHE_HOME or ~/.cache."""
    if own := os.environ.get(VARIABLE):
        return Path(own)
    try:
        return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "dhyan"
    except RuntimeError:
        raise UserError(f"there is no home folder for a cache; set {VARIABLE}") from None


def _content_key(folder: Path) -> str:
    """SHA-256 of the names and contents of all files that an import may read, and of our version."""
    key = hashlib.sha256(__version__.encode())
    for path in sorted(folder.iterdir()):
        if path.suffix in READ or path.name == "model.bin":
            content = hashlib.sha256()
            with open_file(path, max_bytes=MAX_WEIGHTS_BYTES) as file:
                while block := file.read(BLOCK_BYTES):
                    content.update(block)
            key.update(f"{path.name} {content.hexdigest()}\n".encode())
    return key.hexdigest()[:32]
