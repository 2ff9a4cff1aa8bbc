"""The long tests as a result: which ran, how long each took, and what it said of itself."""

import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

TIMED = Path("tests/serving")  # they measure time, so that nothing may run beside them


def soaks(words: Sequence[str] = ()) -> dict[str, Any]:
    """Run the soaks, all or those that are named; what measures time comes last, and alone."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        if words:
            parts = [_ran(Path(place), "named", "-n", "2", *words)]
        else:
            parts = [
                _ran(Path(place), "most", "-n", "2", f"--ignore={TIMED}"),
                _ran(Path(place), "timed", str(TIMED)),
            ]
    seconds, found = round(time.perf_counter() - began), summed([report for _, report in parts])
    code = max(code for code, _ in parts)
    return {"command": "python -m benchmarks soaks", "exit": code, "seconds": seconds, **found}


def _ran(place: Path, name: str, *words: str) -> tuple[int, ElementTree.Element]:
    """Pytest's exit code and report."""
    file = place / f"{name}.xml"
    options = ("-m", "soak", "-o", "junit_logging=system-out", "--junitxml", str(file))
    done = subprocess.run([sys.executable, "-m", "pytest", *options, *words], check=False)
    return done.returncode, ElementTree.parse(file).getroot()


def summed(reports: Sequence[ElementTree.Element]) -> dict[str, object]:
    """Counts of all, and for each file its counts, its seconds, and what its tests printed."""
    files: dict[str, dict[str, object]] = {}
    ends = defaultdict[str, int](int)
    seconds, said = defaultdict[str, float](float), defaultdict[str, list[str]](list)
    counts = defaultdict[str, dict[str, int]](dict)
    for case in (case for report in reports for case in report.iter("testcase")):
        file, end = case.get("classname", ""), _end(case)
        ends[end] += 1
        counts[file][end] = counts[file].get(end, 0) + 1
        seconds[file] += float(case.get("time", 0))
        for output in case.iter("system-out"):
            lines = (output.text or "").splitlines()
            said[file] += [line for line in lines if line and not line.startswith("---")]
    for file in sorted(counts):
        files[file] = {**counts[file], "seconds": round(seconds[file]), "said": said[file]}
    return {"ends": dict(ends), "files": files}


def _end(case: ElementTree.Element) -> str:
    for name in ("failure", "error", "skipped"):
        if case.find(name) is not None:
            return name
    return "passed"
