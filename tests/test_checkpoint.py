"""Checkpoints are written atomically, and damage is detected."""

import fcntl
import json
import os
import shutil
import threading
from pathlib import Path

import pytest
import torch

from dhyan import checkpoint
from dhyan.errors import UserError

FILES = {"recipe.toml": b"about = 'x'\n", "model.safetensors": bytes(range(256)) * 4}


FACTS = {"data_fingerprint": "abc", "device": "cpu", "threads": 1, "versions": {}}


@pytest.fixture
def run(tmp_path):
    for step in (10, 20, 30):
        checkpoint.write_checkpoint(tmp_path, step, FILES, **FACTS)
    return tmp_path


def test_written_files_are_read_back(run):
    assert checkpoint.read_checkpoint(run / "step-30") == FILES
    assert checkpoint.read_manifest(run / "step-30")["data_fingerprint"] == "abc"
    assert not list(run.glob("tmp-*"))


def test_a_checkpoint_is_never_overwritten(run):
    before = {path: path.stat().st_mtime_ns for path in run.rglob("*")}
    assert checkpoint.write_checkpoint(run, 30, FILES, **FACTS) == run / "step-30"
    assert {path: path.stat().st_mtime_ns for path in run.rglob("*")} == before
    other = {**FILES, "recipe.toml": b"about = 'y'\n"}
    checkpoint.write_checkpoint(run, 30, other, **FACTS)
    assert checkpoint.read_checkpoint(run / "step-30") == other
    assert checkpoint.read_checkpoint(run / "damaged-step-30") == FILES


def test_a_damaged_checkpoint_is_moved_aside_and_rewritten(run):
    (run / "step-30" / "recipe.toml").write_bytes(b"")
    checkpoint.write_checkpoint(run, 30, FILES, **FACTS)
    assert checkpoint.read_checkpoint(run / "step-30") == FILES
    assert (run / "damaged-step-30" / "recipe.toml").read_bytes() == b""


def test_an_existing_checkpoint_is_synced(run, monkeypatch):
    fsync, refused = os.fsync, [True, True, False]

    def failing(descriptor):
        if os.path.samestat(os.fstat(descriptor), run.stat()) and refused.pop(0):
            raise OSError(5, "Input/output error")
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", failing)
    for _ in range(2):
        with pytest.raises(checkpoint.CheckpointWriteError, match="step-40: .*Input/output error"):
            checkpoint.write_checkpoint(run, 40, FILES, **FACTS)
    assert checkpoint.write_checkpoint(run, 40, FILES, **FACTS) == run / "step-40"
    assert refused == []
    assert sorted(path.name for path in run.iterdir()) == [
        "step-10",
        "step-20",
        "step-30",
        "step-40",
    ]


def test_every_flipped_bit_is_detected(run):
    folder = run / "step-30"
    for path in folder.iterdir():
        good = path.read_bytes()
        for index in range(0, len(good), 37):
            bad = bytearray(good)
            bad[index] ^= 1 << (index % 8)
            path.write_bytes(bad)
            with pytest.raises(UserError, match=f"{folder.name}/"):
                checkpoint.read_checkpoint(folder)
        path.write_bytes(good)
    assert checkpoint.read_checkpoint(folder) == FILES


def test_a_manifest_without_a_checksum_is_read(run):
    path = run / "step-30" / "manifest.json"
    facts = json.loads(path.read_text())
    del facts["manifest_version"], facts["checksum"]
    path.write_text(json.dumps(facts))
    assert checkpoint.read_checkpoint(run / "step-30") == FILES


def test_a_truncated_or_missing_file_is_named(run):
    path = run / "step-30" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(UserError, match="model.safetensors: is not what manifest.json says"):
        checkpoint.read_checkpoint(run / "step-30")
    path.unlink()
    with pytest.raises(UserError, match="model.safetensors: is missing"):
        checkpoint.read_checkpoint(run / "step-30")


def test_the_newest_valid_checkpoint_is_used_and_damaged_ones_moved_aside(log, run):
    (run / "step-30" / "manifest.json").unlink()
    folder, files = checkpoint.newest_valid_checkpoint(run, FILES)
    assert folder == run / "step-20"
    assert files == FILES
    (line,) = log.messages
    assert (
        "step-30/manifest.json: is missing: skipped, now damaged-step-30; step-20 is used" in line
    )
    assert (run / "damaged-step-30").is_dir()


def test_without_a_valid_checkpoint_there_is_an_error(run):
    for step in (10, 20, 30):
        (run / f"step-{step}" / "recipe.toml").write_bytes(b"")
    for _ in range(2):
        with pytest.raises(UserError, match="none of its 3 checkpoints is whole .*step-30/rec"):
            checkpoint.newest_valid_checkpoint(run, FILES)
    assert checkpoint.steps_in(run) == [30, 20, 10]


def test_an_incomplete_manifest_is_damage(run):
    with pytest.raises(UserError, match="lists no other.json"):
        checkpoint.read_checkpoint(run / "step-30", *FILES, "other.json")
    path = run / "step-30" / "manifest.json"
    facts = json.loads(path.read_text())
    for key in facts:
        path.write_text(json.dumps({k: v for k, v in facts.items() if k != key}))
        with pytest.raises(UserError, match="manifest.json: (cannot be understood|was changed)"):
            checkpoint.read_checkpoint(run / "step-30")


def test_a_failed_write_leaves_earlier_checkpoints_alone(run):
    with pytest.raises(UserError, match="step-50: the checkpoint cannot be written.*needs"):
        checkpoint.write_checkpoint(run, 50, {**FILES, "no/such/folder": b""}, **FACTS)
    assert checkpoint.steps_in(run) == [30, 20, 10]
    assert not list(run.glob("tmp-*"))


def test_an_empty_folder_has_no_checkpoint(tmp_path):
    assert checkpoint.newest_valid_checkpoint(tmp_path, FILES) is None
    assert checkpoint.newest_valid_checkpoint(tmp_path / "nowhere", FILES) is None


def test_a_run_folder_means_its_best_then_last_then_newest_checkpoint(run):
    assert checkpoint.find_checkpoint(run) == run / "step-30"
    checkpoint.write_pointer(run, "last.json", 20)
    assert checkpoint.find_checkpoint(run) == run / "step-20"
    checkpoint.write_pointer(run, "best.json", 10, loss=1.0)
    assert checkpoint.find_checkpoint(run) == run / "step-10"
    assert json.loads((run / "best.json").read_text())["loss"] == 1.0
    assert checkpoint.find_checkpoint(run / "step-30") == run / "step-30"


@pytest.mark.parametrize(
    "text",
    [
        *("", "{", "[]", '{"checkpoint": "step-99", "step": 99}', '{"step": "../outside/step-1"}'),
        *('{"checkpoint": "x"}', '{"checkpoint": "step-20", "step": 10}', '{"step": 10}'),
    ],
)
def test_a_pointer_to_nothing_is_an_error(run, text):
    (run / "best.json").write_text(text)
    with pytest.raises(UserError, match="best.json: names no checkpoint of this run; name step-30"):
        checkpoint.find_checkpoint(run)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(UserError, match="holds no checkpoint"):
        checkpoint.find_checkpoint(tmp_path)
    with pytest.raises(UserError, match="no such model folder"):
        checkpoint.find_checkpoint(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(UserError, match="is a file, not a model folder"):
        checkpoint.find_checkpoint(tmp_path / "file")


def test_old_checkpoints_are_deleted_but_the_newest_and_the_best(run):
    checkpoint.write_checkpoint(run, 40, FILES, **FACTS)
    checkpoint.delete_old_checkpoints(run, keep=2, best=10)
    assert checkpoint.steps_in(run) == [40, 30, 10]
    assert not list(run.glob("tmp-*"))


@pytest.mark.parametrize("keep", [0, 1])
def test_two_checkpoints_always_stay(run, keep):
    checkpoint.delete_old_checkpoints(run, keep=keep, best=None)
    assert checkpoint.steps_in(run) == [30, 20]


def test_a_full_disk_is_an_error_before_anything_is_written(run, monkeypatch):
    usage = shutil.disk_usage(run)._replace(free=1000)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage)
    before = sorted(run.rglob("*"))
    with pytest.raises(
        checkpoint.CheckpointWriteError, match="1,000 bytes are free; it needs 1,036 bytes"
    ):
        checkpoint.write_checkpoint(run, 50, FILES, **FACTS)
    assert sorted(run.rglob("*")) == before


def test_a_file_that_cannot_be_replaced_is_unchanged(run, monkeypatch):
    checkpoint.write_pointer(run, "last.json", 20)
    before = (run / "last.json").read_bytes()

    def full(path):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "sync", full)
    with pytest.raises(OSError, match="No space"):
        checkpoint.write_pointer(run, "last.json", 30)
    assert (run / "last.json").read_bytes() == before
    assert not list(run.glob("tmp-*"))


@pytest.mark.parametrize("call", ["fsync", "write"])
def test_an_error_without_a_file_name_gets_one(run, monkeypatch, call):
    def failing(*arguments):
        raise OSError(5, "Input/output error")

    if call == "fsync":
        monkeypatch.setattr(os, "fsync", failing)
    else:
        monkeypatch.setattr(Path, "write_bytes", failing)
    with pytest.raises(OSError, match="Input/output error: '.*last.json'"):
        checkpoint.write_pointer(run, "last.json", 30)


def test_a_partly_written_folder_is_no_checkpoint(run):
    half = run / "tmp-step-40"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    assert checkpoint.steps_in(run)[0] == 30
    checkpoint.write_checkpoint(run, 40, FILES, **FACTS)
    assert checkpoint.read_checkpoint(run / "step-40") == FILES


def test_tensors_are_read_back():
    tensors = {"a": torch.randn(3, 4), "b": torch.tensor(5.0), "c": torch.randn(4, 3).T}
    back = checkpoint.tensors_from_bytes(checkpoint.tensors_to_bytes(tensors))
    assert all(torch.equal(back[name], tensors[name]) for name in tensors)


def test_a_lock_is_exclusive_and_removes_temporary_files(run):
    for name in ("tmp-step-40", "tmp-old-10", "tmp-mine", "tmp-step-notes", "tmp-old-10-mine"):
        (run / name).mkdir()
        (run / name / "file").write_text("something")
    for name in ("tmp-best.json", "tmp-last.json", "tmp-metrics.jsonl", "tmp-thesis.txt"):
        (run / name).write_bytes(b"half")
    claim = checkpoint.lock_run(run)
    left = {path.name for path in run.glob("tmp-*")}
    assert left == {"tmp-mine", "tmp-step-notes", "tmp-old-10-mine", "tmp-thesis.txt"}
    assert (run / "tmp-mine" / "file").read_text() == "something"
    with pytest.raises(UserError, match=f"process {os.getpid()} is training here"):
        checkpoint.lock_run(run)
    claim.close()
    checkpoint.lock_run(run).close()


def test_testing_the_lock_does_not_block_others(run):
    checkpoint.lock_run(run).close()
    with open(run / "lock", "rb") as reader:
        fcntl.flock(reader, fcntl.LOCK_SH)
        release = threading.Timer(0.03, fcntl.flock, (reader, fcntl.LOCK_UN))
        release.start()
        checkpoint.lock_run(run).close()
        release.join()
