"""Tasks on real corpora: their texts, their settings, and the statistics of their scores."""

import lzma

import pytest

from dhyan.config import load_recipe
from dhyan.config.toml import parse_setting
from experiments.pretrained.corpus import Primer
from experiments.real_corpora.measure import summarize
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


def make_task(primer=None):
    train, valid, test = (Split("corpus", name) for name in ("train", "valid", "test"))
    return Task("hi", "transformer-10k-pairs", (train, train), valid, (test, valid), primer)


def recipe_of(task, folder):
    """The recipe with the settings of the texts, as the command line reads them."""
    words = (f"{key}={value}" for key, value in task.settings(folder).items())
    return load_recipe(str(task.recipe_file), dict(map(parse_setting, words)))


def test_texts_join_the_training_corpora_and_keep_every_test(data, tmp_path):
    folder = make_task().write(data, tmp_path / "texts")
    lines = {path.name: path.read_text().splitlines() for path in folder.iterdir()}
    assert lines["train.en"] == ["train en 0", "train en 1"] * 2
    assert lines["test-0.hi"] == ["test hi 0", "test hi 1"]
    assert lines["tests.hi"] == ["test hi 0", "test hi 1", "valid hi 0", "valid hi 1"]
    assert "primer.en" not in lines


def test_generated_pairs_are_mixed_in_by_weight(data, tmp_path):
    task = make_task(Primer(pairs=3, max_words=6, weight=0.25))
    folder = task.write(data, tmp_path / "texts")
    assert len((folder / "primer.hi").read_text().splitlines()) == 3
    recipe = recipe_of(task, folder)
    assert recipe.data.mix[0].weight == 0.25
    assert recipe.data.drop_leaks


@pytest.mark.parametrize("name", TASKS)
def test_every_task_has_a_recipe_that_takes_its_settings(name, tmp_path):
    task = TASKS[name]
    recipe = recipe_of(task, tmp_path)
    assert recipe.data.valid_target == str(tmp_path / f"valid.{task.target}")


def test_summary_has_mean_deviation_and_values():
    assert summarize([30.0, 32.0]) == {
        "mean": 31.0,
        "standard_deviation": 1.41,
        "values": [30.0, 32.0],
    }
    assert summarize([30.0])["standard_deviation"] == 0.0
