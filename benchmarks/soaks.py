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


def soaks(words: Sequence[str] = ()) -> dict[str, Any]:
    """Run the soaks, all or those under the folders that are named."""
    began = time.perf_counter()
    with tempfile.TemporaryDirectory() as place:
        file = Path(place) / "soaks.xml"
        options = ("-o", "junit_logging=system-out", "--junitxml", file, "-n", "2")
        command = [sys.executable, "-m", "pytest", "-m", "soak", "--dist", "worksteal"]
        code = subprocess.run([*command, *map(str, options), *words], check=False).returncode
        found = summed(ElementTree.parse(file).getroot())
    seconds = round(time.perf_counter() - began)
    return {"command": "python -m pytest -m soak", "exit": code, "seconds": seconds, **found}


def summed(report: ElementTree.Element) -> dict[str, object]:
    """Counts of all, and for each file its counts, its seconds, and what its tests printed."""
    files: dict[str, dict[str, object]] = {}
    ends = defaultdict[str, int](int)
    seconds, said = defaultdict[str, float](float), defaultdict[str, list[str]](list)
    counts = defaultdict[str, dict[str, int]](dict)
    for case in report.iter("testcase"):
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
