"""`dhyan train`: which folder and which recipe a command means; resuming by folder; epochs."""

import json
import os
import shutil

import pytest

from dhyan.checkpoint import START_RECIPE, read_checkpoint, steps_in
from dhyan.cli.train import train as command
from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.run import train
from tests.tiny_models import as_arguments, here, tiny_recipe, tiny_settings, write_corpus

RECIPE = "bahdanau2015-small"
KEEP = {
    "training.keep_checkpoints": 99,
    "training.save_every": 1,
    "training.validate_every": 2,
}


def settings(**more):
    """Tiny settings without the corpus, as `--set` arguments; None leaves one out."""
    corpus = {"data.source": None, "data.target": None}
    tiny = tiny_settings("rnn", "", "", **{"training.steps": 2, **KEEP, **corpus, **more})
    return as_arguments({key: value for key, value in tiny.items() if value is not None})


def start(folder, *arguments, **more):
    """Train in a folder on the corpus there, which is named by relative paths."""
    corpus = ("--source", "a.en", "--target", "a.hi")
    words = ("train", RECIPE, *corpus, "--threads", 1, *settings(**more), *arguments)
    return succeed(here(*words, cwd=folder))


def resume(*arguments, cwd):
    return succeed(here("train", *arguments, "--resume", "--threads", 1, cwd=cwd))


def succeed(process):
    assert process.returncode == 0, process.stderr.decode()
    return process.stderr.decode()


def error(*arguments, cwd):
    """The one line of a command that fails."""
    process = here("train", *arguments, cwd=cwd)
    assert process.returncode == 2, process.stderr.decode()
    *_, last = process.stderr.decode().splitlines()
    return last


@pytest.fixture(scope="module")
def project(tmp_path_factory):
    """A corpus, a run of two steps, the same run of four, and a run fine-tuned from the first."""
    folder = tmp_path_factory.mktemp("project")
    write_corpus(folder)
    start(folder, "--out", "runs/short")
    start(folder, "--out", "runs/whole", **{"training.steps": 4})
    start(folder, "--out", "runs/tuned", "--init-from", "runs/short")
    return folder


@pytest.fixture
def run(project, tmp_path):
    """A copy of the run of two steps, outside of the project."""
    return shutil.copytree(project / "runs" / "short", tmp_path / "elsewhere" / "short")


@pytest.mark.parametrize("form", ["absolute", "relative", "with a slash", "and as --out"])
def test_a_run_folder_resumes_from_any_working_directory(project, run, tmp_path, form):
    away = tmp_path / "away"
    away.mkdir()
    name = str(run) if form == "absolute" else os.path.relpath(run, away)
    more = ("--out", name) if form == "and as --out" else ()
    words = (f"{name}/" if form == "with a slash" else name, *more, "--set", "training.steps=4")
    resume(*words, cwd=away)
    assert read_checkpoint(run / "step-4") == read_checkpoint(project / "runs/whole" / "step-4")
    assert not list(away.iterdir())


def test_a_resumed_fine_tuning_keeps_its_weights(project, tmp_path):
    whole, again = tmp_path / "whole", tmp_path / "again"
    start(project, "--init-from", "runs/short", "--out", whole, **{"training.steps": 3})
    shutil.copytree(project / "runs/tuned", again)
    resume(again, "--set", "training.steps=3", cwd=tmp_path)
    assert read_checkpoint(again / "step-3") == read_checkpoint(whole / "step-3")
    saved = load_recipe(again / "step-3" / "recipe.toml")
    assert saved.training.init_from == str(project / "runs/short")


def test_a_run_resumes_by_its_newest_recipe_not_the_best(project, run, tmp_path):
    resume(run, "--set", "training.steps=3", cwd=tmp_path)
    pointer = json.loads((run / "best.json").read_text()) | {"checkpoint": "step-2", "step": 2}
    (run / "best.json").write_text(json.dumps(pointer))
    assert "step-3 is the last step" in resume(run, cwd=tmp_path)


def test_a_damaged_checkpoint_does_not_hide_the_recipe(project, run, tmp_path):
    (run / "step-2" / "recipe.toml").write_text("")
    output = resume(run, "--set", "training.steps=4", cwd=tmp_path)
    assert "damaged-step-2; step-1 is used" in output
    assert read_checkpoint(run / "step-4") == read_checkpoint(project / "runs/whole" / "step-4")


def test_a_run_without_checkpoint_resumes_from_the_beginning(project, tmp_path, monkeypatch):
    monkeypatch.chdir(project)
    more = {**KEEP, "training.steps": 2, "training.init_from": "runs/short"}
    train(tiny_recipe("rnn", "a.en", "a.hi", **more), tmp_path / "run", threads=1).lock.close()
    assert sorted(path.name for path in (tmp_path / "run").iterdir()) == ["lock", START_RECIPE]
    output = resume(tmp_path / "run", cwd=tmp_path)
    assert "has no checkpoint yet: its run starts from the beginning" in output
    assert "tokens are in" in output, "the vocabulary of --init-from"
    assert not (tmp_path / "run" / START_RECIPE).exists()
    ours, tuned = (
        read_checkpoint(folder / "step-2") for folder in (tmp_path / "run", project / "runs/tuned")
    )
    assert ours["model.safetensors"] == tuned["model.safetensors"]


def test_a_lock_without_recipe_needs_one(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "lock").touch()
    line = error("run", "--resume", cwd=tmp_path)
    assert "stopped before its recipe was saved; start it again with dhyan train RECIPE" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("numbers",), "nothing to resume: runs/numbers does not exist; name the run's folder"),
        (("numbers", "--out", "x"), "nothing to resume: x does not exist"),
        (("numbers", "--out", "."), "nothing to resume: . is not a run folder"),
        (("runs/gone",), "runs/gone: no such folder; name the folder of the run to resume"),
        ((".",), "nothing to resume: . is not a run folder"),
    ],
)
def test_nothing_starts_anew_with_resume(tmp_path, words, message):
    assert message in error(*words, "--resume", cwd=tmp_path)
    assert not list(tmp_path.iterdir())


def test_a_run_as_recipe_needs_resume_or_out(project, tmp_path):
    line = error(project / "runs/short", cwd=tmp_path)
    assert line.endswith(
        "runs/short is a run: add --resume to continue it, or --out FOLDER to start a new run "
        "with its recipe"
    )
    assert not list(tmp_path.iterdir())


def test_one_checkpoint_is_not_resumed(project, tmp_path):
    line = error(project / "runs/short/step-1", "--resume", cwd=tmp_path)
    assert "step-1 is one checkpoint, and a run resumes from its newest" in line
    assert "--init-from" in line
    assert "--out FOLDER" in error(project / "runs/short/step-1", cwd=tmp_path)


def test_moved_data_are_named_with_their_options(tmp_path):
    corpus = write_corpus(tmp_path)
    start(tmp_path, "--out", "run")
    for file in corpus:
        file.rename(tmp_path / f"moved-{file.name}")
    process = here("train", "run", "--resume", cwd=tmp_path)
    assert process.returncode == 2
    source, target = process.stderr.decode().splitlines()
    assert source == (
        f"dhyan: data.source: {corpus[0]}: there is no such file; "
        f"name its new place with --source FILE"
    )
    assert "data.target: " in target
    moved = ("--source", "moved-a.en", "--target", "moved-a.hi", "--set", "training.steps=3")
    resume("run", *moved, cwd=tmp_path)
    data = load_recipe(tmp_path / "run/step-3/recipe.toml").data
    assert data.source == str(tmp_path / "moved-a.en")


def test_a_moved_file_keeps_the_rest_of_the_corpus(project, tmp_path):
    for name in ("v.en", "v.hi"):
        shutil.copy(project / f"a.{name[2:]}", project / name)
    valid = ("--valid-source", "v.en", "--valid-target", "v.hi", "--allow-leakage")
    start(project, *valid, "--out", tmp_path / "run")
    shutil.copy(project / "a.en", tmp_path / "b.en")
    resume(tmp_path / "run", "--source", "b.en", "--set", "training.steps=3", cwd=tmp_path)
    data = load_recipe(tmp_path / "run/step-3/recipe.toml").data
    assert (data.source, data.target) == (str(tmp_path / "b.en"), str(project / "a.hi"))
    assert data.valid_source == str(project / "v.en")


def test_a_new_source_resets_the_old_corpus_and_says_so(project, tmp_path):
    rows = zip(
        *((project / name).read_text().splitlines() for name in ("a.en", "a.hi")), strict=True
    )
    table = "english\thindi\n" + "".join(f"{source}\t{target}\n" for source, target in rows)
    (tmp_path / "old.tsv").write_text(table, encoding="utf-8")
    old = ("--source", "old.tsv", "--columns", "english,hindi", "--allow-leakage")
    old += ("--valid-source", "old.tsv")
    words = ("train", RECIPE, *old, "--out", "old", "--threads", 1, *settings())
    succeed(here(*words, cwd=tmp_path))
    corpus = ("--source", project / "a.en", "--target", project / "a.hi")
    tuned = ("train", "old", "--init-from", "old", *corpus, "--out", "tuned", "--threads", 1)
    output = succeed(here(*tuned, cwd=tmp_path))
    keys = "columns valid_source allow_leakage source_language target_language".split()
    assert f"{', '.join(f'data.{key}' for key in keys)} reset" in output
    assert "held out 8 pairs to validate on" in output
    data = load_recipe(tmp_path / "tuned/step-2/recipe.toml").data
    assert (data.columns, data.valid_source, data.allow_leakage) == ((), "", False)
    assert (data.source_language, data.target_language) == ("en", "hi")


def test_epochs_are_passes_over_all_pairs(project, tmp_path):
    output = start(project, "--out", tmp_path / "run", "--epochs", 2, **{"training.steps": None})
    last = steps_in(tmp_path / "run")[0]
    assert f"2 epochs are {last} steps" in output
    state = json.loads(read_checkpoint(tmp_path / "run" / f"step-{last}")["training.json"])
    assert f"examples {state['position'] // 2}," in output
    assert state["position"] % 2 == 0
    training = load_recipe(tmp_path / "run" / f"step-{last}" / "recipe.toml").training
    assert (training.epochs, training.steps) == (2, last)
    resume(tmp_path / "run", "--epochs", 3, cwd=tmp_path)
    assert steps_in(tmp_path / "run")[0] == last * 3 // 2
    resume(tmp_path / "run", "--set", f"training.steps={2 * last}", cwd=tmp_path)
    newest = tmp_path / "run" / f"step-{steps_in(tmp_path / 'run')[0]}"
    assert load_recipe(newest / "recipe.toml").training.epochs == 0


def test_epochs_and_steps_exclude_each_other():
    with pytest.raises(UserError, match=r"training.steps = 5 and training.epochs = 2: give one"):
        command("numbers", overrides=["training.steps=5"], epochs=2)
