"""Run folders: checkpoints written whole or not at all, and checked when they are read."""

import errno
import io
import logging
import os
import re
import shutil
import time
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import IO, Any

from dhyan import atomic_folder
from dhyan.atomic_folder import MANIFEST, DamagedFolder, sync, to_json_bytes
from dhyan.errors import UserError
from dhyan.safe_io.files import read_file
from dhyan.safe_io.json_toml import read_json
from dhyan.safe_io.safetensors_header import read_header

logger = logging.getLogger(__name__)

REMEDY = "the model is damaged: give another step-N of the run, or train again"
FACTS = {"step", "data_fingerprint", "device", "threads", "versions", "files"}
PREPARED = "validation.jsonl"  # lies beside the manifest of a prepared corpus, and of no model
SPARE, LEAST_KEPT = 1.1, 2  # a save needs so many times its size; so many checkpoints always stay
LONGEST_POINTER = 2**16
HALF = re.compile(r"tmp-((step|old)-\d+|best\.json|last\.json|metrics\.jsonl)")


class CheckpointWriteError(UserError):
    """A checkpoint that could not be written; those before it are as they were."""


def write_checkpoint(run: Path, step: int, files: Mapping[str, bytes], **facts: object) -> Path:
    """Write `step-N` beside the others: a folder that appears whole, with a manifest.

    One that is there and holds the same is only made sure of; any other is set aside first.
    """
    final = run / f"step-{step}"
    size = sum(map(len, files.values()))
    sums = {name: atomic_folder.checksum(data) for name, data in files.items()}
    try:
        if final.exists():
            if _holds(final, files):
                sync(run)
                return final
            _set_aside(final)
        _check_room(run, size)
        with atomic_folder.atomic_folder(final, half=run / f"tmp-step-{step}") as folder:
            for name, data in files.items():
                (folder / name).write_bytes(data)
            atomic_folder.write_manifest(folder, {"step": step, **facts}, sums)
    except OSError as error:
        reason = f"{error.strerror}; it needs {size:,} bytes"
        raise CheckpointWriteError(f"{final}: the checkpoint cannot be written: {reason}") from None
    return final


def read_checkpoint(folder: Path, *needed: str) -> dict[str, bytes]:
    """Every file of a checkpoint, after comparing each with the manifest's size and hash."""
    files = atomic_folder.read_files(folder, read_manifest(folder), remedy=REMEDY)
    for name in needed:
        if name not in files:
            raise DamagedFolder(f"{folder / MANIFEST}: lists no {name}; {REMEDY}")
    return files


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a checkpoint says it holds."""
    return atomic_folder.read_manifest(folder, FACTS, remedy=REMEDY)


def steps_in(run: Path) -> list[int]:
    """The steps of which a run folder holds a checkpoint, newest first."""
    named = (p.name.removeprefix("step-") for p in run.glob("step-*") if p.is_dir())
    return sorted((int(name) for name in named if name.isdecimal()), reverse=True)


def newest_valid_checkpoint(
    run: Path, needed: Iterable[str]
) -> tuple[Path, dict[str, bytes]] | None:
    """The newest checkpoint that can be trusted; of each damaged newer one is said what became."""
    damaged: dict[Path, str] = {}
    for step in steps_in(run):
        folder = run / f"step-{step}"
        try:
            files = read_checkpoint(folder, *needed)
        except DamagedFolder as fault:
            damaged[folder] = str(fault).removesuffix(f"; {REMEDY}")
        else:
            for one, why in damaged.items():
                logger.warning(f"{why}: skipped, now {_set_aside(one).name}; {folder.name} is used")
            return folder, files
    if damaged:
        newest = next(iter(damaged.values()))
        raise UserError(
            f"{run}: none of its {len(damaged)} checkpoints is whole ({newest}); name another --out"
        )
    return None


def find_checkpoint(folder: Path) -> Path:
    """The checkpoint meant by a path: a checkpoint itself, or a run's best, else its newest."""
    if (folder / MANIFEST).is_file() and (folder / PREPARED).is_file():
        use = f"train with --set data.prepared={folder}"
        raise UserError(f"{folder}: is a prepared corpus, not a model; {use}")
    if (folder / MANIFEST).is_file():
        return folder
    if not folder.is_dir():
        found = "is a file, not a model folder" if folder.exists() else "no such model folder"
        raise UserError(f"{folder}: {found}; give a run folder or one of its step-N")
    steps = steps_in(folder)
    if not steps:
        raise UserError(f"{folder}: holds no checkpoint (no step-N); train one with 'dhyan train'")
    for pointer in (folder / "best.json", folder / "last.json"):
        if not os.path.lexists(pointer):
            continue
        step = _pointed(pointer)
        if step not in steps:
            raise DamagedFolder(f"{pointer}: names no checkpoint of this run; name step-{steps[0]}")
        return folder / f"step-{step}"
    return folder / f"step-{steps[0]}"


def write_pointer(run: Path, name: str, step: int, **facts: object) -> None:
    """Let `best.json` or `last.json` name a checkpoint; replaced by rename."""
    replace_file(run / name, to_json_bytes({"checkpoint": f"step-{step}", "step": step, **facts}))


def replace_file(path: Path, data: bytes) -> None:
    """Change a small file in one move; where that fails it is as it was, and the error names it."""
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


def lock_run(run: Path, *, wait: bool = False) -> IO[bytes]:
    """Claim a run folder for as long as the returned file stays open, and sweep it.

    The claim ends with the process, however it ends; what one that was killed left half written
    is removed, and nothing else. With `wait`, the end of another run there is waited for.
    """
    try:
        run.mkdir(parents=True, exist_ok=True)
        claim = (run / "lock").open("a+b")
    except OSError as error:
        raise UserError(
            f"{run}: cannot be written to: {error.strerror}; name another --out"
        ) from None
    if not _got(claim):
        claim.seek(0)
        found = f"{run}: process {claim.read().decode() or 'unknown'} is training here"
        if not wait:
            claim.close()
            raise UserError(f"{found}; name another --out")
        logger.info(f"{found}: waiting for its end")
        _await(claim)
    claim.truncate(0)
    claim.write(str(os.getpid()).encode())
    claim.flush()
    for half in run.iterdir():
        if HALF.fullmatch(half.name):
            shutil.rmtree(half) if half.is_dir() else half.unlink()
    return claim


def delete_old_checkpoints(run: Path, *, keep: int, best: int | None) -> None:
    """Delete all but the newest `keep` checkpoints, two at least, and the best."""
    for step in steps_in(run)[max(keep, LEAST_KEPT) :]:
        if step != best:
            going = run / f"tmp-old-{step}"
            shutil.rmtree(going, ignore_errors=True)
            (run / f"step-{step}").rename(going)
            shutil.rmtree(going)


def tensors_to_bytes(tensors: Mapping[str, Any]) -> bytes:
    """Tensors in the safetensors format: no code runs when they are read."""
    from safetensors.torch import save

    return save({name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()})


def tensors_from_bytes(data: bytes) -> dict[str, Any]:
    """Tensors from the safetensors format, once its header is known to be sound."""
    from safetensors.torch import load

    read_header(io.BytesIO(data), len(data))
    return load(data)


def _holds(folder: Path, files: Mapping[str, bytes]) -> bool:
    """Whether a checkpoint is whole, and these are its files."""
    try:
        return read_checkpoint(folder) == files
    except UserError:
        return False


def _pointed(pointer: Path) -> int | None:
    """The step that best.json or last.json names, if both places where it does so agree."""
    try:
        facts = read_json(read_file(pointer, max_bytes=LONGEST_POINTER), finite=False)
        step, name = facts["step"], facts["checkpoint"]
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return step if type(step) is int and name == f"step-{step}" else None


def _got(claim: IO[bytes], tries: int = 5) -> bool:
    """Whether a claim was to be had; whoever only looks if it is taken holds it for a moment."""
    import fcntl

    for left in reversed(range(tries)):
        try:
            fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02 if left else 0)
        else:
            return True
    return False


def _await(claim: IO[bytes]) -> None:
    import fcntl

    fcntl.flock(claim, fcntl.LOCK_EX)


def _check_room(run: Path, size: int) -> None:
    """Refuse to begin what the disk has no room for."""
    free = shutil.disk_usage(run).free
    if free < SPARE * size:
        raise OSError(errno.ENOSPC, f"{free:,} bytes are free")


def _set_aside(folder: Path) -> Path:
    aside, number = folder.with_name(f"damaged-{folder.name}"), 1
    while aside.exists():
        number += 1
        aside = folder.with_name(f"damaged-{folder.name}-{number}")
    folder.rename(aside)
    return aside
