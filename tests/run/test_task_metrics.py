"""A run is validated, its best checkpoint chosen and its model evaluated by the task's metrics."""

import json
import random

import pytest
import torch
from typer.testing import CliRunner

import dhyan
from dhyan.cli import app
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.run import train
from dhyan.tasks import Task, register_task, with_task
from dhyan.training.progress_display import format_scores

GOOD, BAD = "fine great lovely".split(), "poor dull awful".split()
SETTINGS = {
    "task": "classify", "text.tokenizer": "words", "training.steps": 30,
    "training.validate_every": 15, "training.save_every": 30, "training.learning_rate": 0.01,
    "training.valid_sentences": 40,
}  # fmt: skip


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


def write_labels(path, count, seed):
    generator = random.Random(seed)
    rows = []
    for _ in range(count):
        label, words = generator.choice([("good", GOOD), ("bad", BAD)])
        rows.append(
            f"{' '.join(generator.choices(words, k=3))} {generator.randint(0, 999)}\t{label}\n"
        )
    path.write_text("".join(rows))
    return path


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("labels")
    pairs, held_out = (
        write_labels(folder / name, count, seed)
        for seed, (name, count) in enumerate({"train.tsv": 300, "valid.tsv": 40}.items())
    )
    settings = {"data.source": str(pairs), "data.valid_source": str(held_out), **SETTINGS}
    settings |= {"data.synthetic": "", "data.allow_leakage": True}
    recipe = load_recipe("numbers", settings | {"training.early_stopping_metric": "macro_f1"})
    for _ in train(recipe, folder / "run"):
        pass
    return folder / "run"


def validations(run):
    events = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    return [event["scores"] for event in events if event["event"] == "validated"]


def test_validations_record_the_metrics_of_the_task(run_folder):
    scores = validations(run_folder)
    assert [list(row) for row in scores] == [["loss", "accuracy", "macro_f1"]] * 2
    best = json.loads((run_folder / "best.json").read_text())
    assert best["macro_f1"] == max(row["macro_f1"] for row in scores)
    assert "macro-F1" in format_scores(scores[0])
    assert "BLEU" not in format_scores(scores[0])


def test_evaluate_scores_by_the_task_and_reports_by_class(run_folder):
    test = run_folder.parent / "valid.tsv"
    line = ["evaluate", run_folder, "--source", test, "--bootstrap", 50]
    table = CliRunner().invoke(app, list(map(str, line)))
    assert table.exit_code == 0, table.output
    for words in ("accuracy", "macro-F1", "accuracy by class", "confusion matrix"):
        assert words in table.stdout
    assert "BLEU" not in table.stdout
    facts = json.loads(CliRunner().invoke(app, [*map(str, line), "--json"]).stdout)
    assert list(facts["scores"]) == ["accuracy", "macro_f1"]
    report = facts["class_report"]
    assert {entry["name"] for entry in report["classes"]} == {"good", "bad"}
    right = sum(row[place] for place, row in enumerate(report["confusion"]))
    assert facts["scores"]["accuracy"]["value"] == pytest.approx(100 * right / 40)


def test_evaluate_in_python_scores_by_the_task(run_folder):
    result = dhyan.evaluate(run_folder, run_folder.parent / "valid.tsv")
    assert list(result) == ["accuracy", "macro_f1"]
    assert result.class_report.metric == "accuracy"
    assert dhyan.evaluate(["a"], [("a", "a")], metrics=["exact"]).class_report is None


@pytest.mark.parametrize("metric", ["loss", "accuracy", "macro_f1"])
def test_the_loss_and_the_metrics_of_a_task_may_choose_the_checkpoint(metric):
    settings = {"task": "classify", "training.early_stopping_metric": metric}
    assert with_task(load_recipe("numbers", settings)).training.early_stopping_metric == metric


def test_a_metric_of_another_task_is_refused():
    recipe = load_recipe("numbers", {"training.early_stopping_metric": "macro_f1"})
    with pytest.raises(UserError, match="the task 'translate' has no such .* loss, bleu, chrf"):
        with_task(recipe)


def test_a_task_names_registered_metrics_only():
    with pytest.raises(UserError, match="metric 'meteor' is not known"):
        register_task(Task(name="retell", about="A text in other words.", metrics=("meteor",)))
