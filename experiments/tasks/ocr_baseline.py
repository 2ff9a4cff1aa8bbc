"""Character error rate of Tesseract on rendered lines, as what a small model is compared with."""

import shutil
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from dhyan.data.read_pairs import read_pairs
from dhyan.errors import UserError
from dhyan.evaluation.edit_distance import edit_distance
from dhyan.text.normalize import normalize
from experiments.tasks.picture_data import CORPUS, KINDS

OPTIONS = ("-l", "hin", "--psm", "7")  # Hindi; a picture is one line
ENVIRONMENT = {"OMP_THREAD_LIMIT": "1", "PATH": "/usr/bin:/bin"}


def error_rate(outputs: Iterable[str], texts: Iterable[str]) -> dict[str, float]:
    """Characters wrong and lines wrong, in per cent of all; white space is one space."""
    edits = characters = wrong = lines = 0
    for output, text in zip(outputs, texts, strict=True):
        read, expected = (" ".join(normalize(side).split()) for side in (output, text))
        distance = edit_distance(read, expected)
        edits, wrong = edits + distance, wrong + (distance > 0)
        characters, lines = characters + len(expected), lines + 1
    return {
        "lines": lines,
        "characters": characters,
        "edits": edits,
        "cer": round(100 * edits / max(1, characters), 3),
        "lines_wrong": round(100 * wrong / max(1, lines), 2),
    }


def kinds_in(data: Path) -> tuple[str, ...]:
    """The kinds of test lines in a folder of `ocr-data`."""
    return (*KINDS, CORPUS) if (data / f"test-{CORPUS}").is_dir() else KINDS


def rates_of_kinds(
    outputs: Mapping[str, Sequence[str]], texts: Mapping[str, Sequence[str]]
) -> dict[str, dict[str, float]]:
    """The error rates of each kind, and of all lines but those of a corpus."""
    rates = {kind: error_rate(own, texts[kind]) for kind, own in outputs.items()}
    read, expected = ([line for kind in KINDS for line in side[kind]] for side in (outputs, texts))
    return {**rates, "all": error_rate(read, expected)}


def tesseract_version() -> str:
    """The version of Tesseract."""
    if not shutil.which("tesseract"):
        raise UserError("no tesseract here: apt-get install tesseract-ocr tesseract-ocr-hin")
    done = subprocess.run(["tesseract", "--version"], capture_output=True, text=True, check=True)
    return (done.stdout or done.stderr).splitlines()[0].removeprefix("tesseract ")


def recognise(picture: str) -> str:
    """What Tesseract reads of a picture of one line."""
    command = ["tesseract", picture, "-", *OPTIONS]
    done = subprocess.run(command, capture_output=True, text=True, check=True, env=ENVIRONMENT)
    return done.stdout


def measure_tesseract(data: Path, jobs: int = 2) -> dict[str, Any]:
    """The error rates on the test folders of `ocr-data`, and on all of their lines."""
    version, read, texts = tesseract_version(), dict[str, list[str]](), dict[str, list[str]]()
    with ThreadPoolExecutor(jobs) as pool:
        for kind in kinds_in(data):
            pairs = list(read_pairs(data / f"test-{kind}"))
            read[kind] = list(pool.map(recognise, (pair.source for pair in pairs)))
            texts[kind] = [pair.target for pair in pairs]
    rates = rates_of_kinds(read, texts)
    return {"tesseract": version, "options": " ".join(OPTIONS), "rates": rates}
