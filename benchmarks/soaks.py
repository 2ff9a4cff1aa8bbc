"""The long tests as a result: which ran, how long each took, and what it said of itself."""

import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

PARTS = {  # each with what pytest is told; the last measures time, so nothing runs beside it
    "faults": ("-n", "2", "tests/faults"),
    "data": ("-n", "2", "tests/data"),
    "model_check": ("-n", "2", "tests/model_check"),
    "others": (
        *("-n", "2", "--ignore=tests/faults", "--ignore=tests/data"),
        *("--ignore=tests/model_check", "--ignore=tests/serving"),
    ),
    "serving": ("tests/serving",),
}


def soaks() -> Iterator[dict[str, Any]]:
    """Run the soaks, part by part; what was found so far, after each of them."""
    began, reports, codes = time.perf_counter(), list[ElementTree.Element](), dict[str, int]()
    with tempfile.TemporaryDirectory() as place:
        for name, words in PARTS.items():
            codes[name], report = _ran(Path(place), name, *words)
            reports.append(report)
            seconds = round(time.perf_counter() - began)
            facts = {"command": "python -m benchmarks soaks", "exits": {**codes}}
            yield {**facts, "of": list(PARTS), "seconds": seconds, **summed(reports)}


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
