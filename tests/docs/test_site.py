"""The site builds without a warning, and has an entry for every command, setting and public name."""

import re
import subprocess
import sys
from pathlib import Path

import dhyan
from docs.commands import PAGE, reference
from tests.tiny_models import environment

ROOT = Path(__file__).parents[2]


def test_the_page_of_the_commands_is_written_from_their_declarations():
    assert PAGE.read_text(encoding="utf-8") == reference(), "run `python docs/commands.py`"


def test_the_site_builds_without_a_warning(tmp_path):
    lessons = "lessons=one_hot,luong"  # all of them take minutes: `make docs`
    options = ["-q", "-W", "--keep-going", "-D", lessons]
    command = [sys.executable, "-m", "sphinx", *options, "docs", str(tmp_path)]
    process = subprocess.run(command, cwd=ROOT, env=environment(), capture_output=True, text=True)
    assert process.returncode == 0, process.stderr
    assert (tmp_path / "understand" / "luong.html").is_file()
    reference_page = (tmp_path / "reference" / "python.html").read_text(encoding="utf-8")
    described = set(re.findall(r'id="dhyan\.(\w+)"', reference_page))
    assert set(dir(dhyan)) - {"__version__", "lessons", "models"} <= described
