"""Run folders: checkpoints written whole or not at all, and checked when they are read."""

import json
import os
import re
import shutil
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import IO, Any

from dhyan import whole
from dhyan.faults import Fault
from dhyan.whole import MANIFEST, Damaged, as_json, sync

REMEDY = "the model is damaged: give another step-N of the run, or train again"
FACTS = {"step", "data", "device", "threads", "versions", "files"}
PREPARED = "validation.jsonl"  # lies beside the manifest of a prepared corpus, and of no model
HALF = re.compile(r"tmp-((step|old)-\d+|best\.json|last\.json|metrics\.jsonl)")


def write_checkpoint(run: Path, step: int, files: Mapping[str, bytes], **facts: object) -> Path:
    """Write `step-N` beside the others: a folder that appears whole, with a manifest."""
    final = run / f"step-{step}"
    if final.exists():
        raise FileExistsError(f"{final} exists already; a checkpoint is never written over")
    sums = {name: whole.sum_of(data) for name, data in files.items()}
    try:
        with whole.whole_folder(final, half=run / f"tmp-step-{step}") as folder:
            for name, data in files.items():
                (folder / name).write_bytes(data)
            whole.write_manifest(folder, {"step": step, **facts}, sums)
    except OSError as error:
        size = sum(map(len, files.values()))
        reason = f"{error.strerror}; it needs {size:,} bytes"
        raise Fault(f"{final}: the checkpoint cannot be written: {reason}") from None
    return final


def read_checkpoint(folder: Path, *needed: str) -> dict[str, bytes]:
    """Every file of a checkpoint, after comparing each with the manifest's size and hash."""
    files = whole.read_files(folder, read_manifest(folder), remedy=REMEDY)
    for name in needed:
        if name not in files:
            raise Damaged(f"{folder / MANIFEST}: lists no {name}; {REMEDY}")
    return files


def read_manifest(folder: Path) -> dict[str, Any]:
    """What a checkpoint says it holds."""
    return whole.read_manifest(folder, FACTS, remedy=REMEDY)


def steps_in(run: Path) -> list[int]:
    """The steps of which a run folder holds a checkpoint, newest first."""
    named = (p.name.removeprefix("step-") for p in run.glob("step-*") if p.is_dir())
    return sorted((int(name) for name in named if name.isdecimal()), reverse=True)


def newest_whole(
    run: Path, needed: Iterable[str], say: Callable[[str], None]
) -> tuple[Path, dict[str, bytes]] | None:
    """The newest checkpoint that can be trusted; damaged newer ones are named and set aside."""
    damaged: list[Path] = []
    for step in steps_in(run):
        folder = run / f"step-{step}"
        try:
            files = read_checkpoint(folder, *needed)
        except Damaged as fault:
            say(str(fault).replace(REMEDY, "it is damaged, trying the one before"))
            damaged.append(folder)
        else:
            for one in damaged:
                say(f"set {one} aside as {_set_aside(one).name}")
            return folder, files
    if damaged:
        raise Fault(f"{run}: none of its {len(damaged)} checkpoints is whole; name another --out")
    return None


def find_checkpoint(folder: Path) -> Path:
    """The checkpoint meant by a path: a checkpoint itself, or a run's best, else its newest."""
    if (folder / MANIFEST).is_file() and (folder / PREPARED).is_file():
        use = f"train with --set data.prepared={folder}"
        raise Fault(f"{folder}: is a prepared corpus, not a model; {use}")
    if (folder / MANIFEST).is_file():
        return folder
    if not folder.is_dir():
        found = "is a file, not a model folder" if folder.exists() else "no such model folder"
        raise Fault(f"{folder}: {found}; give a run folder or one of its step-N")
    steps = steps_in(folder)
    if not steps:
        raise Fault(f"{folder}: holds no checkpoint (no step-N); train one with 'dhyan train'")
    for pointer in (folder / "best.json", folder / "last.json"):
        if not pointer.exists():
            continue
        try:
            step = json.loads(pointer.read_bytes())["step"]
        except (OSError, ValueError, KeyError, TypeError):
            step = None
        if type(step) is not int or step not in steps:
            raise Damaged(f"{pointer}: names no checkpoint of this run; name step-{steps[0]}")
        return folder / f"step-{step}"
    return folder / f"step-{steps[0]}"


def point(run: Path, name: str, step: int, **facts: object) -> None:
    """Let `best.json` or `last.json` name a checkpoint; replaced by rename."""
    replace_file(run / name, as_json({"checkpoint": f"step-{step}", "step": step, **facts}))


def replace_file(path: Path, data: bytes) -> None:
    """Change a small file in one move."""
    temporary = path.with_name(f"tmp-{path.name}")
    temporary.write_bytes(data)
    sync(temporary)
    temporary.rename(path)
    sync(path.parent)


def take_hold(run: Path) -> IO[bytes]:
    """Claim a run folder for as long as the returned file stays open, and sweep it.

    The claim ends with the process, however it ends; what one that was killed left half written
    is removed, and nothing else.
    """
    import fcntl

    try:
        run.mkdir(parents=True, exist_ok=True)
        claim = (run / "lock").open("a+b")
    except OSError as error:
        raise Fault(f"{run}: cannot be written to: {error.strerror}; name another --out") from None
    try:
        fcntl.flock(claim, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        claim.seek(0)
        holder = claim.read().decode() or "unknown"
        claim.close()
        raise Fault(f"{run}: process {holder} is training here; name another --out") from None
    claim.truncate(0)
    claim.write(str(os.getpid()).encode())
    claim.flush()
    for half in run.iterdir():
        if HALF.fullmatch(half.name):
            shutil.rmtree(half) if half.is_dir() else half.unlink()
    return claim


def forget_old(run: Path, *, keep: int, best: int | None) -> None:
    """Delete all but the newest `keep` checkpoints and the best."""
    for step in steps_in(run)[keep:]:
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
    """Tensors from the safetensors format."""
    from safetensors.torch import load

    return load(data)


def _set_aside(folder: Path) -> Path:
    aside, number = folder.with_name(f"damaged-{folder.name}"), 1
    while aside.exists():
        number += 1
        aside = folder.with_name(f"damaged-{folder.name}-{number}")
    folder.rename(aside)
    return aside
