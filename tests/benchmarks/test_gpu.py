"""The measurements of speed run at tiny sizes, and the page says what they found."""

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
from benchmarks.speed.quality import Job, paired, run_job
from benchmarks.speed.scaling import picture
from benchmarks.speed.timing import Row, Table, short, throughputs

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
    def run(kind, *words):
        out = tmp_path / "out"
        driver.main([kind, "--quick", "--alone", "--data", str(data), "--out", str(out), *words])
        return {
            path.name.partition("_")[0]: json.loads(path.read_text()) for path in out.glob("*.json")
        }

    return run


def test_a_result_says_what_where_when_and_of_which_commit(run):
    found = run("ceilings")["ceilings"]
    assert found.keys() >= {"what", "date", "commit", "machine", "python", "versions", "figures"}
    assert found["figures"]["checks"]["product"]["right"]
    for row in found["figures"]["rows"]:
        assert row["low"] <= row["median"] <= row["high"]
        assert row["repeats"] > 1


def first_soon(cases):
    """The first in every run of the tests, the others in the long ones."""
    return [
        pytest.param(case, marks=[pytest.mark.soak] * (number > 0))
        for number, case in enumerate(cases)
    ]


@pytest.mark.slow
@pytest.mark.parametrize("case", first_soon(driver.CASES["training"]))
def test_every_case_of_training_is_right_and_has_both_paths(run, case):
    found = run("training", "--case", case)[case]["figures"]
    assert not found["failed"]
    assert found["checks"]["losses"]["right"]
    assert {row["who"] for row in found["rows"]} == {"dhyan", "dhyan, plain"}


@pytest.mark.slow
@pytest.mark.parametrize("case", first_soon(driver.CASES["translation"]))
def test_every_case_of_translation_says_as_many_tokens_as_it_should(run, case):
    found = run("translation", "--case", case)[case]["figures"]
    assert not found["failed"]
    assert "dhyan, plain" in {row["who"] for row in found["rows"]}


@pytest.mark.soak
def test_growth_is_measured_and_drawn(run, tmp_path):
    found = run("growth")["growth"]["figures"]
    assert not found["failed"]
    picture(found, tmp_path / "growth.svg")
    assert (tmp_path / "growth.svg").stat().st_size > 1000


@pytest.mark.slow
@pytest.mark.parametrize("model", ["bahdanau", "luong", "transformer"])
def test_both_paths_learn_the_same(data, model):
    job = Job(model, "fast", steps=3, test=2, quick=True, data=str(data), device="cpu")
    fast, plain = (run_job(Job(**{**asdict(job), "path": path})) for path in ("fast", "plain"))
    assert fast["losses"] == pytest.approx(plain["losses"], rel=1e-3)
    assert fast["bleu"] == pytest.approx(plain["bleu"], abs=5)


def test_means_are_compared_over_the_same_seeds_and_count_only_if_none_is_missing():
    plain = {1: 27.0, 2: 26.0, 3: 19.0}
    assert paired({1: 27.2, 2: 26.2, 3: 19.2}, plain, 3)["right"]
    some = paired({1: 27.2, 2: 26.2}, plain, 3)
    assert some["apart"] == pytest.approx(0.2)
    assert not some["right"]
    assert not paired({1: 25.0, 2: 26.0, 3: 19.0}, {1: 27.0, 2: 27.0, 3: 19.0}, 3)["right"]
    assert not paired({}, plain, 3)["right"]


def test_a_corpus_has_its_tokenizers_learned_once(data):
    one = multi30k(data / "multi30k", 300)
    (data / "multi30k" / "bpe-300.en.json").touch()
    other = multi30k(data / "multi30k", 300)
    assert one.examples.source.ids.tolist() == other.examples.source.ids.tolist()
    assert len(one.validation) == PARTS["valid"]


def test_made_up_sentences_have_one_length():
    batch = random_corpus(5, 7, 50).examples.batch(np.array([0, 1, 4]))
    assert batch.source.ids.shape == batch.labels.ids.shape == (3, 7)


def test_what_fails_is_noted_and_the_rest_goes_on():
    table = Table({}, lambda line: None)
    with table.trying("one"):
        raise ValueError("no such thing")
    table.add(Row.of("other", "here", "tokens/s", [3.0, 1.0, 2.0]))
    found = table.figures()
    assert found["failed"] == {"one": "ValueError: no such thing"}
    assert found["rows"][0]["median"] == 2.0


def test_who_is_cut_short_keeps_the_rows_there_are(tmp_path):
    script = (
        "import os, signal\n"
        "from pathlib import Path\n"
        "from benchmarks.speed.driver import cut_short\n"
        "from benchmarks.speed.timing import Row, Table\n"
        "table = Table({}, print)\n"
        "table.add(Row.of('one', 'here', 'tokens/s', [1.0]))\n"
        f"place = Path({str(tmp_path)!r}) / 'kept'\n"
        "with cut_short('case', lambda what, found: place.write_text(repr(found['rows']))):\n"
        "    os.kill(os.getpid(), signal.SIGTERM)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], check=False, cwd=tables.PAGE.parents[1])
    assert done.returncode == 128 + signal.SIGTERM
    assert "'who': 'one'" in (tmp_path / "kept").read_text()


def test_throughputs_are_amounts_per_second():
    assert all(pace > 10 for pace in throughputs(lambda: None, 10, repeats=3))


@pytest.mark.parametrize(
    ("number", "said"), [(4.213, "4.21"), (57_321, "57.3k"), (392_000, "392k"), (1.02e6, "1.02M")]
)
def test_figures_are_short(number, said):
    assert short(number) == said


def test_a_table_has_a_row_for_everyone_and_a_column_for_every_place():
    rows = [
        asdict(Row.of(who, at, "tokens/s", [pace]))
        for who, at, pace in (("a", "x", 1.0), ("a", "y", 2000.0), ("b", "y", 3e6))
    ]
    assert tables.pivot(rows).splitlines() == [
        "| tokens/s | x | y |",
        "|---|---:|---:|",
        "| a | 1 | 2k |",
        "| b | – | 3M |",
    ]


def test_the_page_says_what_the_files_say():
    page = tables.PAGE.read_text(encoding="utf-8")
    _, _, rest = page.partition(tables.BEGIN)
    shown, end, _ = rest.partition(tables.END)
    assert end
    assert shown.strip() == tables.tables().strip()


def test_results_brought_from_elsewhere_are_of_the_commit_named(tmp_path, monkeypatch):
    monkeypatch.setattr(report, "RESULTS", tmp_path / "kept")
    (tmp_path / "kept").mkdir()
    monkeypatch.setattr(report, "git", lambda *words: "abc" if words[0] == "rev-parse" else "")
    path = report.write_beside("case", {}, accelerator="NVIDIA H200", folder=tmp_path)
    assert path.name.startswith("case_h200_")
    facts = json.loads(path.read_text()) | {"commit": None}
    path.write_text(json.dumps(facts))
    [kept] = report.keep(tmp_path, "HEAD")
    assert json.loads(kept.read_text())["commit"] == "abc"
