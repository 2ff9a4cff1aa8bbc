"""Training from Python, on data in memory: the result, its folder, resuming, errors."""

import json
import logging
import os
import signal
from dataclasses import replace

import pandas
import polars
import pytest

import dhyan
from dhyan.api import progress
from dhyan.model_check import find_saved_recipe
from dhyan.run import Run
from dhyan.training.events import Stepped, Validated
from tests.api.conftest import TINY
from tests.tiny_models import dhyan as dhyan_command
from tests.tiny_models import write_corpus


def test_a_result_has_translator_metrics_and_folder(trained):
    assert trained.steps == 12
    assert {"loss", "bleu", "chrf"} == set(trained.metrics)
    assert (trained.folder / "metrics.jsonl").is_file()
    assert isinstance(trained.translator.translate("seven", max_length=4), dhyan.Translation)
    assert len(repr(trained)) < 200
    assert trained.to_frame()["step"].to_list() == [4, 8, 12]
    best = trained.to_frame().set_index("step").loc[trained.best_step]
    assert dict(best) == dict(trained.metrics)


def test_pairs_in_memory_are_kept_in_the_run_folder(trained, pairs):
    lines = (trained.folder / "data" / "train.jsonl").read_text().splitlines()
    assert [tuple(json.loads(line).values()) for line in lines] == pairs


def test_frames_lists_and_generators_train_the_same_model(train_quickly, pairs, tmp_path):
    forms = {
        "list": pairs,
        "generator": (pair for pair in pairs),
        "pandas": pandas.DataFrame(pairs, columns=["source", "target"]),
        "polars": polars.DataFrame(pairs, schema=["source", "target"], orient="row"),
    }
    losses = {}
    for name, data in forms.items():
        result = train_quickly(data, out=str(tmp_path / name))
        metrics = (result.folder / "metrics.jsonl").read_text().splitlines()
        losses[name] = json.loads(metrics[1])["loss"]
    assert len(set(losses.values())) == 1


def test_columns_name_the_languages_and_the_texts(train_quickly, pairs):
    frame = pandas.DataFrame(pairs, columns=["en", "hi"])
    translator = train_quickly(frame, columns=("en", "hi")).translator
    assert (translator.source_language, translator.language) == ("en", "hi")


def test_files_and_a_validation_set_in_memory_can_be_mixed(train_quickly, pairs, tmp_path):
    files = write_corpus(tmp_path, pairs=250)
    result = train_quickly(
        files, valid=[("uncle comma red", "चाचा अल्पविराम लाल"), ("aunt dash blue", "चाची रेखा नीली")]
    )
    recipe = (result.folder / "step-1" / "recipe.toml").read_text()
    assert f'source = "{files[0]}"' in recipe
    assert f'valid_source = "{result.folder / "data" / "valid.jsonl"}"' in recipe


def test_a_recipe_with_a_task_needs_no_data(train_quickly):
    result = train_quickly(None, recipe="numbers")
    assert not (result.folder / "data").exists()


def test_a_recipe_may_be_an_object(train_quickly, pairs):
    recipe = dhyan.load_recipe("bahdanau2015-small", TINY)
    recipe = replace(recipe, about="mine")
    result = train_quickly(pairs, recipe=recipe, seed=7)
    saved = dhyan.load_recipe(str(result.folder / "step-1" / "recipe.toml"))
    assert (saved.about, saved.training.seed, saved.training.steps) == ("mine", 7, 1)


def test_a_run_resumes_with_its_own_pairs(train_quickly, pairs, tmp_path, monkeypatch):
    result = train_quickly(iter(pairs))
    monkeypatch.chdir(tmp_path / "run")
    longer = dhyan.resume(result.folder, steps=2, threads=1, progress=False)
    assert (longer.steps, longer.folder) == (2, result.folder)


def test_the_command_line_resumes_a_run_of_python(train_quickly, pairs, tmp_path):
    out = train_quickly(pairs).folder
    process = dhyan_command(
        "train", out, "--out", out, "--resume", "--set", "training.steps=2", "--threads", "1",
        cwd=tmp_path,
    )  # fmt: skip
    assert process.returncode == 0, process.stderr.decode()


def test_an_interrupt_saves_a_checkpoint(train_quickly, pairs, monkeypatch):
    def interrupt(run, *, progress):
        return progress_of(run, lambda event: os.kill(os.getpid(), signal.SIGINT))

    monkeypatch.setattr("dhyan.api.train.show_progress", interrupt)
    with pytest.raises(KeyboardInterrupt, match="dhyan.resume"):
        train_quickly(pairs, steps=500)
    monkeypatch.undo()


class progress_of:
    """A display that calls a function with the first step."""

    def __init__(self, run, report):
        self.run, self.call, self.calls = run, report, 0

    def __enter__(self):
        return self.report

    def __exit__(self, *error):
        return False

    def report(self, event):
        if isinstance(event, Stepped) and not self.calls:
            self.calls += 1
            self.call(event)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"data": None}, "data: none given"),
        ({"recipe": "nmbers"}, "no recipe 'nmbers'; did you mean 'numbers'?"),
        ({"data": [("a", float("nan"))]}, "data: row 1, target: nan is not a text"),
        ({"valid": [("a",)]}, "valid: row 1: 1 part"),
        ({"settings": {"training.stps": 3}}, "unknown key 'stps'; did you mean 'steps'?"),
        ({"steps": 2, "settings": {"training.steps": 3}}, "steps=2 and settings['training.steps']"),
        ({"steps": 2, "epochs": 3}, "give one of the two"),
        ({"columns": ("en", "hi"), "data": pandas.DataFrame({"en": ["a"]})}, "called 'hi'"),
    ],
)
def test_a_mistake_is_a_user_error_and_leaves_no_folder(arguments, message, pairs, tmp_path):
    out = tmp_path / "deep" / "run"
    with pytest.raises(dhyan.UserError) as caught:
        dhyan.train(**{"data": pairs, "out": out, **arguments})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)
    assert not out.exists()


def test_an_existing_run_is_not_overwritten(trained, pairs):
    before = (trained.folder / "data" / "train.jsonl").read_bytes()
    with pytest.raises(dhyan.UserError, match="holds a run already: continue it with dhyan.resume"):
        dhyan.train(pairs[:10], out=trained.folder)
    assert (trained.folder / "data" / "train.jsonl").read_bytes() == before


def test_files_of_the_user_are_neither_overwritten_nor_removed(pairs, tmp_path):
    table = tmp_path / "data" / "train.jsonl"
    table.parent.mkdir()
    table.write_text("mine")
    with pytest.raises(dhyan.UserError, match="exists already; remove it, or give another out"):
        dhyan.train(pairs, out=tmp_path)
    with pytest.raises(dhyan.UserError, match="valid: row 1"):
        dhyan.train((table, table), valid=[5], out=tmp_path)
    assert table.read_text() == "mine"


def test_epochs_set_the_length_of_the_training(train_quickly, pairs):
    result = train_quickly(pairs, steps=None, epochs=1)
    assert result.steps > 1


def test_a_recipe_as_data_says_how_to_name_it():
    recipe = dhyan.load_recipe("numbers")
    with pytest.raises(dhyan.UserError, match="recipe=…, out=…"):
        dhyan.train(recipe, "runs/py")
    with pytest.raises(dhyan.UserError, match="give out="):
        dhyan.train(recipe=recipe)


def test_a_folder_without_checkpoint_cannot_be_resumed(tmp_path):
    with pytest.raises(dhyan.UserError, match="holds no run to resume; start one"):
        dhyan.resume(tmp_path)


def test_progress_is_silent_where_there_is_no_screen(train_quickly, pairs, capfd, caplog):
    caplog.set_level(logging.ERROR)
    train_quickly(pairs)
    assert "step" not in capfd.readouterr().out


def test_a_notebook_gets_a_bar(monkeypatch, trained):
    class Handle:
        html = ()

        def update(self, shown):
            self.html = (*self.html, shown.data)

    handle = Handle()
    monkeypatch.setattr(progress, "_notebook_display", lambda: handle)
    run = next(_runs(trained.folder))
    with progress.show_progress(run, progress=True) as report:
        report(Stepped(3, 1, 2.5, 0.1, 1.0, 100, 1.0))
        report(Validated(4, {"loss": 2.0, "bleu": 1.0}, True))
    assert 'value="3" max="12"' in handle.html[0]
    assert "BLEU 1.00" in handle.html[1]


def _runs(folder):
    from dhyan.run import train

    recipe = dhyan.load_recipe(str(folder / "step-12" / "recipe.toml"))
    run = train(recipe, folder, resume=True, threads=1)
    assert isinstance(run, Run)
    yield run
    run.lock.close()


@pytest.mark.parametrize(
    ("rows", "arguments", "message"),
    [
        ("a,b,c\none,एक,x\n", {}, "3 columns; name two with columns=('a', 'b') of a, b, c"),
        ("one;1,एक\ntwo;2,दो\n", {"suffix": ".tsv"}, "name one with delimiter='comma'"),
        ("a,b\none,एक\n", {"columns": ("a", "c")}, "no column is called c"),
        (
            "one,एक\n",
            {"columns": ("a", "b"), "header": "no"},
            "columns=('a', 'b') with header='no'",
        ),
        ("a,b\none,एक\n", {"header": "maybe"}, "data.header: 'maybe' is not one of"),
        ("a,b\none,एक\n", {"columns": "a,b"}, "columns: 'a,b' are not two names"),
    ],
)
def test_errors_of_files_name_python_arguments(rows, arguments, message, tmp_path):
    file = tmp_path / f"a{arguments.pop('suffix', '.csv')}"
    file.write_text(rows, encoding="utf-8")
    for call in (
        lambda: dhyan.train(file, "numbers", out=tmp_path / "run", progress=False, **arguments),
        lambda: dhyan.evaluate(["एक"], file, **arguments),
    ):
        with pytest.raises(dhyan.UserError) as caught:
            call()
        assert message in str(caught.value)
        assert "--" not in str(caught.value)


def test_a_table_without_header_trains_as_its_pairs(train_quickly, pairs, tmp_path):
    table = tmp_path / "pairs.csv"
    table.write_text("".join(f"{en};{hi}\n" for en, hi in pairs), encoding="utf-8")
    arguments = {"header": "no", "delimiter": "semicolon"}
    result = train_quickly(table, **arguments)
    assert dhyan.resume(result.folder, progress=False).steps == 1
    scores = dhyan.evaluate(["एक"] * len(pairs), table, metrics=["chrf"], **arguments)
    assert list(zip(scores.sources, scores.references, strict=True)) == pairs


def test_options_of_files_need_files(train_quickly, pairs):
    with pytest.raises(dhyan.UserError, match="delimiter: is about files, and the data are none"):
        train_quickly(pairs, delimiter="tab")
    with pytest.raises(dhyan.UserError, match="header: is about files, and the data are none"):
        dhyan.evaluate(["एक"], [("one", "एक")], header="no")


def test_leakage_and_log_lines_name_python_arguments(train_quickly, pairs, log):
    with pytest.raises(dhyan.UserError) as caught:
        train_quickly(pairs, valid=pairs[:50])
    assert "settings={'data.drop_leaks': True}" in str(caught.value)
    assert "--" not in str(caught.value)
    train_quickly(pairs)
    assert any("name your own with valid" in line for line in log.messages)
    assert not any("--" in line for line in log.messages)


def test_any_setting_of_the_recipe_is_a_keyword(train_quickly, pairs):
    result = train_quickly(pairs, learning_rate=0.0625)
    recipe = dhyan.load_recipe(find_saved_recipe(result.folder))
    assert recipe.training.learning_rate == 0.0625
    assert dhyan.resume(result.folder, progress=False, keep_checkpoints=3).steps == result.steps


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        (
            {"lerning_rate": 1},
            "lerning_rate: is no setting of the recipe; did you mean 'learning_rate'",
        ),
        ({"stps": 1}, "stps: is no setting of the recipe; did you mean 'steps'"),
        (
            {"width": 8},
            r"width: there are frames\.width, encoder\.width, .*; name one, as in settings=",
        ),
        (
            {"learning_rate": 1, "settings": {"training.learning_rate": 1}},
            "learning_rate=1 and settings.*: given twice",
        ),
    ],
)
def test_a_wrong_setting_names_the_right_one(pairs, tmp_path, keywords, message):
    with pytest.raises(dhyan.UserError, match=message):
        dhyan.train(pairs, "numbers", out=tmp_path / "run", **keywords)
    assert not (tmp_path / "run").exists()
