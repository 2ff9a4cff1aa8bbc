"""Checkpoints are whole or absent, and every damage is noticed."""

import hashlib
import json
import os

import pytest
import torch

from dhyan import checkpoint
from dhyan.faults import Fault

FILES = {"recipe.toml": b"about = 'x'\n", "model.safetensors": bytes(range(256)) * 4}


FACTS = {"data": "abc", "device": "cpu", "threads": 1, "versions": {}}


@pytest.fixture
def run(tmp_path):
    for step in (10, 20, 30):
        checkpoint.write_checkpoint(tmp_path, step, FILES, **FACTS)
    return tmp_path


def test_what_was_written_is_read_back(run):
    assert checkpoint.read_checkpoint(run / "step-30") == FILES
    assert checkpoint.read_manifest(run / "step-30")["data"] == "abc"
    assert not list(run.glob("tmp-*"))


def test_a_checkpoint_is_never_written_over(run):
    with pytest.raises(FileExistsError):
        checkpoint.write_checkpoint(run, 30, FILES)


def test_every_flipped_bit_is_noticed(run):
    folder = run / "step-30"
    for path in folder.iterdir():
        good = path.read_bytes()
        for place in range(0, len(good), 37):
            bad = bytearray(good)
            bad[place] ^= 1 << (place % 8)
            path.write_bytes(bad)
            if path.name == "manifest.json" and harmless(bad):
                assert checkpoint.read_checkpoint(folder) == FILES
            else:
                with pytest.raises(Fault, match=folder.name):
                    checkpoint.read_checkpoint(folder)
        path.write_bytes(good)


def harmless(manifest):
    """Whether a changed manifest still says the same about the files."""
    try:
        facts = json.loads(manifest)
        listed = facts["files"]
    except (ValueError, KeyError):
        return False
    if not facts.keys() >= {"step", *FACTS}:
        return False
    wanted = {n: (hashlib.sha256(d).hexdigest(), len(d)) for n, d in FILES.items()}
    return wanted == {n: (f.get("sha256"), f.get("bytes")) for n, f in listed.items()}


def test_a_truncated_or_missing_file_is_named(run):
    path = run / "step-30" / "model.safetensors"
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(Fault, match="model.safetensors: is not what manifest.json says"):
        checkpoint.read_checkpoint(run / "step-30")
    path.unlink()
    with pytest.raises(Fault, match="model.safetensors: is missing"):
        checkpoint.read_checkpoint(run / "step-30")


def test_the_newest_whole_one_is_taken_and_the_damaged_set_aside(run):
    said = []
    (run / "step-30" / "manifest.json").unlink()
    folder, files = checkpoint.newest_whole(run, FILES, said.append)
    assert folder == run / "step-20"
    assert files == FILES
    assert len(said) == 2
    assert all("step-30" in line for line in said)
    assert (run / "damaged-step-30").is_dir()


def test_if_none_is_whole_that_is_said_not_passed_over(run):
    for step in (10, 20, 30):
        (run / f"step-{step}" / "recipe.toml").write_bytes(b"")
    for _ in range(2):
        with pytest.raises(Fault, match="none of its 3 checkpoints is whole"):
            checkpoint.newest_whole(run, FILES, lambda line: None)
    assert checkpoint.steps_in(run) == [30, 20, 10]


def test_a_manifest_that_leaves_something_out_is_damage(run):
    with pytest.raises(Fault, match="lists no other.json"):
        checkpoint.read_checkpoint(run / "step-30", *FILES, "other.json")
    path = run / "step-30" / "manifest.json"
    facts = json.loads(path.read_text())
    for key in facts:
        path.write_text(json.dumps({k: v for k, v in facts.items() if k != key}))
        with pytest.raises(Fault, match="manifest.json: cannot be understood"):
            checkpoint.read_checkpoint(run / "step-30")


def test_what_cannot_be_written_leaves_the_old_and_no_trace(run):
    with pytest.raises(Fault, match="step-50: the checkpoint cannot be written.*needs"):
        checkpoint.write_checkpoint(run, 50, {**FILES, "no/such/folder": b""}, **FACTS)
    assert checkpoint.steps_in(run) == [30, 20, 10]
    assert not list(run.glob("tmp-*"))


def test_an_empty_folder_has_no_newest(tmp_path):
    assert checkpoint.newest_whole(tmp_path, FILES, print) is None
    assert checkpoint.newest_whole(tmp_path / "nowhere", FILES, print) is None


def test_a_run_folder_means_its_best_then_its_last_then_its_newest(run):
    assert checkpoint.find_checkpoint(run) == run / "step-30"
    checkpoint.point(run, "last.json", 20)
    assert checkpoint.find_checkpoint(run) == run / "step-20"
    checkpoint.point(run, "best.json", 10, loss=1.0)
    assert checkpoint.find_checkpoint(run) == run / "step-10"
    assert json.loads((run / "best.json").read_text())["loss"] == 1.0
    assert checkpoint.find_checkpoint(run / "step-30") == run / "step-30"


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"step": 99}', '{"step": "../outside/step-1"}', '{"checkpoint": "x"}']
)
def test_a_pointer_to_nothing_is_named_not_passed_over(run, text):
    (run / "best.json").write_text(text)
    with pytest.raises(Fault, match="best.json: names no checkpoint of this run; name step-30"):
        checkpoint.find_checkpoint(run)


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises(Fault, match="holds no checkpoint"):
        checkpoint.find_checkpoint(tmp_path)
    with pytest.raises(Fault, match="no such model folder"):
        checkpoint.find_checkpoint(tmp_path / "nowhere")
    (tmp_path / "file").write_text("")
    with pytest.raises(Fault, match="is a file, not a model folder"):
        checkpoint.find_checkpoint(tmp_path / "file")


def test_old_ones_go_the_newest_and_the_best_stay(run):
    checkpoint.write_checkpoint(run, 40, FILES, **FACTS)
    checkpoint.forget_old(run, keep=2, best=10)
    assert checkpoint.steps_in(run) == [40, 30, 10]
    assert not list(run.glob("tmp-*"))


def test_a_half_written_folder_is_no_checkpoint_and_is_replaced(run):
    half = run / "tmp-step-40"
    half.mkdir()
    (half / "model.safetensors").write_bytes(b"half")
    assert checkpoint.steps_in(run)[0] == 30
    checkpoint.write_checkpoint(run, 40, FILES, **FACTS)
    assert checkpoint.read_checkpoint(run / "step-40") == FILES


def test_tensors_survive():
    tensors = {"a": torch.randn(3, 4), "b": torch.tensor(5.0), "c": torch.randn(4, 3).T}
    back = checkpoint.tensors_from_bytes(checkpoint.tensors_to_bytes(tensors))
    assert all(torch.equal(back[name], tensors[name]) for name in tensors)


def test_a_folder_has_one_trainer_at_a_time_and_is_swept_of_what_trainers_leave(run):
    for name in ("tmp-step-40", "tmp-old-10", "tmp-mine", "tmp-step-notes", "tmp-old-10-mine"):
        (run / name).mkdir()
        (run / name / "file").write_text("something")
    for name in ("tmp-best.json", "tmp-last.json", "tmp-metrics.jsonl", "tmp-thesis.txt"):
        (run / name).write_bytes(b"half")
    claim = checkpoint.take_hold(run)
    left = {path.name for path in run.glob("tmp-*")}
    assert left == {"tmp-mine", "tmp-step-notes", "tmp-old-10-mine", "tmp-thesis.txt"}
    assert (run / "tmp-mine" / "file").read_text() == "something"
    with pytest.raises(Fault, match=f"process {os.getpid()} is training here"):
        checkpoint.take_hold(run)
    claim.close()
    checkpoint.take_hold(run).close()
