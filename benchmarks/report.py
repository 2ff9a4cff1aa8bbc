"""A result is a file: what was measured, on which machine, with which versions, at which commit."""

import json
import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

RESULTS = Path(__file__).parent / "results"
PACKAGES = ("torch", "tokenizers", "numpy", "sacrebleu", "typer")


def write(what: str, figures: object, *, where: str = "", commit: str = "") -> Path:
    """Keep figures with everything needed to judge them.

    `where` and `commit` are of figures that another machine has brought.
    """
    now = datetime.now(UTC)
    facts = {
        "what": what,
        "date": now.isoformat(timespec="seconds"),
        "commit": _git("rev-parse", commit or "HEAD"),
        "changed_since": not commit and bool(_git("status", "--porcelain", "--", "src")),
        "machine": {
            "processor": _processor(),
            "cores": os.cpu_count(),
            "system": platform.system(),
        },
        "python": platform.python_version(),
        "versions": {name: version(name) for name in PACKAGES},
        "figures": figures,
    }
    RESULTS.mkdir(exist_ok=True)
    path = RESULTS / f"{what}_{where or f'cpu{os.cpu_count()}'}_{now:%Y-%m-%d}.json"
    path.write_text(json.dumps(facts, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")
    return path


def _git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], capture_output=True, text=True, check=True
    ).stdout.strip()


def _processor() -> str:
    lines = Path("/proc/cpuinfo").read_text().splitlines() if Path("/proc/cpuinfo").exists() else []
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.processor()
