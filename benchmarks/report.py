"""A result is a file: what was measured, on which machine, with which versions, at which commit."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("torch", "tokenizers", "numpy", "sacrebleu", "typer")
PEERS = ("triton", "transformers")


def write(what: str, figures: object) -> Path:
    """Keep what was measured here and now with everything needed to judge it."""
    facts = {
        "commit": git("rev-parse", "HEAD"),
        "changed_since": bool(git("status", "--porcelain", "--", "src")),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "figures": figures,
    }
    return _kept(what, f"cpu{os.cpu_count()}", facts)


def write_beside(what: str, figures: object, *, accelerator: str, folder: Path) -> Path:
    """Keep a measurement made beside other libraries, also where there is no repository.

    There the commit is unknown: `keep` adds it where there is one.
    """
    try:
        commit, changed = git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", "src"))
    except (OSError, subprocess.CalledProcessError):
        commit, changed = None, None
    facts = {
        "commit": commit,
        "changed_since": changed,
        "machine": {**machine(), "accelerator": accelerator},
        "python": platform.python_version(),
        "versions": {name: found for name in (*PACKAGES, *PEERS) if (found := _version(name))},
        "figures": figures,
    }
    where = accelerator.split()[-1].lower() if accelerator else f"cpu{os.cpu_count()}"
    return _kept(what, where, facts, folder)


def keep(folder: Path, commit: str) -> list[Path]:
    """Take up the results that another machine has brought, made of this commit."""
    kept = []
    for path in sorted(folder.glob("*_*_*.json")):
        facts = json.loads(path.read_text(encoding="utf-8"))
        facts |= {"commit": facts["commit"] or git("rev-parse", commit)}
        kept.append(RESULTS / path.name)
        _dump(kept[-1], facts)
    return kept


def machine() -> dict[str, Any]:
    """What this machine is."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()}


def write_brought(what: str, figures: Mapping[str, Any], *, where: str, commit: str) -> Path:
    """Keep figures that another machine has brought: they say themselves where they are of.

    Whether that machine had the commit and nothing else cannot be known here.
    """
    versions = dict(figures["versions"])
    facts = {
        "commit": git("rev-parse", commit),
        "changed_since": None,
        "machine": figures["machine"],
        "python": versions.pop("python"),
        "versions": versions,
        "figures": figures,
    }
    return _kept(what, where, facts)


def _kept(what: str, where: str, facts: Mapping[str, Any], folder: Path | None = None) -> Path:
    now, folder = datetime.now(UTC), folder or RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{what}_{where}_{now:%Y-%m-%d}.json"
    _dump(path, {"what": what, "date": now.isoformat(timespec="seconds"), **facts})
    return path


def _dump(path: Path, facts: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def newest(what: str, folder: Path | None = None) -> Path:
    """The newest result of its kind."""
    found = (folder or RESULTS).glob(f"{what}_*.json")
    return max(found, key=lambda path: path.stem.rpartition("_")[2])


def git(*words: str) -> str:
    """What git says."""
    return subprocess.run(
        ["git", *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return ""


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
