"""Result files: what was measured, on which machine, with which versions, at which commit."""

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


def write_result(what: str, figures: object) -> Path:
    """Write the result file of a benchmark that ran here, on the CPU."""
    result = {
        "commit": git("rev-parse", "HEAD"),
        "changed_since": bool(git("status", "--porcelain", "--", "src")),
        "machine": machine(),
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "figures": figures,
    }
    return _write(what, f"cpu{os.cpu_count()}", result)


def write_device_result(what: str, figures: object, *, accelerator: str, folder: Path) -> Path:
    """Write the result file of a benchmark on an accelerator, also outside a repository.

    There the commit is unknown: `import_results` adds it.
    """
    try:
        commit, changed = git("rev-parse", "HEAD"), bool(git("status", "--porcelain", "--", "src"))
    except (OSError, subprocess.CalledProcessError):
        commit, changed = None, None
    result = {
        "commit": commit,
        "changed_since": changed,
        "machine": {**machine(), "accelerator": accelerator},
        "python": platform.python_version(),
        "versions": {name: number for name in (*PACKAGES, *PEERS) if (number := _version(name))},
        "figures": figures,
    }
    where = accelerator.split()[-1].lower() if accelerator else f"cpu{os.cpu_count()}"
    return _write(what, where, result, folder)


def import_results(folder: Path, commit: str) -> list[Path]:
    """Copy result files of another machine; those without a commit get this one."""
    imported = []
    for path in sorted(folder.glob("*_*_*.json")):
        result = json.loads(path.read_text(encoding="utf-8"))
        result |= {"commit": result["commit"] or git("rev-parse", commit)}
        imported.append(RESULTS / path.name)
        _write_json(imported[-1], result)
    return imported


def machine() -> dict[str, Any]:
    """Processor, cores and operating system."""
    return {"processor": _processor(), "cores": os.cpu_count(), "system": platform.system()}


def write_imported(
    what: str,
    figures: Mapping[str, Any],
    *,
    where: str,
    commit: str,
    folder: Path | None = None,
) -> Path:
    """Write the result file of figures measured elsewhere, with the machine they name.

    Whether that machine had uncommitted changes is unknown.
    """
    versions = dict(figures["versions"])
    result = {
        "commit": git("rev-parse", commit),
        "changed_since": None,
        "machine": figures["machine"],
        "python": versions.pop("python"),
        "versions": versions,
        "figures": figures,
    }
    return _write(what, where, result, folder)


def _write(what: str, where: str, result: Mapping[str, Any], folder: Path | None = None) -> Path:
    now, folder = datetime.now(UTC), folder or RESULTS
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{what}_{where}_{now:%Y-%m-%d}.json"
    _write_json(path, {"what": what, "date": now.isoformat(timespec="seconds"), **result})
    return path


def _write_json(path: Path, result: Mapping[str, Any]) -> None:
    path.write_text(json.dumps(result, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def newest(what: str, folder: Path | None = None) -> Path:
    """The newest result file of a benchmark."""
    paths = (folder or RESULTS).glob(f"{what}_*.json")
    return max(paths, key=lambda path: path.stem.rpartition("_")[2])


def replace_block(page: Path, begin: str, end: str, text: str) -> None:
    """Put a text between two marks of a page."""
    before, _, rest = page.read_text(encoding="utf-8").partition(begin)
    page.write_text(f"{before}{begin}\n{text}{end}{rest.partition(end)[2]}", encoding="utf-8")


def block_of(page: Path, begin: str, end: str) -> str:
    """The text between two marks of a page."""
    return page.read_text(encoding="utf-8").partition(begin)[2].partition(end)[0]


def git(*arguments: str) -> str:
    """Output of a git command."""
    return subprocess.run(
        ["git", *arguments], capture_output=True, text=True, check=True
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
