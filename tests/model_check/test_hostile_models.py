"""Hostile models are refused in one line, in bounded time and memory, and nothing of them runs."""

import json
import os
import subprocess
import sys

import pytest

from dhyan.cli.messages import Exit
from dhyan.model_check import read_model
from tests.model_check.hostile_models import (
    ALL_HOSTILE,
    HOSTILE_CHECKPOINTS,
    NOT_AS_BUILT,
    make_hostile,
    payload,
)
from tests.model_check.valid_model import model_files, write_model
from tests.tiny_models import command, environment

SECONDS = 10.0  # of CPU time; each takes less than one, measured by the soak
SOAK_SECONDS = 1.0  # without the import of torch
TORCH_SECONDS = 4.0
MEGABYTES, GROWTH, TORCH_MEGABYTES = 120, 60, 600
NEED_TORCH = {  # refused when the model is built, or when the weights are read, after it
    *NOT_AS_BUILT,
    *("weights-infinity", "weights-nan", "weights-half-precision-nan"),
    *("weights-scale-infinite", "weights-scale-too-large"),
}
BY_COMMAND = (
    "link-weights-to-zeros-without-end", "pipe-manifest.json", "pickle-model.safetensors",
    "header-of-a-million-tensors", "weights-another-shape", "recipe-width-of-a-billion",
)  # fmt: skip
READ_ALL = """
import json, sys, time
from dhyan.errors import UserError
from dhyan.model_check import read_model
if sys.argv[1] == "torch":
    from dhyan.config import load_recipe
    from dhyan.model_check.checkpoint_contents import weight_shapes
    weight_shapes(load_recipe("bahdanau2015-small"), (10, 10))

def peak():
    line = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
    return int(line.split()[1]) // 1024

before = peak()
for folder in sys.argv[2:]:
    start = time.process_time()
    try:
        read_model(folder)
    except UserError as error:
        seconds, torch = time.process_time() - start, "torch" in sys.modules
        print(json.dumps([seconds, torch, str(error)]))
    else:
        print("null")
print(json.dumps([peak(), peak() - before]))
"""
MEASURE = """
import json, os, subprocess, sys
pipes = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
process = subprocess.Popen(sys.argv[1:], **pipes)
output = process.stdout.read().decode()
_, status, usage = os.wait4(process.pid, 0)
result = {"output": output, "code": os.waitstatus_to_exitcode(status)}
seconds, megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
print(json.dumps({**result, "seconds": seconds, "megabytes": megabytes}))
"""  # from a small process, for the memory of a child is counted from its parent's


@pytest.fixture(scope="module")
def files():
    return model_files()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory, files):
    """Every hostile model in a folder of its own, and the file none of them may create."""
    folder = tmp_path_factory.mktemp("hostile")
    marker = folder / "marker"
    write_model(folder / "valid", files)
    folders = {
        name: make_hostile(name, folder / "valid", folder / str(number) / "run", marker)
        for number, name in enumerate(ALL_HOSTILE)
    }
    return folders, marker


def read_all(mode, folders, seconds):
    """Read hostile models in one process; its peak memory and the growth, in megabytes."""
    process = subprocess.run(
        [sys.executable, "-c", READ_ALL, mode, *map(str, folders.values())],
        capture_output=True, env=environment(), check=True, text=True,
    )  # fmt: skip
    *lines, last = process.stdout.splitlines()
    assert len(lines) == len(folders)
    for name, line in zip(folders, lines, strict=True):
        assert line != "null", f"{name} was accepted"
        cpu_seconds, torch, message = json.loads(line)
        assert torch == (mode == "torch"), name
        assert cpu_seconds <= seconds, name
        assert "\n" not in message, name
        assert len(message) < 1000, name
    return json.loads(last)


def check_command(name, folder, marker, seconds):
    """`dhyan translate` refuses a model in one line."""
    process = subprocess.run(
        [sys.executable, "-c", MEASURE, *command("translate", folder)],
        capture_output=True, env=environment(), check=True,
    )  # fmt: skip
    result = json.loads(process.stdout)
    output, torch = result["output"], name in NEED_TORCH
    assert result["code"] == Exit.USER_ERROR, output
    assert output.count("\n") == 1, output
    assert output.startswith(f"dhyan: {folder}"), output
    assert len(output) < 1000, output
    assert result["seconds"] <= seconds + TORCH_SECONDS * torch, name
    assert result["megabytes"] <= (TORCH_MEGABYTES if torch else MEGABYTES), name
    assert not marker.exists()
    print(f"{name}: {result['seconds']:.2f} s, {result['megabytes']:.0f} MB")


def test_there_are_enough_of_them():
    assert len(ALL_HOSTILE) >= 150
    assert set(ALL_HOSTILE) >= NEED_TORCH


def test_files_recipes_and_headers_are_refused_without_torch(hostile):
    folders, marker = hostile
    early = {name: folder for name, folder in folders.items() if name not in NEED_TORCH}
    megabytes, _ = read_all("plain", early, SECONDS)
    assert megabytes <= MEGABYTES
    assert not marker.exists()


def test_shapes_are_refused_without_allocating_the_model(hostile):
    folders, marker = hostile
    late = {name: folders[name] for name in sorted(NEED_TORCH)}
    _, growth = read_all("torch", late, SECONDS)
    assert growth <= GROWTH
    assert not marker.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", BY_COMMAND)
def test_the_command_refuses_it(hostile, name):
    folders, marker = hostile
    check_command(name, folders[name], marker, SECONDS)


@pytest.mark.soak
@pytest.mark.parametrize("name", ALL_HOSTILE)
def test_the_command_refuses_every_one_in_a_second(hostile, name):
    folders, marker = hostile
    check_command(name, folders[name], marker, SOAK_SECONDS)


def test_the_valid_model_is_read(tmp_path, files):
    folder = write_model(tmp_path / "run", files)
    model = read_model(tmp_path / "run")
    assert model.folder == folder
    assert model.files["recipe.toml"] == files["recipe.toml"]


def test_a_saved_score_may_be_nan(tmp_path, files):
    state = json.dumps({"step": 3, "scores": {"loss": float("nan")}}).encode()
    write_model(tmp_path / "run", {**files, "training.json": state})
    assert read_model(tmp_path / "run").recipe


def test_a_copy_of_hard_links_is_read(tmp_path, files):
    folder = write_model(tmp_path / "run", files)
    copy = tmp_path / "copy"
    copy.mkdir()
    for path in folder.iterdir():
        os.link(path, copy / path.name)
    assert read_model(copy).recipe == read_model(folder).recipe


def test_a_person_may_name_a_model_by_a_link(tmp_path, files):
    folder = write_model(tmp_path / "run", files)
    (tmp_path / "best").symlink_to(folder)
    (tmp_path / "runs").symlink_to(folder.parent)
    assert read_model(tmp_path / "best").files == read_model(tmp_path / "runs").files


def test_the_payload_would_have_run(tmp_path):
    """Otherwise the marker that never appears would prove nothing."""
    marker = tmp_path / "marker"
    (tmp_path / "evil").write_bytes(payload(marker))
    subprocess.run([sys.executable, "-m", "pickle", tmp_path / "evil"], capture_output=True)
    assert marker.exists()


def test_a_changed_file_is_refused_unless_its_hash_is_changed_too(tmp_path, files):
    """The hashes of hostile models are right: it is their content that is refused."""
    folder = write_model(tmp_path / "run", files)
    HOSTILE_CHECKPOINTS["nothing-in-recipe.toml"](folder, tmp_path / "marker")
    listed = json.loads((folder / "manifest.json").read_bytes())["files"]
    assert listed["recipe.toml"]["bytes"] == 0
