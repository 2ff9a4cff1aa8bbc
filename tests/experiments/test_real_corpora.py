"""Tasks on real corpora: their texts, their settings, and the statistics of their scores."""

import json
import lzma
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from dhyan.config import load_recipe
from dhyan.config.toml import parse_setting
from dhyan.models.build import build_model
from experiments.pretrained.corpus import Primer
from experiments.real_corpora import __main__ as command
from experiments.real_corpora import measure
from experiments.real_corpora.measure import (
    best_variant,
    device_seconds,
    distill,
    record_device_time,
    summarize,
)
from experiments.real_corpora.tasks import TASKS, Split, Task


@pytest.fixture
def data(tmp_path):
    """A data folder with one corpus, whose splits have two pairs each."""
    (tmp_path / "data" / "corpus").mkdir(parents=True)
    for split in ("train", "valid", "test"):
        for side in ("en", "hi"):
            with lzma.open(tmp_path / "data" / "corpus" / f"{split}.{side}.xz", "wt") as file:
                file.write("".join(f"{split} {side} {number}\n" for number in range(2)))
    return tmp_path / "data"


def make_task(primer=None, tag="", weights=None):
    train, valid, test = (Split("corpus", name, tag) for name in ("train", "valid", "test"))
    return Task(
        "texts",
        "hi",
        "transformer-10k-pairs",
        (train, train),
        valid,
        (test, valid),
        vocabulary_pairs=4,
        further_valid=(test,),
        further={"far": (test,)},
        primer=primer,
        monolingual=((train, "hi"), (test, "hi")),
        weights=weights or {},
    )


def recipe_of(task, folder, settings=()):
    """The recipe with the settings of the texts and further ones, as the command line reads them."""
    settings = {**task.train_settings(folder), **dict(settings)}
    words = (f"{key}={value}" for key, value in settings.items())
    return load_recipe(task.recipe, dict(map(parse_setting, words)))


def test_texts_join_the_training_corpora_and_keep_every_test(data, tmp_path):
    folder = make_task().write(data, tmp_path)
    lines = {path.name: path.read_text().splitlines() for path in folder.iterdir()}
    assert lines["train.en"] == ["train en 0", "train en 1"] * 2
    assert lines["test-0.hi"] == ["test hi 0", "test hi 1"]
    assert lines["tests.hi"] == ["test hi 0", "test hi 1", "valid hi 0", "valid hi 1"]
    assert lines["valid-1.en"] == ["test en 0", "test en 1"]
    assert "primer.en" not in lines


def test_the_teacher_translates_no_held_out_sentence(data, tmp_path):
    folder = make_task(tag="xcorpus").write(data, tmp_path)
    assert (folder / "monolingual.en").read_text() == "xcorpus train en 0\nxcorpus train en 1\n"


def test_a_tag_stands_before_every_source_sentence(data, tmp_path):
    folder = make_task(tag="xcorpus").write(data, tmp_path)
    assert (folder / "far.en").read_text() == "xcorpus test en 0\nxcorpus test en 1\n"
    assert (folder / "far.hi").read_text() == "test hi 0\ntest hi 1\n"


def test_the_other_direction_has_the_files_of_this_one(data, tmp_path):
    """So that its translations are pairs of this direction: back-translation."""
    task = replace(make_task(weights={"far": 1.0}), source="hi", target="en", texts="back")
    folder = task.write(data, tmp_path)
    assert (folder / "train.hi").read_text() == "train hi 0\ntrain hi 1\n" * 2
    recipe = recipe_of(task, folder)
    assert recipe.data.source_language == "hi"
    assert recipe.data.mix[0].target == str(folder / "far.en")


def test_pairs_with_an_empty_side_are_left_out(data):
    with lzma.open(data / "corpus" / "train.en.2.xz", "wt") as file:
        file.write("\nsecond\n")
    assert list(Split("corpus", "train", source="en.2").read(data, "en", "hi")) == [
        ("second", "train hi 1")
    ]


def test_texts_are_mixed_in_by_weight(data, tmp_path):
    primer = Primer(pairs=3, max_words=6)
    task = make_task(primer, weights={"far": 2.0, "primer": 0.25})
    folder = task.write(data, tmp_path)
    assert len((folder / "primer.hi").read_text().splitlines()) == 3
    recipe = recipe_of(task, folder)
    assert [corpus.weight for corpus in recipe.data.mix] == [2.0, 0.25]
    assert recipe.text.vocabulary_pairs == 4
    assert recipe.data.drop_leaks


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_a_recipe_that_takes_its_settings(name, tmp_path):
    task = TASKS[name]
    recipe = recipe_of(task, tmp_path)
    assert recipe.data.valid_target == str(tmp_path / f"valid-0.{task.target}")


@pytest.mark.parametrize("name", ["variants", "ablation", "teachers"])
def test_every_variant_has_settings_that_its_recipe_takes(name, tmp_path):
    file = Path(command.__file__).with_name(f"{name}.toml")
    variants = tomllib.loads(file.read_text())
    for task, own in variants.items():
        for changes in own.values():
            settings = command._settings(changes, task, tmp_path)
            recipe = recipe_of(TASKS[task], tmp_path, settings)
            assert recipe.training.steps == changes["training.steps"]


def test_the_teacher_is_the_variant_that_is_best_on_validation(tmp_path):
    scores = {
        variant: {"tatoeba-en-fr valid": {"bleu": bleu}} for variant, bleu in (("a", 1), ("b", 2))
    }
    file = tmp_path / "result.json"
    file.write_text(json.dumps({"figures": {"tatoeba-en-fr": scores}}))
    assert best_variant("tatoeba-en-fr", file) == "tatoeba-en-fr-b"


def test_summary_has_mean_deviation_and_values():
    assert summarize([30.0, 32.0]) == {
        "mean": 31.0,
        "standard_deviation": 1.41,
        "values": [30.0, 32.0],
    }
    assert summarize([30.0])["standard_deviation"] == 0.0


@pytest.mark.parametrize(
    ("words", "teachers", "options", "each"),
    [
        (["--teacher", "a", "{task}-2", "--sample"], ["a", "tatoeba-en-fr-2"], ["--sample"], False),
        (["--teacher", "a", "b", "--each"], ["a", "b"], ["--beam", "5"], True),
        ([], ["tatoeba-en-fr-wide"], ["--beam", "5"], False),
    ],
)
def test_the_command_names_the_teachers(
    words, teachers, options, each, data, tmp_path, monkeypatch
):
    calls = []
    scores = {"figures": {"tatoeba-en-fr": {"wide": {"tatoeba-en-fr valid": {"bleu": 1}}}}}
    (tmp_path / "real-corpora-tuning_cpu_2026-01-01.json").write_text(json.dumps(scores))
    monkeypatch.setattr(command, "distill", lambda *given, each: calls.append((*given, each)))
    monkeypatch.setattr(command, "TASKS", {"tatoeba-en-fr": make_task()})
    places = ["--data", str(data), "--out", str(tmp_path), "--results", str(tmp_path)]
    monkeypatch.setattr("sys.argv", ["", "distill", "tatoeba-en-fr", *places, *words])
    command.main()
    assert calls == [({"tatoeba-en-fr": teachers}, tmp_path, options, each)]
    assert device_seconds("tatoeba-en-fr", tmp_path) >= 0


class Translating:
    """A process that writes as translation of every line the models that it was started with."""

    def __init__(self, command):
        words, target = command[4:-2], Path(command[-1])
        sources = next(Path(word) for word in words if word.endswith("monolingual.en"))
        models = " ".join(word for word in words if word not in ("--with", str(sources)))
        target.write_text(f"{models}\n" * len(sources.read_text().splitlines()))

    def wait(self):
        return 0


@pytest.mark.parametrize(
    ("each", "expected"), [(False, ["en-hi en-fr"] * 2), (True, ["en-hi"] * 2 + ["en-fr"] * 2)]
)
def test_teachers_translate_together_or_one_by_one(each, expected, data, tmp_path, monkeypatch):
    task = make_task()
    monkeypatch.setattr(measure, "TASKS", {"task": task})
    monkeypatch.setattr(measure.subprocess, "Popen", Translating)
    folder = task.write(data, tmp_path / "texts")
    distill({"task": ["en-hi", "en-fr"]}, tmp_path, each=each)
    sources = ["train en 0", "train en 1"]
    assert (folder / "distilled.hi").read_text().splitlines() == expected
    assert (folder / "distilled.en").read_text().splitlines() == sources * (len(expected) // 2)


def test_the_time_of_calls_is_shared_by_the_runs_that_are_under_way(tmp_path, monkeypatch):
    clock = iter([0, 100, 140, 150, 200, 200, 200])
    monkeypatch.setattr("time.time", lambda: next(clock))
    record_device_time("first", {"a": 3, "b": 1}, tmp_path)
    record_device_time("second", {"a": 4}, tmp_path)
    record_device_time("first", {}, tmp_path)
    record_device_time("second", {}, tmp_path)
    assert device_seconds("a", tmp_path) == 75 + 40 * 7 / 8 + 10
    assert device_seconds("b", tmp_path) == 25 + 40 / 8


def test_a_result_of_the_same_day_keeps_other_tasks(tmp_path):
    measure._write("real-corpora", {"a": {"figure": 1}, "b": {"figure": 1}}, tmp_path)
    path = measure._write("real-corpora", {"b": {"figure": 2}}, tmp_path)
    figures = json.loads(path.read_text())["figures"]
    assert figures == {"a": {"figure": 1}, "b": {"figure": 2}}


def test_models_for_tatoeba_english_french_have_less_than_ten_million_weights(tmp_path):
    recipe = recipe_of(TASKS["tatoeba-en-fr"], tmp_path)
    size = recipe.text.source_vocabulary_size
    model = build_model(recipe, size, size)
    assert sum(weight.numel() for weight in model.parameters()) < 10_000_000


@pytest.mark.parametrize("name", [name for name in TASKS if "-hi" in name and "all" not in name])
def test_text_that_may_be_distributed_has_no_non_commercial_corpus(name):
    task = TASKS[name]
    corpora = {part.corpus for part in (*task.train, *(part for part, _ in task.monolingual))}
    assert corpora <= {
        "tatoeba-en-hi-large",
        "tatoeba-en-fr",
        "tatoeba-en-de",
        "indian-parallel-hi-en-4ref",
    }
