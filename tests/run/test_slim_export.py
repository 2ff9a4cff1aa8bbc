"""Slim folders: smaller, without a training state, and used like any checkpoint."""

import shutil
import sys

import pytest
import torch

from dhyan.atomic_folder import MANIFEST
from dhyan.checkpoint import find_checkpoint, read_manifest, weights_from_bytes
from dhyan.config import load_recipe
from dhyan.data.training_sentences import TRAINING_SENTENCES
from dhyan.errors import UserError
from dhyan.model_check import check_folder, read_model, read_training_sentences
from dhyan.pretrained.card import CARD
from dhyan.quantization import PRECISIONS
from dhyan.run import load, train
from dhyan.run.slim_export import write_slim
from tests import tiny_models
from tests.model_check.valid_model import replace_file, rewrite_manifest
from tests.serving.running_server import running_server
from tests.tiny_models import tiny_recipe, write_corpus

FILES = {
    *("recipe.toml", "model.safetensors", "source.json", "target.json"),
    *(TRAINING_SENTENCES, MANIFEST),
}
SENTENCES = ["one two three", "seventy", "five hundred and six"]


@pytest.fixture(scope="module", params=["rnn", "transformer"])
def run(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp(request.param)
    files = write_corpus(folder)
    for _ in train(tiny_recipe(request.param, *files), folder / "run", device="cpu", threads=1):
        pass
    return folder / "run"


@pytest.mark.parametrize("precision", PRECISIONS)
def test_a_slim_folder_translates(run, tmp_path, precision):
    slim = write_slim(run, tmp_path / "slim", precision=precision)
    assert {path.name for path in slim.iterdir()} == FILES
    translations = load(slim, device="cpu")(SENTENCES, max_length=20)
    assert len(translations) == len(SENTENCES)
    if precision == "float32":
        before = load(run, device="cpu")(SENTENCES, max_length=20)
        assert [own.text for own in translations] == [own.text for own in before]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_model_has_the_same_weights_by_name_and_nearly_by_value(run, tmp_path, precision):
    slim = write_slim(run, tmp_path / "slim", precision=precision)
    before, after = (dict(load(own, device="cpu").model.named_parameters()) for own in (run, slim))
    assert before.keys() == after.keys()
    for name, weight in after.items():
        error = (weight - before[name]).abs().max()
        assert error <= 0.5001 * before[name].abs().max() / 31, name


def test_a_slim_folder_of_a_slim_folder_has_the_same_weights(run, tmp_path):
    first = write_slim(run, tmp_path / "first")
    second = write_slim(first, tmp_path / "second", precision="float32")
    weights = [
        weights_from_bytes((folder / "model.safetensors").read_bytes())
        for folder in (first, second)
    ]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])


def test_the_card_and_the_facts_of_the_checkpoint_are_kept(run, tmp_path):
    slim = write_slim(run, tmp_path / "slim", card={"about": "एक"})
    assert "एक" in (slim / CARD).read_text()
    manifest = read_manifest(slim)
    assert manifest["precision"] == "int8"
    assert manifest["step"] == read_manifest(find_checkpoint(run))["step"]
    assert CARD in manifest["files"]


def test_the_recipe_names_no_file(run, tmp_path):
    slim = write_slim(run, tmp_path / "slim")
    recipe = load_recipe(slim / "recipe.toml")
    assert recipe.data.target_language == "hi"
    assert str(run.parent) not in (slim / "recipe.toml").read_text()


def test_an_existing_folder_is_not_replaced(run, tmp_path):
    (tmp_path / "slim").mkdir()
    with pytest.raises(UserError, match="exists already"):
        write_slim(run, tmp_path / "slim")


@pytest.mark.parametrize("name", sorted(FILES | {CARD}))
def test_a_flipped_bit_is_detected(run, tmp_path, name):
    slim = write_slim(run, tmp_path / "slim", card={"about": "x"})
    read_model(slim)
    data = bytearray((slim / name).read_bytes())
    data[len(data) // 2] ^= 1
    (slim / name).write_bytes(data)
    with pytest.raises(UserError, match=name):
        read_model(slim)


@pytest.mark.parametrize("data", [b"[1]", b"\xff", b"{", b'{"a": NaN}', b"[" * 30_000])
def test_a_card_that_is_no_table_is_refused_before_torch(run, tmp_path, data):
    slim = write_slim(run, tmp_path / "slim", card={"about": "x"})
    replace_file(slim, CARD, data)
    with pytest.raises(UserError, match=r"card\.json: is not a table of JSON"):
        check_folder(slim)


@pytest.mark.parametrize("data", [b"", b"[1]", b"\x80\x04."])
def test_a_broken_file_of_training_sentences_is_refused(run, tmp_path, data):
    slim = write_slim(run, tmp_path / "slim")
    replace_file(slim, TRAINING_SENTENCES, data)
    for read in (check_folder, read_training_sentences):
        with pytest.raises(UserError, match=r"sentences\.bin: is not a file of training sentences"):
            read(slim)


def test_training_sentences_survive_the_export(run, tmp_path):
    slim = write_slim(run, tmp_path / "slim")
    before, after = read_training_sentences(run), read_training_sentences(slim)
    assert before.hashes.tolist() == after.hashes.tolist()
    held_out, trained, *_ = (run.parent / "a.en").read_text().splitlines()
    assert trained in after
    assert held_out not in after


def test_a_model_without_the_file_does_not_know(run, tmp_path):
    slim = write_slim(run, tmp_path / "slim")
    (slim / TRAINING_SENTENCES).unlink()
    rewrite_manifest(slim)
    assert read_training_sentences(slim) is None
    again = write_slim(slim, tmp_path / "again")
    assert not (again / TRAINING_SENTENCES).exists()


def test_a_run_is_fine_tuned_from_a_slim_folder(run, tmp_path):
    slim = write_slim(run, tmp_path / "slim")
    family = "rnn" if load_recipe(slim / "recipe.toml").encoder.kind == "rnn" else "transformer"
    files = write_corpus(tmp_path)
    recipe = tiny_recipe(family, *files, **{"training.init_from": str(slim), "training.steps": 2})
    for _ in train(recipe, tmp_path / "tuned", device="cpu", threads=1):
        pass
    start = weights_from_bytes((tmp_path / "tuned/step-0/model.safetensors").read_bytes())
    packed = weights_from_bytes((slim / "model.safetensors").read_bytes())
    assert all(torch.equal(start[name], packed[name]) for name in packed)


def test_a_slim_folder_does_not_resume(run, tmp_path):
    slim = write_slim(run, tmp_path / "slim")
    shutil.copytree(slim, tmp_path / "run" / "step-12")
    with pytest.raises(UserError, match="training"):
        train(load_recipe(slim / "recipe.toml"), tmp_path / "run", resume=True, device="cpu")


@pytest.fixture
def damaged(run, tmp_path):
    """A copy of the best checkpoint from which someone deleted the training state."""
    folder = shutil.copytree(find_checkpoint(run), tmp_path / "by-hand")
    for name in ("training.safetensors", "training.json"):
        (folder / name).unlink()
    return folder


def test_deleting_the_training_state_by_hand_names_slim(damaged, tmp_path):
    result = tiny_models.dhyan("translate", "by-hand", stdin=b"seven\n", cwd=tmp_path)
    assert result.returncode == 2
    assert result.stderr.decode().splitlines() == [
        "dhyan: by-hand/training.safetensors: is missing: a checkpoint keeps the state of its "
        "training; make a folder without it by dhyan export by-hand --slim OUT"
    ]


def test_the_command_makes_a_slim_folder_of_it_that_does_all_but_resume(damaged, run, tmp_path):
    made = tiny_models.dhyan("export", "by-hand", "--slim", "out", cwd=tmp_path)
    assert made.returncode == 0, made.stderr
    assert made.stdout.startswith(b"out  0.1 MB of 0.1 MB, int8")
    whole = write_slim(run, tmp_path / "whole", precision="int8")
    assert (tmp_path / "out" / "model.safetensors").read_bytes() == (
        whole / "model.safetensors"
    ).read_bytes()
    translated = tiny_models.dhyan("translate", "out", stdin=b"seven\n", cwd=tmp_path)
    assert translated.returncode == 0
    shown = tiny_models.dhyan(
        "show", "out", "seven", "-o", "a.png", "--attention", "all", cwd=tmp_path
    )
    assert shown.returncode == 0, shown.stderr
    for words in (["train", "out", "--resume"], ["train", "numbers", "--resume", "--out", "out"]):
        refused = tiny_models.dhyan(*words, cwd=tmp_path)
        assert refused.returncode == 2
        assert refused.stderr.decode().splitlines() == [
            "dhyan: out is a slim model, without the state of its training: no run resumes from "
            "it; start a new one from its weights with --init-from out and --out FOLDER"
        ]


def test_a_slim_folder_is_served(run, tmp_path):
    write_slim(run, tmp_path / "slim")
    arguments = [sys.executable, "-m", "dhyan", "serve", str(tmp_path / "slim"), "--port", "0"]
    with running_server(tmp_path, arguments=arguments) as server:
        status, answer = server.translate("seven")
    assert status == 200, answer


@pytest.mark.parametrize(
    ("words", "problem"),
    [
        (["out"], "give either --to FORMAT or --slim"),
        (["--slim", "--to", "onnx", "out"], "give either --to FORMAT or --slim"),
        (["--to", "onnx", "--precision", "int6", "out"], "--precision int6: only --slim has it"),
        (["--to", "huggingface", "--precision", "int8", "out"], "transformers has float32 weights"),
    ],
)
def test_options_that_contradict_each_other_are_named(words, problem, tmp_path):
    result = tiny_models.dhyan("export", "en-hi", *words, cwd=tmp_path)
    assert result.returncode == 2
    assert problem in result.stderr.decode()
    assert not (tmp_path / "out").exists()
