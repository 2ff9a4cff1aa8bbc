"""Checkpoints: atomic writing, verification by SHA-256, best and last pointers, run lock."""

import errno
import io
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from importlib import import_module
from pathlib import Path
from typing import IO, Any

from dhyan import atomic_folder
from dhyan.atomic_folder import MANIFEST, DamagedFolder, sync, to_json_bytes
from dhyan.errors import UserError, spell, spell_option, spell_setting
from dhyan.pretrained import model_folder, suggest_name
from dhyan.quantization import dequantize
from dhyan.safe_io.bounded_files import read_file
from dhyan.safe_io.json_toml import read_json
from dhyan.safe_io.pickled import is_pickled, pickled_files, refuse_pickled
from dhyan.safe_io.safetensors_header import read_header

logger = logging.getLogger(__name__)

REMEDY = "the model is damaged: give another step-N of the run, or train again"
FACTS = {"step", "data_fingerprint", "device", "threads", "versions", "files"}
PREPARED_CORPUS_FILE = "validation.jsonl"  # a prepared corpus has it, a model does not
FREE_SPACE_FACTOR = 1.1  # free disk space that a checkpoint needs, in times its size
MIN_CHECKPOINTS = 2  # that are never deleted
MAX_POINTER_BYTES = 2**16
IMPORTER = "dhyan.interop.import_cache"
START_RECIPE = "start.toml"  # the recipe of a run that has no checkpoint yet
TEMPORARY = re.compile(r"tmp-((step|old)-\d+|best\.json|last\.json|metrics\.jsonl|start\.toml)")


class CheckpointWriteError(UserError):
    """A checkpoint that could not be written; earlier ones are unchanged."""


def write_checkpoint(run: Path, step: int, files: Mapping[str, bytes], **facts: object) -> Path:
    """Write the checkpoint folder `step-N` atomically, with a manifest of hashes.

    If it exists with the same files it is only synced; with other files it is moved aside first.
    """
    final = run / f"step-{step}"
    size = sum(map(len, files.values()))
    checksums = {name: atomic_folder.checksum(data) for name, data in files.items()}
    try:
        if final.exists():
            if _holds(final, files):
                sync(run)
                return final
            _move_aside(final)
        _check_free_space(run, size)
        with atomic_folder.atomic_folder(final, temporary=run / f"tmp-step-{step}") as folder:
            for name, data in files.items():
                (folder / name).write_bytes(data)
            atomic_folder.write_manifest(folder, {"step": step, **facts}, checksums)
    except OSError as error:
        reason = f"{error.strerror}; it needs {size:,} bytes"
        raise CheckpointWriteError(f"{final}: the checkpoint cannot be written: {reason}") from None
    return final


def read_checkpoint(folder: Path, *needed: str) -> dict[str, bytes]:
    """The files of a checkpoint, each compared with its size and hash in the manifest."""
    files = atomic_folder.read_files(folder, read_manifest(folder), remedy=REMEDY)
    for name in needed:
        if name not in files:
            raise DamagedFolder(f"{folder / MANIFEST}: lists no {name}; {REMEDY}")
    return files


def read_manifest(folder: Path) -> dict[str, Any]:
    """The manifest of a checkpoint."""
    return atomic_folder.read_manifest(folder, FACTS, remedy=REMEDY)


def steps_in(run: Path) -> list[int]:
    """The steps of the checkpoints in a run folder, newest first."""
    names = (path.name.removeprefix("step-") for path in run.glob("step-*") if path.is_dir())
    return sorted((int(name) for name in names if name.isdecimal()), reverse=True)


def is_run(folder: Path) -> bool:
    """Whether a training run was started in this folder, even if it has no checkpoint yet."""
    started = any((folder / name).is_file() for name in ("lock", START_RECIPE, "last.json"))
    return started or bool(steps_in(folder))


def check_run(folder: Path) -> None:
    """Refuse to resume a folder in which no run was started."""
    if not is_run(folder):
        problem = "is not a run folder" if folder.exists() else "does not exist"
        command = spell(
            command_line="dhyan train RUN_FOLDER --resume", python="dhyan.resume(RUN_FOLDER)"
        )
        raise UserError(
            f"nothing to resume: {folder} {problem}; name the run's folder ({command}), or start "
            f"a run without {spell_option('resume')}"
        )


def newest_valid_checkpoint(
    run: Path, needed: Iterable[str]
) -> tuple[Path, dict[str, bytes]] | None:
    """The newest undamaged checkpoint and its files; damaged newer ones are moved aside and logged."""
    damaged: dict[Path, str] = {}
    for step in steps_in(run):
        folder = run / f"step-{step}"
        try:
            files = read_checkpoint(folder, *needed)
        except DamagedFolder as error:
            damaged[folder] = str(error).removesuffix(f"; {REMEDY}")
        else:
            for path, reason in damaged.items():
                moved = _move_aside(path)
                logger.warning(f"{reason}: skipped, now {moved.name}; {folder.name} is used")
            return folder, files
    if damaged:
        newest = next(iter(damaged.values()))
        raise UserError(
            f"{run}: none of its {len(damaged)} checkpoints is whole ({newest}); name another "
            f"{spell_option('out')}"
        )
    return None


def find_checkpoint(model: str | Path) -> Path:
    """The checkpoint of a model: the folder itself, or of a run folder the best, else the newest.

    A text may be the name of a pretrained model. Of a folder in another toolkit's format it is what
    an import of it gives.
    """
    folder = model_folder(model)
    if (folder / MANIFEST).is_file() and (folder / PREPARED_CORPUS_FILE).is_file():
        use = f"train with {spell_setting('data.prepared', str(folder))}"
        raise UserError(f"{folder}: is a prepared corpus, not a model; {use}")
    if (folder / MANIFEST).is_file():
        return folder
    if folder.is_file() and is_pickled(folder):
        raise UserError(refuse_pickled(folder))
    if not folder.is_dir():
        problem = "is a file, not a model folder" if folder.exists() else "no such model folder"
        raise UserError(
            f"{folder}: {problem}; give a run folder or one of its step-N{suggest_name(model)}"
        )
    steps = steps_in(folder)
    if not steps:
        return _import_foreign(folder)
    for pointer in (folder / "best.json", folder / "last.json"):
        if not os.path.lexists(pointer):
            continue
        step = _read_pointer(pointer)
        if step not in steps:
            raise DamagedFolder(f"{pointer}: names no checkpoint of this run; name step-{steps[0]}")
        return folder / f"step-{step}"
    return folder / f"step-{steps[0]}"


def _import_foreign(folder: Path) -> Path:
    """What an import of a folder without checkpoints gives; an error if it is no model at all."""
    if is_foreign(folder):
        # importers build models, so they stand above this layer, and are found by name
        imported: Path = import_module(IMPORTER).imported_folder(folder)
        return imported
    if pickled := pickled_files(folder):
        raise UserError(refuse_pickled(pickled[0]))
    train = spell(command_line="dhyan train", python="dhyan.train")
    raise UserError(f"{folder}: holds no checkpoint (no step-N); train one with {train}")


def is_foreign(folder: Path) -> bool:
    """Whether a folder has the files of a model of CTranslate2 or of Hugging Face."""
    if (folder / "model.bin").is_file():
        return True
    return (folder / "config.json").is_file() and any(folder.glob("*.safetensors"))


def write_pointer(run: Path, name: str, step: int, **facts: object) -> None:
    """Write `best.json` or `last.json`, which names a checkpoint, atomically."""
    replace_file(run / name, to_json_bytes({"checkpoint": f"step-{step}", "step": step, **facts}))


def replace_file(path: Path, data: bytes) -> None:
    """Replace a small file atomically; if that fails it is unchanged, and the error names it."""
    temporary = path.with_name(f"tmp-{path.name}")
    try:
        temporary.write_bytes(data)
        sync(temporary)
        temporary.rename(path)
        sync(path.parent)
    except OSError as error:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        error.filename = error.filename or str(path)
        raise


def check_unlocked(run: Path, *, resume: bool) -> None:
    """Raise an error if another process is training in a run folder, before any data are read."""
    if (run / "lock").is_file():
        with suppress(OSError), (run / "lock").open("a+b") as lock:
            if not _try_lock(lock):
                raise _locked(run, lock, resume=resume)


def _locked(run: Path, lock: IO[bytes], *, resume: bool) -> UserError:
    remedy = f"name another {spell_option('out')}"
    if resume:
        remedy = f"to resume when it ends, add {spell_option('wait', True)}; else {remedy}"
    return UserError(f"{_lock_holder(run, lock)}; {remedy}")


def _lock_holder(run: Path, lock: IO[bytes]) -> str:
    lock.seek(0)
    return f"{run}: process {lock.read().decode() or 'unknown'} is training here"


def lock_run(run: Path, *, wait: bool = False, resume: bool = False) -> IO[bytes]:
    """Lock a run folder for as long as the returned file stays open, and remove temporary files.

    The lock ends with the process, however it ends. With `wait`, another process that holds it is
    waited for.
    """
    try:
        run.mkdir(parents=True, exist_ok=True)
        lock = (run / "lock").open("a+b")
    except OSError as error:
        raise UserError(
            f"{run}: cannot be written to: {error.strerror}; name another {spell_option('out')}"
        ) from None
    if not _try_lock(lock):
        if not wait:
            with lock:
                raise _locked(run, lock, resume=resume)
        logger.info(f"{_lock_holder(run, lock)}: waiting for its end")
        _wait_for_lock(lock)
    lock.truncate(0)
    lock.write(str(os.getpid()).encode())
    lock.flush()
    for path in run.iterdir():
        if TEMPORARY.fullmatch(path.name):
            shutil.rmtree(path) if path.is_dir() else path.unlink()
    return lock


def delete_old_checkpoints(run: Path, *, keep: int, best: int | None) -> None:
    """Delete all but the newest `keep` checkpoints, two at least, and the best."""
    for step in steps_in(run)[max(keep, MIN_CHECKPOINTS) :]:
        if step != best:
            temporary = run / f"tmp-old-{step}"
            shutil.rmtree(temporary, ignore_errors=True)
            (run / f"step-{step}").rename(temporary)
            shutil.rmtree(temporary)


def tensors_to_bytes(tensors: Mapping[str, Any]) -> bytes:
    """Tensors in the safetensors format: no code runs when they are read."""
    from safetensors.torch import save

    return save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def tensors_from_bytes(data: bytes) -> dict[str, Any]:
    """Tensors from the safetensors format, after checking its header."""
    from safetensors.torch import load

    read_header(io.BytesIO(data), len(data))
    return load(data)


def weights_from_bytes(data: bytes) -> dict[str, Any]:
    """The weights of a model in float32, whatever precision they are stored in."""
    return dequantize(tensors_from_bytes(data))


def _holds(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Whether a checkpoint is undamaged and has exactly these files."""
    try:
        return read_checkpoint(folder) == files
    except UserError:
        return False


def _read_pointer(pointer: Path) -> int | None:
    """The step that best.json or last.json names, if its two keys agree."""
    try:
        facts = read_json(read_file(pointer, max_bytes=MAX_POINTER_BYTES), finite=False)
        step, name = facts["step"], facts["checkpoint"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return step if type(step) is int and name == f"step-{step}" else None


def _try_lock(lock: IO[bytes], tries: int = 5) -> bool:
    """Take the lock if it is free; a process that only tests it holds it for a moment."""
    import fcntl

    for left in reversed(range(tries)):
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02 if left else 0)
        else:
            return True
    return False


def _wait_for_lock(lock: IO[bytes]) -> None:
    import fcntl

    fcntl.flock(lock, fcntl.LOCK_EX)


def _check_free_space(run: Path, size: int) -> None:
    """Refuse a checkpoint that does not fit on the disk."""
    free = shutil.disk_usage(run).free
    if free < FREE_SPACE_FACTOR * size:
        raise OSError(errno.ENOSPC, f"{free:,} bytes are free")


def _move_aside(folder: Path) -> Path:
    """Rename a damaged checkpoint to `damaged-step-N`."""
    moved, number = folder.with_name(f"damaged-{folder.name}"), 1
    while moved.exists():
        number += 1
        moved = folder.with_name(f"damaged-{folder.name}-{number}")
    folder.rename(moved)
    return moved
