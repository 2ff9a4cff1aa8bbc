"""Prepared files do not depend on hash seeds, threads or the locale."""

import json
import subprocess
import sys

import pytest

from tests.data.prepare_in_process import prepare_in
from tests.tiny_models import environment

ENVIRONMENTS = {
    "C": {"PYTHONHASHSEED": "0", "LC_ALL": "C", "LANG": "C", "PYTHONUTF8": "0"},
    "another hash": {"PYTHONHASHSEED": "7"},
    "four threads": {"RAYON_NUM_THREADS": "4", "OMP_NUM_THREADS": "4", "LC_ALL": "hi_IN.UTF-8"},
    "one thread": {"RAYON_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "LC_ALL": "tr_TR"},
}
FIRST, *OTHERS = ENVIRONMENTS


@pytest.fixture(scope="module")
def expected(tmp_path_factory):
    return prepare_in(tmp_path_factory.mktemp("here"))


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [FIRST, *(pytest.param(name, marks=pytest.mark.soak) for name in OTHERS)]
)
def test_another_process_writes_the_same_bytes(name, expected, tmp_path):
    process = subprocess.run(
        [sys.executable, "-m", "tests.data.prepare_in_process", str(tmp_path)],
        env={**environment(), **ENVIRONMENTS[name]},
        capture_output=True,
        timeout=120,
    )
    assert not process.returncode, process.stderr.decode()
    assert json.loads(process.stdout) == expected
    assert len(expected) > 12
    assert "10 of 10 test sentences occur in the training text" in expected["check"]
