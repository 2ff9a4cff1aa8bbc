"""By whichever way a model comes in, one that means harm is a fault and nothing else."""

import json
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.numpy import load as load_tensors

from dhyan import atomic_folder as whole
from dhyan.attention import GeneralScore, registry
from dhyan.checkpoint import tensors_to_bytes
from dhyan.cli.exit_codes import Exit
from dhyan.cli.info import info
from dhyan.cli.recipe_options import recipe_of
from dhyan.config import dump_recipe
from dhyan.errors import UserError
from dhyan.model_check import check_newest
from dhyan.models.build import build_model
from dhyan.run import train
from dhyan.run.average_checkpoints import average
from dhyan.run.fine_tune import PretrainedModel
from dhyan.run.load import load, load_ensemble, weights_of
from dhyan.text.safe_tokenizer import count_pieces
from tests.security.hostile_models import EVERYONE, hollow_weights, release
from tests.security.valid_model import STEP, good_files, put, settings, write_model
from tests.tiny_models import environment, tiny_recipe, write_corpus

EVERY = 16  # one of so many in the quick form
DOORS = {
    "load": lambda bad, good, out: load(bad, device="cpu"),
    "ensemble": lambda bad, good, out: load_ensemble([good, bad], device="cpu"),
    "begin-from": lambda bad, good, out: PretrainedModel.read(bad),
    "average": lambda bad, good, out: average([good, bad], out),
    "info": lambda bad, good, out: info(bad),
}
KNOWN_ATTENTION = {"recipe-code-for-a-score"}  # it is looked at and averaged, but never built
NOT_BUILT = {"average", "info"}


@pytest.fixture(scope="module")
def good(tmp_path_factory):
    place = tmp_path_factory.mktemp("good") / "run"
    write_model(place, good_files())
    return place


@pytest.mark.parametrize("step", [EVERY, pytest.param(1, marks=pytest.mark.soak)])
@pytest.mark.parametrize("door", DOORS)
def test_no_door_lets_one_in(good, tmp_path, door, step):
    marker = tmp_path / "marker"
    for number, name in enumerate(EVERYONE[::step]):
        if door in NOT_BUILT and name in KNOWN_ATTENTION:
            continue
        bad = release(name, good, tmp_path / str(number) / "run", marker)
        with pytest.raises(UserError) as caught:
            DOORS[door](bad, good, tmp_path / "out")
        assert "\n" not in str(caught.value), name
    assert not marker.exists()
    assert not (tmp_path / "out").exists()


UNBORN = """
import sys
sys.modules["torch"] = None  # whoever imports it now fails
from dhyan.cli import main
main()
"""
COMMANDS = {
    "translate": lambda bad, good: ("translate", bad),
    "ensemble": lambda bad, good: ("translate", good, "--with", bad),
    "evaluate": lambda bad, good: ("evaluate", bad, "--source", "a", "--target", "b"),
    "average": lambda bad, good: ("average", good, bad, "--out", "out"),
    "last": lambda bad, good: ("average", bad, "--last", 1, "--out", "out"),
    "init": lambda bad, good: ("train", "bahdanau2015-small", "--init-from", bad),
    "recipe": lambda bad, good: ("train", bad, "--out", "out"),
    "resume": lambda bad, good: ("train", "bahdanau2015-small", "--resume", "--out", bad),
    "show": lambda bad, good: ("show", bad, "a"),
    "serve": lambda bad, good: ("serve", bad),
    "studio": lambda bad, good: ("studio", bad),
    "info": lambda bad, good: ("info", bad),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_each_command_refuses_one_before_torch_is_there(good, tmp_path, name):
    bad = release("weights-another-shape", good, tmp_path / "bad" / "run", tmp_path / "marker")
    for side in "ab":
        (tmp_path / side).write_text("one\n")
    words = map(str, COMMANDS[name](bad, good))
    done = subprocess.run(
        [sys.executable, "-c", UNBORN, *words],
        capture_output=True, text=True, env=environment(), cwd=tmp_path, timeout=60,
    )  # fmt: skip
    assert done.returncode == Exit.MISTAKE, done.stderr
    assert done.stderr.count("\n") == 1, done.stderr
    assert "do not fit the recipe" in done.stderr


def test_the_recipe_of_a_model_is_no_link_to_another(good, tmp_path):
    bad = release("link-recipe-to-a-secret", good, tmp_path / "bad" / "run", tmp_path / "marker")
    with pytest.raises(UserError, match=r"recipe.toml: is a link, not a file"):
        recipe_of(str(bad))
    assert recipe_of(str(good)) == str(good / f"step-{STEP}" / "recipe.toml")


def test_what_is_damaged_is_left_to_the_run_that_skips_it(good, tmp_path):
    run = tmp_path / "run"
    shutil.copytree(good, run)
    newest = run / f"step-{STEP + 1}"
    shutil.copytree(run / f"step-{STEP}", newest)
    (newest / "training.json").write_bytes(b"{")
    check_newest(run)
    check_newest(tmp_path / "nothing-yet")
    put(newest, "training.json", b"{")  # now its sum is right: someone meant it
    with pytest.raises(UserError, match=r"training.json: .*; the model is damaged"):
        check_newest(run)


@pytest.mark.slow
def test_a_run_does_not_go_on_from_what_only_seems_its_own(tmp_path):
    recipe = tiny_recipe("rnn", *write_corpus(tmp_path), **{"training.steps": 2})
    for _ in train(recipe, tmp_path / "run", device="cpu", threads=1):
        pass
    folder = tmp_path / "run" / "step-2"
    said = json.loads((folder / "manifest.json").read_bytes())
    facts = json.loads((folder / "training.json").read_bytes())
    (folder / "training.json").write_text(json.dumps({**facts, "position": "far"}))
    sums = {name: whole.file_checksum(folder / name) for name in said["files"]}
    kept = {
        key: value
        for key, value in said.items()
        if key not in ("manifest_version", "files", "checksum")
    }
    whole.write_manifest(folder, kept, sums)
    with pytest.raises(UserError, match=r"training.json: its 'position' cannot be 'far'"):
        train(recipe, tmp_path / "run", resume=True, device="cpu", threads=1)


@pytest.fixture
def own_score():
    """A score that only a plugin knows."""
    registry.register("own")(GeneralScore)
    yield "own"
    del registry._registered["own"]


def test_a_plugins_model_is_compared_with_what_the_plugin_builds(tmp_path, own_score):
    recipe = settings("rnn", **{"decoder.attention.score": own_score, "text.tokenizer": "bpe"})
    files = good_files()
    sizes = [count_pieces(files[name].decode()) for name in ("source.json", "target.json")]
    weights = weights_of(build_model(recipe, *sizes))
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


def test_without_its_plugin_such_a_model_is_looked_at_but_not_run(tmp_path, capsys):
    recipe = settings("rnn", **{"decoder.attention.score": "own", "text.tokenizer": "bpe"})
    files = {**good_files(), "recipe.toml": dump_recipe(recipe).encode()}
    write_model(tmp_path / "run", files)
    with pytest.raises(UserError, match="no attention is called 'own'.*--plugin"):
        load(tmp_path / "run", device="cpu")
    info(tmp_path / "run")
    assert "own" in capsys.readouterr().out


@pytest.mark.parametrize("beyond", [True, False], ids=["hollow", "too-large"])
def test_an_attention_of_its_own_is_no_leave_to_be_read_without_end(tmp_path, monkeypatch, beyond):
    recipe = settings("rnn", **{"decoder.attention.score": "own", "text.tokenizer": "bpe"})
    files = {**good_files(), "recipe.toml": dump_recipe(recipe).encode()}
    folder = write_model(tmp_path / "run", files)
    table = load_tensors(files["model.safetensors"])
    shapes = {name: one.shape for name, one in table.items()} | {"decoder.attention.own": (2**35,)}
    hollow_weights(folder, shapes)
    if not beyond:
        monkeypatch.setattr("dhyan.model_check.folder.is_hollow", lambda path: False)
    began = time.process_time()
    with pytest.raises(UserError, match="mostly a hole" if beyond else "bytes it may"):
        info(tmp_path / "run")
    assert time.process_time() - began < 1


def test_the_good_one_comes_in_by_each(good, tmp_path, capsys):
    assert load(good, device="cpu").source
    assert load_ensemble([good], device="cpu").target
    assert PretrainedModel.read(Path(good)).weights
    info(good)
    assert "parameters" in capsys.readouterr().out
