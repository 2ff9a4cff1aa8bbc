"""Every entry point that reads a model refuses a hostile one."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from safetensors.numpy import load as load_tensors

from dhyan import atomic_folder
from dhyan.attention import GeneralScore, registry
from dhyan.checkpoint import tensors_to_bytes
from dhyan.cli.info import info
from dhyan.cli.messages import Exit
from dhyan.cli.recipe import find_recipe
from dhyan.config import dump_recipe
from dhyan.errors import UserError
from dhyan.models.build import build_model
from dhyan.run import train
from dhyan.run.average_checkpoints import average
from dhyan.run.fine_tune import PretrainedModel
from dhyan.run.load import load, load_ensemble, weights_of
from dhyan.text.safe_tokenizer import count_pieces
from tests.fork_server import forked_python
from tests.model_check.hostile_models import (
    ALL_HOSTILE,
    NOT_AS_BUILT,
    make_hostile,
    sparse_weights,
)
from tests.model_check.valid_model import STEP, model_files, settings, write_model
from tests.tiny_models import environment, tiny_recipe, write_corpus

EVERY = 16  # in the quick form, one of so many
ENTRY_POINTS = {
    "load": lambda bad, good, out: load(bad, device="cpu"),
    "ensemble": lambda bad, good, out: load_ensemble([good, bad], device="cpu"),
    "begin-from": lambda bad, good, out: PretrainedModel.read(bad),
    "average": lambda bad, good, out: average([good, bad], out),
    "info": lambda bad, good, out: info(bad),
}
ACCEPTED = {"average": {"recipe-code-for-a-score"}, "info": NOT_AS_BUILT}  # and never built


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    place = tmp_path_factory.mktemp("good") / "run"
    write_model(place, model_files())
    return place


@pytest.mark.parametrize("step", [EVERY, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("entry_point", ENTRY_POINTS)
def test_every_entry_point_refuses_hostile_models(good, tmp_path, entry_point, step):
    marker = tmp_path / "marker"
    for number, name in enumerate(ALL_HOSTILE[::step]):
        if name in ACCEPTED.get(entry_point, ()):
            continue
        bad = make_hostile(name, good, tmp_path / str(number) / "run", marker)
        with pytest.raises(UserError) as caught:
            ENTRY_POINTS[entry_point](bad, good, tmp_path / "out")
        assert "\n" not in str(caught.value), name
    assert not marker.exists()
    assert not (tmp_path / "out").exists()


WITHOUT_TORCH = """
import sys
sys.modules["torch"] = None  # importing it now fails
from dhyan.cli import main
main()
"""
COMMANDS = {
    "translate": lambda bad, good: ("translate", bad),
    "evaluate": lambda bad, good: ("evaluate", bad, "--source", "a", "--target", "b"),
    "average": lambda bad, good: ("average", good, bad, "--out", "out"),
    "last": lambda bad, good: ("average", bad, "--last", 1, "--out", "out"),
    "recipe": lambda bad, good: ("train", bad, "--out", "out"),
    "resume by folder": lambda bad, good: ("train", bad, "--resume"),
    "show": lambda bad, good: ("show", bad, "a"),
    "serve": lambda bad, good: ("serve", bad),
    "studio": lambda bad, good: ("studio", bad),
    "info": lambda bad, good: ("info", bad),
}
DATA = ("--source", "a", "--target", "b")
TORCH_COMMANDS = {
    "ensemble": lambda bad, good: ("translate", good, "--with", bad),
    "init": lambda bad, good: ("train", "bahdanau2015-small", "--init-from", bad, *DATA),
    "resume": lambda bad, good: ("train", "bahdanau2015-small", "--resume", "--out", bad, *DATA),
}


def check_refused(program, tmp_path, reason):
    """A command line ends with one line that names the reason."""
    for side in "ab":
        (tmp_path / side).write_text("one\n" * 20)
    process = subprocess.run(
        program,
        capture_output=True, text=True, env=environment(), cwd=tmp_path,
    )  # fmt: skip
    assert process.returncode == Exit.USER_ERROR, process.stderr
    assert reason in process.stderr.splitlines()[-1], process.stderr
    return process.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_refuses_invalid_headers_before_torch_is_imported(good, tmp_path, name):
    bad = make_hostile("header-overlap", good, tmp_path / "bad" / "run", tmp_path / "marker")
    output = check_refused(
        [sys.executable, "-c", WITHOUT_TORCH, *map(str, COMMANDS[name](bad, good))],
        tmp_path,
        "overlaps another",
    )
    assert output.count("\n") == 1, output


@pytest.mark.slow
@pytest.mark.parametrize("name", TORCH_COMMANDS)
def test_each_command_refuses_weights_that_do_not_fit(good, tmp_path, name):
    bad = make_hostile(
        "recipe-layers-one-more", good, tmp_path / "bad" / "run", tmp_path / "marker"
    )
    program = forked_python("-m", "dhyan", *TORCH_COMMANDS[name](bad, good))
    check_refused(program, tmp_path, "do not fit the recipe")


def test_a_model_whose_recipe_is_a_link_is_refused(good, tmp_path):
    bad = make_hostile(
        "link-recipe-to-a-secret", good, tmp_path / "bad" / "run", tmp_path / "marker"
    )
    with pytest.raises(UserError, match=r"recipe.toml: is a link, not a file"):
        find_recipe(str(bad))
    assert find_recipe(str(good)) == str(good / f"step-{STEP}" / "recipe.toml")


@pytest.mark.slow
def test_a_run_does_not_resume_from_a_forged_train_state(tmp_path):
    recipe = tiny_recipe("rnn", *write_corpus(tmp_path), **{"training.steps": 2})
    for _ in train(recipe, tmp_path / "run", device="cpu", threads=1):
        pass
    folder = tmp_path / "run" / "step-2"
    manifest = json.loads((folder / "manifest.json").read_bytes())
    state = json.loads((folder / "training.json").read_bytes())
    (folder / "training.json").write_text(json.dumps({**state, "position": "far"}))
    sums = {name: atomic_folder.file_checksum(folder / name) for name in manifest["files"]}
    facts = {
        key: value
        for key, value in manifest.items()
        if key not in ("manifest_version", "files", "checksum")
    }
    atomic_folder.write_manifest(folder, facts, sums)
    with pytest.raises(UserError, match=r"training.json: its 'position' cannot be 'far'"):
        train(recipe, tmp_path / "run", resume=True, device="cpu", threads=1)


@pytest.fixture
def own_score():
    """A score that only a plugin knows."""
    registry.register("own")(GeneralScore)
    yield "own"
    del registry._registered["own"]


def test_a_plugin_model_is_compared_with_what_the_plugin_builds(tmp_path, own_score):
    recipe = settings("rnn", **{"decoder.attention.score": own_score, "text.tokenizer": "bpe"})
    files = model_files()
    sizes = [count_pieces(files[name].decode()) for name in ("source.json", "target.json")]
    weights = weights_of(build_model(recipe, *sizes))
    files.pop("training.safetensors")
    files["recipe.toml"] = dump_recipe(recipe).encode()
    files["model.safetensors"] = tensors_to_bytes(weights)
    write_model(tmp_path / "run", files)
    assert load(tmp_path / "run", device="cpu").source
    name = "decoder.attention.score.key.weight"
    weights[name] = weights[name].detach()[:-1]
    files["model.safetensors"] = tensors_to_bytes(weights)
    write_model(tmp_path / "bad", files)
    with pytest.raises(UserError, match="do not fit the recipe"):
        load(tmp_path / "bad", device="cpu")


def test_without_its_plugin_a_model_is_described_but_not_run(tmp_path, capsys):
    recipe = settings("rnn", **{"decoder.attention.score": "own", "text.tokenizer": "bpe"})
    files = {**model_files(), "recipe.toml": dump_recipe(recipe).encode()}
    write_model(tmp_path / "run", files)
    with pytest.raises(UserError, match="no attention is called 'own'.*dhyan.register"):
        load(tmp_path / "run", device="cpu")
    info(tmp_path / "run")
    assert "own" in capsys.readouterr().out


@pytest.mark.parametrize("sparse", [True, False], ids=["sparse", "too-large"])
def test_weights_of_an_unknown_attention_are_bounded(tmp_path, monkeypatch, sparse):
    recipe = settings("rnn", **{"decoder.attention.score": "own", "text.tokenizer": "bpe"})
    files = {**model_files(), "recipe.toml": dump_recipe(recipe).encode()}
    files.pop("training.safetensors")
    folder = write_model(tmp_path / "run", files)
    table = load_tensors(files["model.safetensors"])
    shapes = {name: tensor.shape for name, tensor in table.items()} | {
        "decoder.attention.own": (2**35,)
    }
    sparse_weights(folder, shapes)
    if not sparse:
        monkeypatch.setattr("dhyan.model_check.model_folder.is_sparse", lambda path: False)

    def hash_files(folder, manifest, names, *, remedy):
        assert "model.safetensors" not in names, "128 GiB were hashed before they were refused"

    monkeypatch.setattr("dhyan.atomic_folder.check_files", hash_files)
    with pytest.raises(UserError, match="mostly a hole" if sparse else "bytes it may"):
        info(tmp_path / "run")


@pytest.mark.slow
def test_a_model_is_described_without_torch(good, tmp_path):
    """Also one whose weights do not fit its recipe: `info` prints facts of checked files."""
    other = make_hostile("recipe-layers-one-more", good, tmp_path / "run", tmp_path / "marker")
    for folder in (good, other):
        done = subprocess.run(
            [sys.executable, "-c", WITHOUT_TORCH, "info", str(folder)],
            capture_output=True, text=True, env=environment(),
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        assert "parameters" in done.stdout


def test_every_entry_point_reads_the_valid_model(good, tmp_path, capsys):
    assert load(good, device="cpu").source
    assert load_ensemble([good], device="cpu").target
    assert PretrainedModel.read(Path(good)).weights
    info(good)
    assert "parameters" in capsys.readouterr().out
