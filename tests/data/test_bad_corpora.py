"""Corpora as they should not be: each is refused in one line, or what is dropped is counted."""

import json
import re
import subprocess
import sys

import pytest

from tests.data.bad_corpora import ZOO
from tests.tiny_models import environment


@pytest.fixture(scope="module")
def seen(tmp_path_factory):
    """What became of every one of them, tried one after the other in one process."""
    root = tmp_path_factory.mktemp("zoo")
    done = subprocess.run(
        [sys.executable, "-m", "tests.data.bad_corpora", str(root)],
        capture_output=True,
        env=environment(),
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert not done.returncode, done.stderr.decode()
    return {found.pop("name"): found for found in map(json.loads, done.stdout.splitlines())}


def test_the_zoo_is_large():
    assert len(ZOO) >= 40


@pytest.mark.parametrize("name", ZOO)
def test_a_bad_corpus_is_reported_in_one_line_or_counted(name, seen):
    corpus, found = ZOO[name], seen[name]
    said = found["errors"] or found["output"]
    assert found["code"] == (2 if corpus.refused else 0), said
    lines = [line for line in said.splitlines() if re.search(corpus.refused or corpus.told, line)]
    assert lines, said
    assert lines[0].isprintable(), "nothing that a terminal would act on"
    assert "Traceback" not in said
    assert found["seconds"] < 10


@pytest.mark.parametrize("name", ZOO)
def test_training_refuses_what_the_check_refuses_for_the_same_reason(name, seen):
    fault = seen[name]["trained"]
    assert bool(fault) == bool(ZOO[name].refused), fault
    assert "\n" not in fault
    if fault:
        assert re.search(ZOO[name].refused, fault), fault


def test_no_corpus_takes_more_than_two_hundred_megabytes(seen):
    assert max(found["megabytes"] for found in seen.values()) < 200
