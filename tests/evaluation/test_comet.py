"""COMET by a package of that name: here a stand-in with its interface, since it is not installed."""

import json
import sys

import pytest

import dhyan
from dhyan.errors import UserError
from dhyan.evaluation.comet import VARIABLE
from dhyan.evaluation.metrics import score
from tests import tiny_models

STAND_IN = '''
"""The interface of unbabel-comet: load_from_checkpoint and predict."""

class Model:
    def __init__(self, path):
        self.path = path

    def predict(self, samples, batch_size, gpus, progress_bar):
        assert not progress_bar
        scores = [len(s["mt"]) / len(s["src"] + s["ref"]) for s in samples]
        return {"scores": scores, "system_score": sum(scores) / len(scores)}

def load_from_checkpoint(path):
    return Model(path)
'''
SOURCES, HYPOTHESES, REFERENCES = ["abcd", "ab"], ["xyz", "x"], ["wv", "uvw"]
EXPECTED = 100 * (3 / 6 + 1 / 5) / 2


@pytest.fixture
def model(tmp_path, monkeypatch):
    """A file in the place of a model; its scores come from the stand-in."""
    path = tmp_path / "wmt22-comet-da" / "checkpoints" / "model.ckpt"
    path.parent.mkdir(parents=True)
    path.touch()
    monkeypatch.setenv(VARIABLE, str(path))
    return path


@pytest.fixture
def package(tmp_path, monkeypatch):
    (tmp_path / "site" / "comet").mkdir(parents=True)
    (tmp_path / "site" / "comet" / "__init__.py").write_text(STAND_IN)
    monkeypatch.syspath_prepend(tmp_path / "site")
    monkeypatch.delitem(sys.modules, "comet", raising=False)
    yield tmp_path / "site"
    sys.modules.pop("comet", None)


def test_the_score_is_the_mean_of_the_sentences(model, package):
    scores = score(HYPOTHESES, REFERENCES, sources=SOURCES, metrics=["comet"])
    assert scores["comet"].value == pytest.approx(EXPECTED)
    assert scores["comet"].signature.startswith(
        "nrefs:1|refs:first|model:wmt22-comet-da/model.ckpt"
    )


def test_evaluate_reads_the_sources_and_other_metrics_stand_beside_it(model, package):
    pairs = list(zip(SOURCES, REFERENCES, strict=True))
    evaluation = dhyan.evaluate(HYPOTHESES, pairs, metrics=["comet", "chrf"])
    assert list(evaluation.scores) == ["comet", "chrf"]
    assert evaluation.scores["comet"].value == pytest.approx(EXPECTED)


def test_the_command_scores_files_with_an_interval(model, package, tmp_path):
    for name, lines in (("src", SOURCES), ("out", HYPOTHESES), ("ref", REFERENCES)):
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")
    options = ["--target", "ref.txt", "--metrics", "comet", "--bootstrap", "50", "--json"]
    process = tiny_models.here("evaluate", "out.txt", "--source", "src.txt", *options, cwd=tmp_path)
    result = json.loads(process.stdout)
    assert result["scores"]["comet"]["value"] == pytest.approx(EXPECTED, abs=0.01)
    without = tiny_models.here("evaluate", "out.txt", *options, cwd=tmp_path)
    assert without.returncode == 2
    assert b"metric 'comet' reads the sources; name them with --source" in without.stderr


def test_a_missing_package_is_named_with_the_command_that_installs_it(model, monkeypatch):
    monkeypatch.setitem(sys.modules, "comet", None)
    with pytest.raises(UserError, match="needs the package unbabel-comet.*pip install unbabel-com"):
        score(HYPOTHESES, REFERENCES, sources=SOURCES, metrics=["comet"])


@pytest.mark.parametrize(("name", "found"), [("", "is not set"), ("no/such.ckpt", "is no file")])
def test_a_missing_model_is_named_with_the_variable(name, found, package, monkeypatch):
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(UserError, match=f"{VARIABLE}.*{found}.*set it to the checkpoint"):
        score(HYPOTHESES, REFERENCES, sources=SOURCES, metrics=["comet"])
