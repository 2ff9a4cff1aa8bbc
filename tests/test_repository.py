"""The repository: no invisible characters, no secrets, a reproducible wheel."""

import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
INVISIBLE = re.compile(  # bidi controls, tags, zero-width characters; Hindi needs the joiners
    "[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)
SECRETS = {  # a literal that is searched first, and the pattern
    "PRIVATE KEY": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "AKIA": r"\bAKIA[0-9A-Z]{16}\b",
    "gh": r"\bgh[pousr]_[A-Za-z0-9]{36}",
    "github_pat": r"\bgithub_pat_\w{22}",
    "xox": r"\bxox[abprs]-[0-9A-Za-z-]{10}",
    "hf_": r"\bhf_[A-Za-z0-9]{30}",
    "sk-": r"\bsk-[A-Za-z0-9_-]{20}",
    "pypi-": r"\bpypi-AgEI\w{20}",
    "AIza": r"\bAIza[0-9A-Za-z_-]{35}",
    "glpat-": r"\bglpat-[\w-]{20}",
    ".eyJ": r"\beyJ[A-Za-z0-9_-]{10,}\.eyJ[A-Za-z0-9_-]{10,}\.",
    **{
        word: rf"{word}\s*[=:]\s*[\"'][^\"'\s{{}}$<]{{12,}}[\"']"
        for name in ("password", "passwd", "api_key", "apikey", "secret")
        for word in (name, name.upper(), name.title())
    },
}
TEXT = {".py", ".md", ".toml", ".js", ".css", ".html", ".txt", ".json", ".ipynb", ".svg", ".yml"}
TEXT |= {".cfg", ".sh", ".jsonl", ".csv", ""}


def texts():
    """Every text file that git tracks or would track."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT, capture_output=True, check=True,
    ).stdout.decode()  # fmt: skip
    for name in listed.rstrip("\0").split("\0"):
        path = ROOT / name
        if path.suffix in TEXT and path.is_file():
            yield name, path.read_text(encoding="utf-8")


def secrets(text):
    """Every match of a secret pattern in a text."""
    for word, pattern in SECRETS.items():
        if word in text:
            yield from re.finditer(pattern, text)


def matches(search):
    """Every match in the text files, by file and line."""
    locations, files = [], 0
    for name, text in texts():
        files += 1
        for match in search(text):
            line = text.count("\n", 0, match.start()) + 1
            locations.append(f"{name}:{line}: {ascii(match[0])[:60]}")
    assert files > 800
    return locations


def test_no_file_has_invisible_characters():
    assert not matches(INVISIBLE.finditer)


def test_no_file_has_secrets():
    test_keys = "tests/serving/"  # its tests search logs for them
    assert not [match for match in matches(secrets) if not match.startswith(test_keys)]


@pytest.mark.parametrize(
    "text",
    [
        "-----BEGIN RSA PRIVATE" + " KEY-----",
        "AKIA" + "A" * 16,
        "ghp_" + "a" * 36,
        "hf_" + "a" * 34,
        "password = " + '"correct-horse-battery"',
    ],
)
def test_a_secret_is_detected(text):
    assert list(secrets(text))


@pytest.mark.parametrize("character", ["\u202e", "\u2066", "\u200b", "\U000e0041"])
def test_an_invisible_character_is_detected(character):
    assert INVISIBLE.search(f"a{character}b")


@pytest.mark.soak
def test_the_wheel_is_reproducible(tmp_path):
    checksums = set()
    for number in (1, 2):
        out = tmp_path / str(number)
        environment = {**os.environ, "PYTHONHASHSEED": str(number), "TZ": f"UTC{number}"}
        subprocess.run(
            [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", out, ROOT],
            check=True, capture_output=True, env=environment,
        )  # fmt: skip
        [wheel] = out.glob("*.whl")
        checksums.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert len(checksums) == 1
