"""Every command of every guide in docs/ is run, in the order in which it stands."""

import contextlib
import io
import os
import re
import shlex
import shutil
import stat
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
import typer

from dhyan.cli import app, main
from dhyan.config import load_recipe, shipped_recipes
from dhyan.config.toml import KEYS, RECIPES
from dhyan.data.filters import distinct
from dhyan.data.synthetic import number_pairs
from dhyan.pretrained import NAMES, VARIABLE, model_names
from dhyan.run import train
from tests.fork_server import forked_python
from tests.interop.multilingual_models import MULTILINGUAL, multilingual_folder
from tests.interop.spm_models import SHAPES, marian_folder
from tests.pretrained.packed_models import write_all
from tests.serving.running_server import start_and_stop
from tests.studio.running_server import running
from tests.tiny_models import environment

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(path for path in DOCS.glob("*/*.md") if path.parent.name != "understand")
LONG = ("compare", "export", "first-translator", "pretrained", "sweeps")  # a dozen models each
TABLES = (
    "reliability",
    "commands",
    "python",
    "index",
    "real-ladder",
    "visual-tools",
)  # no commands to run here
SMALL = {
    "training.steps": 60, "training.validate_every": 30,
    "training.save_every": 30,
    "training.valid_sentences": 4, "encoder.embedding_width": 16, "encoder.width": 16,
    "decoder.embedding_width": 16, "decoder.width": 32, "decoder.readout_width": 16,
    "decoder.attention.score_width": 16,
}  # fmt: skip


def commands(page):
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        yield from re.sub(r"\\\n\s*", " ", block).splitlines()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """What the pages take for granted: two corpora, two models, and `dhyan` on the path."""
    folder = tmp_path_factory.mktemp("guide")
    pairs_of_numbers = list(distinct(number_pairs(seed=3), lambda pair: pair.source, 420))
    for name, pairs in (("train", pairs_of_numbers[:400]), ("test", pairs_of_numbers[400:])):
        for side in ("source", "target"):
            text = "".join(f"{getattr(pair, side)}\n" for pair in pairs)
            (folder / f"{name}.{'en' if side == 'source' else 'hi'}").write_text(text)
    files = {"data.synthetic": "", "data.source": str(folder / "train.en")}
    files["data.target"] = str(folder / "train.hi")
    for name, seed in (("numbers", 1), ("other", 2)):
        recipe = load_recipe("numbers", {**SMALL, **files, "training.seed": seed})
        for _ in train(recipe, folder / "runs" / name, threads=1):
            pass
    marian_folder(folder / "opus-mt-en-hi", **SHAPES["square"])
    multilingual_folder(folder / "m2m100", **MULTILINGUAL["m2m100"])
    if not model_names():
        os.environ[VARIABLE] = str(write_all(tmp_path_factory.mktemp("pretrained"), NAMES))
    program = folder / "bin" / "dhyan"
    program.parent.mkdir()
    words = shlex.join(forked_python("-m", "dhyan"))
    program.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
    program.chmod(program.stat().st_mode | stat.S_IXUSR)
    yield folder
    os.environ.pop(VARIABLE, None)


def in_process(words, folder):
    """A dhyan command without the second it takes to start one."""
    output, before = io.StringIO(), (sys.argv, os.getcwd())
    sys.argv, code = ["dhyan", *words], 0
    os.chdir(folder)
    try:
        with contextlib.redirect_stdout(output), contextlib.redirect_stderr(output):
            main()
    except SystemExit as leaving:
        code = leaving.code or 0
    finally:
        sys.argv = before[0]
        os.chdir(before[1])
    return code, output.getvalue()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, marks=[pytest.mark.soak] * (p.stem in LONG), id=p.stem)
        for p in PAGES
        if p.stem not in TABLES
    ],
)
def test_every_command_of_a_page_runs(page, prepared, tmp_path):
    folder = tmp_path / "place"
    shutil.copytree(prepared, folder)
    lines = list(commands(page))
    assert lines, f"{page.name} shows no command"
    path = f"{folder / 'bin'}:{os.environ['PATH']}"
    for line in lines:
        if not line or line.startswith("#"):
            continue
        if line.startswith("dhyan studio"):  # it goes on until it is stopped
            with running(*shlex.split(line)[2:], cwd=folder) as (process, _):
                pass
            code, output = process.returncode, line
        elif line.startswith("dhyan serve") and "--add-key" not in line:
            code, output = start_and_stop(*shlex.split(line)[2:], cwd=folder)
        elif re.match(r"dhyan [^|<>&;$]*$", line) and "--to onnx" not in line:
            # graphs are traced in a process that does not check the shapes of tensors
            code, output = in_process(shlex.split(line, comments=True)[1:], folder)
        else:
            process = subprocess.run(
                ["bash", "-c", line], cwd=folder, env={**environment(), "PATH": path},
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
            code, output = process.returncode, process.stdout.decode()
        assert code == 0, f"{line}\n{output}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_every_program_of_a_page_runs(page, prepared):
    for program in re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE):
        process = subprocess.run(
            forked_python("-c", program), cwd=prepared, env=environment(), capture_output=True
        )
        assert process.returncode == 0, process.stderr.decode()


COMMANDS = "\n".join(line for page in PAGES for line in commands(page))
PLAIN = {"--help", "--version", "--device", "--quiet"}  # they say what they do


def test_every_key_of_a_recipe_has_an_example():
    """In a shipped recipe, or in a command of a page: by its own name, or by an option's."""
    used = set()
    for name in shipped_recipes():
        used |= set(keys_of(tomllib.loads((RECIPES / f"{name}.toml").read_text())))
    options = {key: f"--{key.rpartition('.')[2].replace('_', '-')} " for key in KEYS}
    without = [key for key in KEYS if key not in used and f"{key}=" not in COMMANDS]
    assert not [key for key in without if options[key] not in f"{COMMANDS} "]


def keys_of(table, path=""):
    for key, value in table.items():
        if isinstance(value, dict):
            yield from keys_of(value, f"{path}{key}.")
        else:
            yield path + key


def options(command, path=()):
    """Every option of every command, with the command it belongs to."""
    for name, inner in getattr(command, "commands", {}).items():
        yield from options(inner, (*path, name))
    for parameter in command.params:
        longest = max(parameter.opts, key=len)
        if longest.startswith("--"):
            yield pytest.param(" ".join(path), longest, id=" ".join((*path, longest)))


@pytest.mark.parametrize(("command", "option"), list(options(typer.main.get_command(app))))
def test_every_option_of_a_command_has_an_example(command, option):
    lines = [line for line in COMMANDS.splitlines() if f"dhyan {command}" in line]
    used = any(re.search(rf"{option}(?![\w-])", line) for line in lines)
    assert used or option in PLAIN or command in ("", "demo")  # run elsewhere in these tests
