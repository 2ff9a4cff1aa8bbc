"""Result files name the machine that measured, not the one that stores them."""

import json
from xml.etree import ElementTree

import pytest

from benchmarks import report
from benchmarks.soak_tests import summarize

FIGURES = {
    "machine": {"gpu": "some", "processor": "another", "cores": 512, "system": "Plan 9"},
    "versions": {"python": "9.9.9", "torch": "9.0"},
    "models": {},
}


@pytest.fixture(autouse=True)
def results(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path)
    monkeypatch.setattr(report, "git", lambda *arguments: " ".join(arguments))


def test_an_imported_result_names_its_own_machine():
    path = report.write_imported("ladder", FIGURES, where="far", commit="abc")
    result = json.loads(path.read_text())
    assert result["machine"] == FIGURES["machine"]
    assert (result["python"], result["versions"]) == ("9.9.9", {"torch": "9.0"})
    assert (result["commit"], result["changed_since"]) == ("rev-parse abc", None)
    assert result["figures"] == FIGURES
    assert path.name.startswith("ladder_far_")


def test_a_local_result_names_this_machine():
    result = json.loads(report.write_result("startup", FIGURES).read_text())
    assert result["machine"]["cores"] != 512
    assert result["changed_since"] is True
    assert result["versions"].keys() == set(report.PACKAGES)


def test_soak_tests_are_summarized_by_file():
    text = """<testsuites><testsuite>
      <testcase classname="a" time="1.4"><system-out>--- Captured ---
10 of 10</system-out></testcase>
      <testcase classname="a" time="2.2"><failure/></testcase>
      <testcase classname="b" time="0.1"><skipped/></testcase></testsuite></testsuites>"""
    summary = summarize([ElementTree.fromstring(text)])
    assert summary["outcomes"] == {"passed": 1, "failure": 1, "skipped": 1}
    assert summary["files"]["a"] == {
        "passed": 1,
        "failure": 1,
        "seconds": 4,
        "output": ["10 of 10"],
    }
    assert summary["files"]["b"] == {"skipped": 1, "seconds": 0, "output": []}
