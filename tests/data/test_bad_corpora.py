"""Bad corpora: each is refused in one line, or its dropped pairs are counted."""

import json
import re
import subprocess
import sys

import pytest

from tests.data.bad_corpora import BAD_CORPORA
from tests.tiny_models import environment


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """The result of every bad corpus, all checked in one process."""
    root = tmp_path_factory.mktemp("zoo")
    process = subprocess.run(
        [sys.executable, "-m", "tests.data.bad_corpora", str(root)],
        capture_output=True,
        env=environment(),
        timeout=300,
        stdin=subprocess.DEVNULL,
    )
    assert not process.returncode, process.stderr.decode()
    return {result.pop("name"): result for result in map(json.loads, process.stdout.splitlines())}


def test_there_are_at_least_forty_bad_corpora():
    assert len(BAD_CORPORA) >= 40


@pytest.mark.parametrize("name", BAD_CORPORA)
def test_a_bad_corpus_is_reported_in_one_line_or_counted(name, results):
    corpus, result = BAD_CORPORA[name], results[name]
    output = result["errors"] or result["output"]
    assert result["code"] == (2 if corpus.refused else 0), output
    lines = [
        line for line in output.splitlines() if re.search(corpus.refused or corpus.reported, line)
    ]
    assert lines, output
    assert lines[0].isprintable(), "no control characters"
    assert "Traceback" not in output
    assert result["seconds"] < 10


@pytest.mark.parametrize("name", BAD_CORPORA)
def test_training_and_check_refuse_for_the_same_reason(name, results):
    error = results[name]["trained"]
    assert bool(error) == bool(BAD_CORPORA[name].refused), error
    assert "\n" not in error
    if error:
        assert re.search(BAD_CORPORA[name].refused, error), error


def test_no_corpus_needs_more_than_200_megabytes(results):
    assert max(result["megabytes"] for result in results.values()) < 200
