"""Every task goes through the same commands; one of a plugin through training as well."""

import json

import pytest
import torch

from dhyan.run import load
from dhyan.tasks import find_task
from tests.picture_models import picture
from tests.task_models import OUTPUTS, write_task_model
from tests.tiny_models import RECIPES, SIZES, as_arguments, dhyan, here

PLUGIN = """
from dhyan.tasks import Task
import dhyan

def read_shouts(path, report):
    for line, text in enumerate(path.read_text().splitlines(), 1):
        yield line, text, text.upper()

def three_words(target, requests):
    def rule(ids, scores, sentence):
        end = 2  # </s>
        return scores if ids.shape[1] < 4 else scores.masked_fill(
            dhyan_torch.arange(scores.shape[1]) != end, -float("inf"))
    return rule

import torch as dhyan_torch
dhyan.register_task(Task(
    name="shout", about="The same in upper case.", source="words", target="symbols",
    rules=(three_words,), metrics=("exact",), readers={".shout": read_shouts}))
"""


def ok(process):
    assert process.returncode == 0, process.stderr.decode()
    return process.stdout.decode()


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    torch.set_num_threads(1)


@pytest.mark.parametrize("task", OUTPUTS)
def test_a_model_of_any_task_predicts_is_scored_and_drawn(task, tmp_path):
    model = write_task_model(tmp_path / "run", task)
    source = "सीता नई दिल्ली में है"
    if find_task(task).source.startswith("image"):
        picture().save(tmp_path / "a.png")
        source = str(tmp_path / "a.png")
    (tmp_path / "sources").write_text(f"{source}\n{source}\n")
    few = ("--max-length", 12) if task != "tag" else ()
    first, second = ok(here("predict", model, tmp_path / "sources", *few)).splitlines()
    assert first == second
    assert load(model).predict(source, max_length=12 if few else 0).text == first
    target = OUTPUTS[task][0].split("\n")[0]
    if task == "tag":
        target = " ".join(["O"] * len(source.split()))
    (tmp_path / "pairs.jsonl").write_text(json.dumps({"source": source, "target": target}) + "\n")
    scored = ("--source", tmp_path / "pairs.jsonl", "--bootstrap", 0, "--json")
    scores = ok(here("evaluate", model, *scored))
    assert set(find_task(task).metrics) <= set(json.loads(scores)["scores"])
    ok(here("show", model, source, "-o", tmp_path / "figure.png"))
    assert (tmp_path / "figure.png").stat().st_size > 5000


def test_a_task_of_a_plugin_trains_predicts_and_is_scored(tmp_path):
    (tmp_path / "shout.py").write_text(PLUGIN)
    lines = [f"{a} {b}" for a in "one two three four".split() for b in "red blue green".split()]
    (tmp_path / "few.shout").write_text("\n".join(lines))
    settings = {
        **SIZES["rnn"], "task": "shout", "data.source": tmp_path / "few.shout",
        "training.steps": 2, "training.early_stopping_metric": "exact",
        "training.valid_sentences": 2, "training.validate_every": 2,
    }  # fmt: skip
    plugin = ("--plugin", tmp_path / "shout.py")
    out = tmp_path / "run"
    ok(dhyan(*plugin, "train", RECIPES["rnn"], "--out", out, *as_arguments(settings)))
    (tmp_path / "text").write_text("one red\n")
    assert len(ok(dhyan(*plugin, "predict", out, tmp_path / "text")).split()) <= 3
    scores = ok(dhyan(*plugin, "evaluate", out, "--source", tmp_path / "few.shout", "--json"))
    assert set(json.loads(scores)["scores"]) == {"exact"}
    listed = {task["name"]: task for task in json.loads(ok(dhyan(*plugin, "tasks", "--json")))}
    assert listed["shout"]["metrics"] == ["exact"]
