"""Models that mean harm are refused at once, in one line, and nothing of them ever runs."""

import json
import os
import subprocess
import sys

import pytest

from dhyan.cli.exit_codes import Exit
from dhyan.model_check import read_model
from tests.security.hostile_models import EVERYONE, ZOO, payload, release
from tests.security.valid_model import good_files, write_model
from tests.tiny_models import command, environment

SECONDS, MEGABYTES = 1.0, 100
IN_A_ROW = 120  # megabytes of a process that has looked at all of them
SOME = (
    "link-weights-to-zeros-without-end", "pipe-manifest.json", "pickle-model.safetensors",
    "header-of-a-million-tensors", "weights-another-shape", "recipe-width-of-a-billion",
)  # fmt: skip
LOOK = """
import json, sys, time
from dhyan.errors import UserError
from dhyan.model_check import read_model
for folder in sys.argv[1:]:
    began = time.process_time()
    try:
        read_model(folder)
    except UserError as fault:
        print(json.dumps([time.process_time() - began, str(fault)]))
    else:
        print("null")
peak = next(line for line in open("/proc/self/status") if line.startswith("VmHWM"))
print(int(peak.split()[1]) // 1024, "torch" in sys.modules)
"""
ASK = """
import json, os, subprocess, sys
pipes = dict(stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
process = subprocess.Popen(sys.argv[1:], **pipes)
said = process.stdout.read().decode()
_, status, used = os.wait4(process.pid, 0)
facts = {"said": said, "code": os.waitstatus_to_exitcode(status)}
seconds, megabytes = used.ru_utime + used.ru_stime, used.ru_maxrss / 1024
print(json.dumps({**facts, "seconds": seconds, "megabytes": megabytes}))
"""  # from a small process, for what a child is said to have used begins with its parent's


@pytest.fixture(scope="module")
def files():
    return good_files()


@pytest.fixture(scope="module")
def zoo(tmp_path_factory, files):
    """Every animal in a folder of its own, and the file none of them may make."""
    place = tmp_path_factory.mktemp("zoo")
    marker = place / "marker"
    folders = {}
    good = place / "good"
    write_model(good, files)
    for number, name in enumerate(EVERYONE):
        folders[name] = release(name, good, place / str(number) / "run", marker)
    return folders, marker


def asked(folder):
    """What `dhyan translate` says of a model, its exit code, seconds and megabytes."""
    done = subprocess.run(
        [sys.executable, "-c", ASK, *command("translate", folder)],
        capture_output=True, env=environment(), check=True, timeout=60,
    )  # fmt: skip
    facts = json.loads(done.stdout)
    return facts["said"], facts["code"], facts["seconds"], facts["megabytes"]


def check(name, folder, marker):
    said, code, seconds, megabytes = asked(folder)
    assert code == Exit.MISTAKE, said
    assert said.count("\n") == 1, said
    assert said.startswith(f"dhyan: {folder}"), said
    assert len(said) < 1000, said
    assert seconds <= SECONDS, name
    assert megabytes <= MEGABYTES, name
    assert not marker.exists()
    print(f"{name}: {seconds:.2f} s, {megabytes:.0f} MB")


def test_there_are_enough_of_them():
    assert len(EVERYONE) >= 150


def test_every_one_is_refused_without_torch_in_a_second_and_in_little_memory(zoo):
    folders, marker = zoo
    done = subprocess.run(
        [sys.executable, "-c", LOOK, *map(str, folders.values())],
        capture_output=True, env=environment(), check=True, text=True, timeout=120,
    )  # fmt: skip
    *lines, last = done.stdout.splitlines()
    assert len(lines) == len(folders)
    for name, line in zip(folders, lines, strict=True):
        assert line != "null", name
        seconds, fault = json.loads(line)
        assert seconds <= SECONDS, name
        assert "\n" not in fault, name
        assert len(fault) < 1000, name
    megabytes, torch = last.split()
    assert int(megabytes) <= IN_A_ROW
    assert torch == "False"
    assert not marker.exists()


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
def test_the_command_refuses_it_in_a_second(zoo, name):
    folders, marker = zoo
    check(name, folders[name], marker)


@pytest.mark.soak
@pytest.mark.parametrize("name", EVERYONE)
def test_the_command_refuses_every_one_in_a_second(zoo, name):
    folders, marker = zoo
    check(name, folders[name], marker)


def test_the_good_model_itself_is_taken(tmp_path, files):
    folder = write_model(tmp_path / "run", files)
    read = read_model(tmp_path / "run")
    assert read.folder == folder
    assert read.files["recipe.toml"] == files["recipe.toml"]


def test_a_score_that_was_no_number_is_no_harm(tmp_path, files):
    progress = json.dumps({"step": 3, "scores": {"loss": float("nan")}}).encode()
    write_model(tmp_path / "run", {**files, "training.json": progress})
    assert read_model(tmp_path / "run").recipe


def test_a_copy_of_hard_links_is_as_good(tmp_path, files):
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
    """Else the marker that never appears would say nothing."""
    marker = tmp_path / "marker"
    (tmp_path / "evil").write_bytes(payload(marker))
    subprocess.run([sys.executable, "-m", "pickle", tmp_path / "evil"], capture_output=True)
    assert marker.exists()


def test_a_changed_file_is_refused_unless_its_hash_is_changed_too(tmp_path, files):
    """The zoo's hashes are right, so what refuses it is what it is."""
    folder = write_model(tmp_path / "run", files)
    ZOO["nothing-in-recipe.toml"](folder, tmp_path / "marker")
    listed = json.loads((folder / "manifest.json").read_bytes())["files"]
    assert listed["recipe.toml"]["bytes"] == 0
