"""A result is a file: what was measured, on which machine, with which versions, at which commit."""

import json
import os
import platform
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("torch", "tokenizers", "numpy", "sacrebleu", "typer")


def write(what: str, figures: object) -> Path:
    """Keep what was measured here and now with everything needed to judge it."""
    facts = {
        "commit": git("rev-parse", "HEAD"),
        "changed_since": bool(git("status", "--porcelain", "--", "src")),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
        },
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "figures": figures,
    }
    return _kept(what, f"cpu{os.cpu_count()}", facts)


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


def _kept(what: str, where: str, facts: Mapping[str, Any]) -> Path:
    now = datetime.now(UTC)
    dated = {"what": what, "date": now.isoformat(timespec="seconds"), **facts}
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{what}_{where}_{now:%Y-%m-%d}.json"
    path.write_text(json.dumps(dated, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def newest(what: str) -> Path:
    """The newest result of its kind."""
    return max(RESULTS.glob(f"{what}_*.json"), key=lambda path: path.stem.rpartition("_")[2])


def git(*words: str) -> str:
    """What git says."""
    return subprocess.run(
        ["git", *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
