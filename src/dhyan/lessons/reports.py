"""A report of `dhyan compare`, read for a lesson: its own folder, its file, or a kept result."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dhyan.errors import UserError

HOW = "`dhyan compare --ladder --quick --data primer --out ladder` makes ladder/report.json"
Facts = Mapping[str, Any]


def read_report(report: str | Path) -> tuple[Path, Facts]:
    """Where a report was found, and what it says: one by itself, or inside a result file."""
    path = Path(str(report))
    file = path / "report.json" if path.is_dir() else path
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise UserError(f"report: {file} cannot be read ({error.strerror}); {HOW}") from None
    except ValueError:
        raise UserError(f"report: {file} is not JSON; {HOW}") from None
    for inside in ("figures", "report"):
        found = found.get(inside, found) if isinstance(found, dict) else {}
    if not isinstance(found, dict) or not isinstance(found.get("models"), dict):
        raise UserError(f"report: {file} compares no models; {HOW}")
    return path, found


def main_test(found: Facts, model: str) -> Facts:
    """What a model did in the test that counts."""
    answers: Facts = found["models"][model]["tests"][found["main_test"]]
    return answers


def figures(groups: Sequence[Facts], key: str) -> tuple[float | None, ...]:
    """A figure of every group, where it has one."""
    return tuple(None if part.get(key) is None else float(part[key]) for part in groups)
