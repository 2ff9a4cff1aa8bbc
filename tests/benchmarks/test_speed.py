"""Speed benchmarks run at tiny sizes, and their tables are formatted."""

import json
import signal
import subprocess
import sys
from dataclasses import asdict

import numpy as np
import pytest

from benchmarks import report
from benchmarks.speed import driver, tables
from benchmarks.speed.corpus import multi30k, random_corpus
from benchmarks.speed.quality import Job, compare_means, run_job
from benchmarks.speed.scaling import draw_scaling
from benchmarks.speed.timing import Row, Table, short_number, throughputs

PARTS = {"train": 40, "valid": 6, "test_2016_flickr": 6}
ENGLISH, GERMAN = "a man sees red house green two dogs".split(), "ein Mann sieht rotes Haus".split()


@pytest.fixture
def data(tmp_path):
    folder = tmp_path / "multi30k"
    folder.mkdir()
    for part, count in PARTS.items():
        for language, words in (("en", ENGLISH), ("de", GERMAN)):
            lines = [
                " ".join(words[(at * step) % len(words)] for step in range(1, 2 + at % 5))
                for at in range(count)
            ]
            (folder / f"{part}.{language}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return tmp_path


@pytest.fixture
def run(data, tmp_path):
    def run(benchmark, *arguments):
        out = tmp_path / "out"
        driver.main(
            [benchmark, "--quick", "--alone", "--data", str(data), "--out", str(out), *arguments]
        )
        return {
            path.name.partition("_")[0]: json.loads(path.read_text()) for path in out.glob("*.json")
        }

    return run


def test_a_result_names_benchmark_date_commit_and_machine(run):
    result = run("hardware-limits")["hardware-limits"]
    assert result.keys() >= {"what", "date", "commit", "machine", "python", "versions", "figures"}
    assert result["figures"]["checks"]["product"]["right"]
    for row in result["figures"]["rows"]:
        assert row["low"] <= row["median"] <= row["high"]
        assert row["repeats"] > 1


def first_without_soak(cases):
    """The first case in every test run, the others as soak tests."""
    return [
        pytest.param(case, marks=[pytest.mark.soak] * (number > 0))
        for number, case in enumerate(cases)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("case", first_without_soak(driver.CASES["training"]))
def test_every_training_case_passes_its_check_with_both_kernels(run, case):
    result = run("training", "--case", case)[case]["figures"]
    assert not result["failed"]
    assert result["checks"]["losses"]["right"]
    assert {row["who"] for row in result["rows"]} == {"dhyan", "dhyan, reference kernels"}


@pytest.mark.slow
@pytest.mark.parametrize("case", first_without_soak(driver.CASES["translation"]))
def test_every_translation_case_measures_both_searches(run, case):
    result = run("translation", "--case", case)[case]["figures"]
    assert not result["failed"]
    assert "dhyan, reference kernels" in {row["who"] for row in result["rows"]}


@pytest.mark.soak
def test_scaling_is_measured_and_drawn(run, tmp_path):
    result = run("scaling")["scaling"]["figures"]
    assert not result["failed"]
    draw_scaling(result, tmp_path / "scaling.svg")
    assert (tmp_path / "scaling.svg").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bahdanau", "luong", "transformer"])
def test_fused_and_reference_kernels_train_alike(data, model):
    job = Job(model, "fused", steps=3, test=2, quick=True, data=str(data), device="cpu")
    fused, reference = (
        run_job(Job(**{**asdict(job), "kernels": kernels})) for kernels in ("fused", "reference")
    )
    assert fused["losses"] == pytest.approx(reference["losses"], rel=1e-3)
    assert fused["bleu"] == pytest.approx(reference["bleu"], abs=5)


def test_means_are_compared_over_common_seeds():
    reference = {1: 27.0, 2: 26.0, 3: 19.0}
    assert compare_means({1: 27.2, 2: 26.2, 3: 19.2}, reference, 3)["right"]
    comparison = compare_means({1: 27.2, 2: 26.2}, reference, 3)
    assert comparison["difference"] == pytest.approx(0.2)
    assert not comparison["right"]
    assert not compare_means({1: 25.0, 2: 26.0, 3: 19.0}, {1: 27.0, 2: 27.0, 3: 19.0}, 3)["right"]
    assert not compare_means({}, reference, 3)["right"]


def test_tokenizers_are_trained_once(data):
    first = multi30k(data / "multi30k", 300)
    (data / "multi30k" / "bpe-300.en.json").touch()
    second = multi30k(data / "multi30k", 300)
    assert first.examples.source.ids.tolist() == second.examples.source.ids.tolist()
    assert len(first.validation) == PARTS["valid"]


def test_random_sentences_have_one_length():
    batch = random_corpus(5, 7, 50).examples.batch(np.array([0, 1, 4]))
    assert batch.source.ids.shape == batch.labels.ids.shape == (3, 7)


def test_an_error_in_one_system_is_recorded():
    table = Table({}, lambda line: None)
    with table.trying("one"):
        raise ValueError("no such thing")
    table.add(Row.of("other", "here", "tokens/s", [3.0, 1.0, 2.0]))
    result = table.figures()
    assert result["failed"] == {"one": "ValueError: no such thing"}
    assert result["rows"][0]["median"] == 2.0


def test_a_terminated_benchmark_writes_its_rows(tmp_path):
    script = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from benchmarks.speed.driver import write_if_terminated\n"
        "from benchmarks.speed.timing import Row, Table\n"
        "table = Table({}, print)\n"
        "table.add(Row.of('one', 'here', 'tokens/s', [1.0]))\n"
        f"path = Path({str(tmp_path)!r}) / 'rows'\n"
        "def write(what, figures): path.write_text(repr(figures['rows']))\n"
        "with write_if_terminated('case', write):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    process = subprocess.run(
        [sys.executable, "-c", script], check=False, cwd=tables.PAGE.parents[1]
    )
    assert process.returncode == 128 + signal.SIGTERM
    assert "'who': 'one'" in (tmp_path / "rows").read_text()


def test_throughputs_are_amounts_per_second():
    assert all(rate > 10 for rate in throughputs(lambda: None, 10, repeats=3))


@pytest.mark.parametrize(
    ("number", "text"), [(4.213, "4.21"), (57_321, "57.3k"), (392_000, "392k"), (1.02e6, "1.02M")]
)
def test_numbers_are_abbreviated(number, text):
    assert short_number(number) == text


def test_a_table_has_a_row_per_system_and_a_column_per_setting():
    rows = [
        asdict(Row.of(who, at, "tokens/s", [rate]))
        for who, at, rate in (("a", "x", 1.0), ("a", "y", 2000.0), ("b", "y", 3e6))
    ]
    assert tables.pivot(rows).splitlines() == [
        "| tokens/s | x | y |",
        "|---|---:|---:|",
        "| a | 1 | 2k |",
        "| b | – | 3M |",
    ]


def test_imported_results_get_the_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path / "rows")
    (tmp_path / "rows").mkdir()
    monkeypatch.setattr(
        report, "git", lambda *arguments: "abc" if arguments[0] == "rev-parse" else ""
    )
    path = report.write_device_result("case", {}, accelerator="NVIDIA H200", folder=tmp_path)
    assert path.name.startswith("case_h200_")
    facts = json.loads(path.read_text()) | {"commit": None}
    path.write_text(json.dumps(facts))
    [imported] = report.import_results(tmp_path, "HEAD")
    assert json.loads(imported.read_text())["commit"] == "abc"
