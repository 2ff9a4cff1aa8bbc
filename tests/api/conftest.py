"""One tiny trained model for every test of the Python interface."""

import itertools

import pytest

import dhyan
from dhyan.data.synthetic import number_pairs
from tests.tiny_models import OFTEN, SIZES

TINY = {**SIZES["rnn"], **OFTEN}


@pytest.fixture(scope="session")
def pairs():
    """Generated pairs as tuples."""
    return [(pair.source, pair.target) for pair in itertools.islice(number_pairs(seed=5), 300)]


@pytest.fixture(scope="session")
def trained(tmp_path_factory, pairs):
    """The result of a run on a list of pairs."""
    out = tmp_path_factory.mktemp("api") / "run"
    return dhyan.train(pairs, out=out, settings=TINY, threads=1, progress=False)


@pytest.fixture
def run_folder(trained):
    return trained.folder


@pytest.fixture
def train_quickly(tmp_path):
    """Train for one step."""

    def train(data, **arguments):
        quick = {**TINY, "training.valid_sentences": 1, "training.validate_every": 99}
        del quick["training.steps"]
        arguments = {"out": tmp_path / "run", "steps": 1, "threads": 1, **arguments}
        return dhyan.train(data, settings=quick, progress=False, **arguments)

    return train
