"""The built wheel, installed elsewhere, has all it needs."""

import json
import os
import subprocess
import sys
import zipfile
from pathlib import Path
from types import SimpleNamespace

import pytest

from dhyan.config import shipped_recipes
from dhyan.model_check import check_folder
from dhyan.open_translator import describe_cpu_engine, open_cpu_translator
from dhyan.pretrained import model_names
from hatch_build import CustomBuildHook

ROOT = Path(__file__).parents[2]
MAX_PRETRAINED_BYTES = 45_000_000
NO_COMPILER = "no C++ compiler: the CPU engine and compiled BPE dropout are left out"
PROGRAM = """
import json, sys
import dhyan, dhyan.cli

print(dhyan.__file__, flush=True)
for words in json.loads(sys.argv[1]):
    sys.argv = ["dhyan", *words]
    try:
        dhyan.cli.main()
    except SystemExit as leaving:
        if leaving.code:
            raise
"""
pytestmark = pytest.mark.slow


def test_without_a_compiler_the_wheel_is_for_every_platform_and_says_so(monkeypatch):
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr("hatch_build.libraries_there", lambda root: [])
    warnings, build_data = [], {"artifacts": []}
    application = SimpleNamespace(display_warning=warnings.append)
    hook = CustomBuildHook(str(ROOT), {}, None, None, "", "wheel", application)
    hook.initialize("standard", build_data)
    assert warnings == [NO_COMPILER]
    assert build_data == {"artifacts": []}  # a pure wheel, py3-none-any


def test_without_the_engine_pytorch_translates_and_info_says_so(monkeypatch):
    monkeypatch.setattr("dhyan.open_translator.library_target", lambda: None)
    checked = check_folder("en-hi")
    assert describe_cpu_engine(checked) == "PyTorch: the engine is not compiled"
    assert open_cpu_translator("en-hi") is None


def test_the_wheel_works_far_from_the_checkout(tmp_path):
    python = [sys.executable, "-m"]
    subprocess.run(
        [*python, "build", "--wheel", "--no-isolation", "--outdir", tmp_path, ROOT],
        check=True, capture_output=True,
    )  # fmt: skip
    [wheel] = tmp_path.glob("*.whl")
    home = tmp_path / "home"
    subprocess.run(
        [*python, "pip", "install", "-q", "--no-deps", "--target", home, wheel], check=True
    )
    environment = {**os.environ, "PYTHONPATH": str(home)}

    def dhyan(*commands):
        """Run commands one after the other, in one process, until one fails."""
        process = subprocess.run(
            [sys.executable, "-c", PROGRAM, json.dumps(commands)],
            capture_output=True, env=environment, cwd=tmp_path,
        )  # fmt: skip
        first, _, rest = process.stdout.decode().partition("\n")
        assert first.startswith(str(home))
        return process.returncode, rest + process.stderr.decode()

    few = ("--set", "training.steps=2", "--set", "training.valid_sentences=2", "--threads", "1")
    code, output = dhyan(
        ("train", "numbers", *few, "--out", "run"),
        ("show", "run", "three hundred", "-o", "map.png"),
        ("data", "primer", "--pairs", "5", "--test-pairs", "2", "--out", "words"),
    )
    assert code == 0, output
    assert (tmp_path / "map.png").stat().st_size > 1000
    assert (tmp_path / "words").is_dir()
    code, output = dhyan(("train", "no-such-recipe"))
    assert code == 2, output
    for name in shipped_recipes():
        assert name in output
    names = subprocess.run(
        [*python, "zipfile", "-l", wheel], capture_output=True, text=True, check=True
    ).stdout
    assert "LICENSE" in names
    for part in (
        "static/index.html",
        "static/js/main.js",
        "static/icon.svg",
    ):
        assert f"dhyan/studio/{part}" in names
    assert "tests/" not in names
    with zipfile.ZipFile(wheel) as archive:
        packed = [own for own in archive.infolist() if "dhyan/pretrained/models/" in own.filename]
    for name in model_names():
        files = {own.filename.rpartition("/")[2] for own in packed if f"/{name}/" in own.filename}
        assert {"card.json", "manifest.json", "model.safetensors", "recipe.toml"} < files
    assert sum(own.compress_size for own in packed) <= MAX_PRETRAINED_BYTES
