"""The public names: documented with examples that run, typed, and listed on one screen."""

import ast
import doctest
import inspect
import pydoc
import re
import subprocess
import sys
from pathlib import Path

import pytest

import dhyan
from tests.tiny_models import environment

LIBRARY = (
    *("api", "attention", "config", "data", "decoding", "evaluation", "insight", "kernels"),
    *("model_check", "models", "run", "safe_io", "text", "training"),
)
SUBMODULES = {"lessons", "models"}
NAMES = sorted({*dir(dhyan)} - SUBMODULES - {"__version__"})
SCRIPT = """
from pathlib import Path

import dhyan

result = dhyan.train([("one", "eins")], "numbers", out=Path("run"), settings={"training.seed": 3})
folder: Path = result.folder
translator: dhyan.Translator = result.translator
text: str = translator.translate("one", beam=2).text
texts: list[str] = [translation.text for translation in translator.translate(["one", "two"])]
scores: dict[str, float] = dict(dhyan.evaluate(result, [("one", "eins")], metrics=("bleu",)))
maps: list[dhyan.AttentionMap] = dhyan.explain(dhyan.load("run"), "one")
dhyan.heatmap(*maps, title="one").savefig("one.png")
options: dhyan.DecodingOptions = dhyan.load_recipe("numbers").decoding
try:
    dhyan.resume(folder)
except dhyan.UserError as error:
    print(error.problems)
"""
WRONG = (
    'import dhyan\n\ntext: int = dhyan.load("run").translate("one").text\ndhyan.train(steps="x")\n'
)


def test_help_fits_one_screen():
    text = pydoc.plain(pydoc.render_doc(dhyan, "Help on %s:"))
    assert len(text.splitlines()) <= 60
    for name in ("train", "resume", "load", "evaluate", "explain", "heatmap", "Recipe"):
        assert name in text


@pytest.mark.parametrize("name", NAMES)
def test_every_public_name_has_a_docstring_with_an_example(name):
    assert ">>> " in (inspect.getdoc(getattr(dhyan, name)) or "")


@pytest.mark.parametrize("name", NAMES)
def test_the_examples_of_the_docstrings_run(name, run_folder, tmp_path):
    names = {"dhyan": dhyan, "run_folder": run_folder, "folder": tmp_path, "attend": dhyan.attend}
    public = getattr(dhyan, name)
    results = doctest.TestResults(0, 0)
    for example in doctest.DocTestFinder(recurse=True).find(public, name, globs=names):
        ran = doctest.DocTestRunner().run(example)
        results = doctest.TestResults(
            results.failed + ran.failed, results.attempted + ran.attempted
        )
    assert results.failed == 0
    assert results.attempted


def messages(file):
    """The texts of a module that are neither docstrings nor the spelling of the command line."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    skipped = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr)
        or (isinstance(node, ast.keyword) and node.arg == "command_line")
        for inner in ast.walk(node.value)
        if isinstance(node, ast.keyword) or node.value is inner
    }
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Constant)
            and isinstance(node.value, str)
            and id(node) not in skipped
        ):
            yield node.value


def test_no_message_of_the_library_names_an_option_of_the_command_line():
    source = Path(dhyan.__file__).parent
    files = [
        *source.glob("*.py"),
        *(file for name in LIBRARY for file in (source / name).rglob("*.py")),
    ]
    named = {
        f"{file.relative_to(source)}: {text}"
        for file in files
        if file.name != "reference.py"
        for text in messages(file)
        if re.search(r"(^|[\s(])--[a-z]", text)
    }
    assert not named


def test_importing_the_package_imports_neither_torch_nor_frames():
    program = "import sys, dhyan; print({'torch', 'pandas', 'polars', 'rich'} & {*sys.modules})"
    process = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, env=environment()
    )
    assert process.stdout.decode().strip() == "set()"


@pytest.mark.slow
def test_a_users_script_passes_strict_mypy(tmp_path):
    for name, text in (("script.py", SCRIPT), ("wrong.py", WRONG)):
        (tmp_path / name).write_text(text)
    source = Path(dhyan.__file__).parents[1]
    # Torch's own types take ten seconds to read, and none of them is in a signature of the script.
    (tmp_path / "mypy.ini").write_text("[mypy]\n[mypy-torch.*]\nfollow_imports = skip\n")
    command = [sys.executable, "-m", "mypy", "--strict", "--cache-dir", str(tmp_path / "cache")]
    process = subprocess.run(
        [*command, "--follow-imports=silent", "script.py", "wrong.py"],
        cwd=tmp_path,
        env={**environment(), "MYPYPATH": str(source)},
        capture_output=True,
        text=True,
    )
    errors = [line for line in process.stdout.splitlines() if ": error: " in line]
    assert len(errors) == 2, process.stdout
    assert all(line.startswith("wrong.py") for line in errors)
