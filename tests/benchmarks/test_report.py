"""A result says where it was measured, and claims nothing of the machine that only keeps it."""

import json
from xml.etree import ElementTree

import pytest

from benchmarks import report
from benchmarks.soaks import summed

FIGURES = {
    "machine": {"gpu": "some", "processor": "another", "cores": 512, "system": "Plan 9"},
    "versions": {"python": "9.9.9", "torch": "9.0"},
    "models": {},
}


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "git", lambda *words: " ".join(words))


def test_what_another_machine_brought_is_said_to_be_of_it():
    path = report.write_brought("ladder", FIGURES, where="far", commit="abc")
    kept = json.loads(path.read_text())
    assert kept["machine"] == FIGURES["machine"]
    assert (kept["python"], kept["versions"]) == ("9.9.9", {"torch": "9.0"})
    assert (kept["commit"], kept["changed_since"]) == ("rev-parse abc", None)
    assert kept["figures"] == FIGURES
    assert path.name.startswith("ladder_far_")


def test_what_was_measured_here_is_said_to_be_of_here():
    kept = json.loads(report.write("start", FIGURES).read_text())
    assert kept["machine"]["cores"] != 512
    assert kept["changed_since"] is True
    assert kept["versions"].keys() == set(report.PACKAGES)


def test_of_the_long_tests_is_kept_how_each_ended_and_what_it_said():
    text = """<testsuites><testsuite>
      <testcase classname="a" time="1.4"><system-out>--- Captured ---
10 of 10</system-out></testcase>
      <testcase classname="a" time="2.2"><failure/></testcase>
      <testcase classname="b" time="0.1"><skipped/></testcase></testsuite></testsuites>"""
    found = summed([ElementTree.fromstring(text)])
    assert found["ends"] == {"passed": 1, "failure": 1, "skipped": 1}
    assert found["files"]["a"] == {"passed": 1, "failure": 1, "seconds": 4, "said": ["10 of 10"]}
    assert found["files"]["b"] == {"skipped": 1, "seconds": 0, "said": []}
