"""By whichever way a model comes in, one that means harm is a fault and nothing else."""

from pathlib import Path

import pytest

from dhyan.attention import GeneralScore, registry
from dhyan.checkpoint import tensors_to_bytes
from dhyan.cli.info import info
from dhyan.config import dump_recipe
from dhyan.faults import Fault
from dhyan.models.build import build_model
from dhyan.run.average import average
from dhyan.run.fine_tune import Origin
from dhyan.run.saved import load, load_ensemble, weights_of
from dhyan.text.vetted import count_pieces
from tests.security.good import good_files, settings, write_model
from tests.security.zoo import EVERYONE, release

EVERY = 16  # one of so many in the quick form
DOORS = {
    "load": lambda bad, good, out: load(bad, device="cpu"),
    "ensemble": lambda bad, good, out: load_ensemble([good, bad], device="cpu"),
    "begin-from": lambda bad, good, out: Origin.read(bad),
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
        with pytest.raises(Fault) as caught:
            DOORS[door](bad, good, tmp_path / "out")
        assert "\n" not in str(caught.value), name
    assert not marker.exists()
    assert not (tmp_path / "out").exists()


@pytest.fixture
def own_score():
    """A score that only a plugin knows."""
    registry.register("own")(GeneralScore)
    yield "own"
    del registry._registered["own"]


def test_a_plugins_model_is_compared_with_what_the_plugin_builds(tmp_path, own_score):
    recipe = settings("rnn", **{"decoder.attention.kind": own_score, "text.kind": "bpe"})
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
    with pytest.raises(Fault, match="do not fit the recipe"):
        load(tmp_path / "bad", device="cpu")


def test_without_its_plugin_such_a_model_is_looked_at_but_not_run(tmp_path, capsys):
    recipe = settings("rnn", **{"decoder.attention.kind": "own", "text.kind": "bpe"})
    files = {**good_files(), "recipe.toml": dump_recipe(recipe).encode()}
    write_model(tmp_path / "run", files)
    with pytest.raises(Fault, match="no attention is called 'own'.*--plugin"):
        load(tmp_path / "run", device="cpu")
    info(tmp_path / "run")
    assert "own" in capsys.readouterr().out


def test_the_good_one_comes_in_by_each(good, tmp_path, capsys):
    assert load(good, device="cpu").source
    assert load_ensemble([good], device="cpu").target
    assert Origin.read(Path(good)).weights
    info(good)
    assert "parameters" in capsys.readouterr().out
