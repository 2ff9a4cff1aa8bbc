"""The soak tests as a result file: outcome, duration and printed output of every test file."""

import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

PARTS = {  # pytest arguments; the last part measures time, so nothing runs beside it
    "faults": ("-n", "2", "tests/faults"),
    "data": ("-n", "2", "tests/data"),
    "model_check": ("-n", "2", "tests/model_check"),
    "others": (
        *("-n", "2", "--ignore=tests/faults", "--ignore=tests/data"),
        *("--ignore=tests/model_check", "--ignore=tests/serving"),
    ),
    "serving": ("tests/serving",),
}


def run_soak_tests() -> Iterator[dict[str, Any]]:
    """Run the soak tests part by part; yield the summary of all parts so far after each."""
    start, reports, exit_codes = time.perf_counter(), list[ElementTree.Element](), {}
    with tempfile.TemporaryDirectory() as folder:
        for name, arguments in PARTS.items():
            exit_codes[name], report = _run_pytest(Path(folder), name, *arguments)
            reports.append(report)
            yield {
                "command": "python -m benchmarks soak-tests",
                "exit_codes": {**exit_codes},
                "parts": list(PARTS),
                "seconds": round(time.perf_counter() - start),
                **summarize(reports),
            }


def _run_pytest(folder: Path, name: str, *arguments: str) -> tuple[int, ElementTree.Element]:
    """Exit code and JUnit report of pytest."""
    path = folder / f"{name}.xml"
    options = ("-m", "soak", "-o", "junit_logging=system-out", "--junitxml", str(path))
    process = subprocess.run([sys.executable, "-m", "pytest", *options, *arguments], check=False)
    return process.returncode, ElementTree.parse(path).getroot()


def summarize(reports: Sequence[ElementTree.Element]) -> dict[str, object]:
    """Outcome counts in total, and per test file its counts, seconds and printed output."""
    files: dict[str, dict[str, object]] = {}
    outcomes = defaultdict[str, int](int)
    seconds, output = defaultdict[str, float](float), defaultdict[str, list[str]](list)
    counts = defaultdict[str, dict[str, int]](dict)
    for case in (case for report in reports for case in report.iter("testcase")):
        file, outcome = case.get("classname", ""), _outcome(case)
        outcomes[outcome] += 1
        counts[file][outcome] = counts[file].get(outcome, 0) + 1
        seconds[file] += float(case.get("time", 0))
        for element in case.iter("system-out"):
            lines = (element.text or "").splitlines()
            output[file] += [line for line in lines if line and not line.startswith("---")]
    for file in sorted(counts):
        files[file] = {**counts[file], "seconds": round(seconds[file]), "output": output[file]}
    return {"outcomes": dict(outcomes), "files": files}


def _outcome(case: ElementTree.Element) -> str:
    for name in ("failure", "error", "skipped"):
        if case.find(name) is not None:
            return name
    return "passed"
