"""What is read, learned and prepared does not depend on hashes, threads or the locale."""

import json
import subprocess
import sys

import pytest

from tests.data.prepare_in_process import prepared_in
from tests.tiny_models import environment

PLACES = {
    "C": {"PYTHONHASHSEED": "0", "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"},
    "another hash": {"PYTHONHASHSEED": "7"},
    "four threads": {"RAYON_NUM_THREADS": "4", "OMP_NUM_THREADS": "4", "LC_ALL": "hi_IN.UTF-8"},
    "one thread": {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "LC_ALL": "tr_TR"},
}
FIRST, *OTHERS = PLACES


@pytest.fixture(scope="module")
def here(tmp_path_factory):
    return prepared_in(tmp_path_factory.mktemp("here"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [FIRST, *(pytest.param(name, marks=pytest.mark.soak) for name in OTHERS)]
)
def test_another_process_writes_the_same_bytes(name, here, tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "tests.data.prepare_in_process", str(tmp_path)],
        env={**environment(), **PLACES[name]},
        capture_output=True,
        timeout=120,
    )
    assert not done.returncode, done.stderr.decode()
    assert json.loads(done.stdout) == here
    assert len(here) > 12
    assert "10 of 10 test sentences occur in the training text" in here["said"]
