"""Texts of tasks are written once and carried; settings of the GPU run fit the recipes."""

import json
import sys
import tomllib

import numpy as np
import pytest
from PIL import Image

from dhyan.config import load_recipe, parse_setting
from dhyan.data.read_pairs import read_pairs
from dhyan.data.rendered_text import default_font, render_text
from dhyan.data.write_pictures import write_pictures
from dhyan.text.image_frames import ImageColumns
from experiments.tasks import gpu, text_scores, transliteration_baselines
from experiments.tasks.picture_data import GREY_STEP, small_line
from experiments.tasks.text_tasks import TASKS, Example, TextTask, by_target_word, read_examples
from experiments.tasks.transliteration_baselines import score_outputs

HEIGHT = 32
WORDS = (Example("kal", ("कल", "काल")), Example("kaal", ("काल",)), Example("sadak", ("सड़क",)))


def read_words(data, part):
    return WORDS if part == "train" else WORDS[:2]


@pytest.fixture
def words(monkeypatch):
    task = TextTask("transliteration", ".tsv", read_words)
    monkeypatch.setitem(TASKS, "words", task)
    return task


def run(monkeypatch, *arguments):
    monkeypatch.setattr(sys, "argv", ["text_scores", *map(str, arguments)])
    text_scores.main()


def test_texts_are_written_once_and_trained_on_without_the_corpora(words, monkeypatch, tmp_path):
    run(monkeypatch, "texts", tmp_path, "words", "--data", tmp_path / "corpora")
    folder = tmp_path / "texts" / "words"
    assert (folder / "train.tsv").read_text().splitlines()[:2] == ["kal\tकल", "kal\tकाल"]
    assert read_examples(folder, "test", ".tsv") == list(WORDS[:2])
    monkeypatch.setattr(text_scores, "DATA", None)
    (job,) = text_scores.text_jobs("words", tmp_path / "nowhere", tmp_path, [7], {"a": "b"})
    assert (job.name, job.recipe) == ("words-7", "transliteration")
    assert job.settings["data.source"] == str(folder / "train.tsv")
    assert (job.settings["a"], job.settings["training.seed"]) == ("b", "7")


def test_a_word_counts_once_however_many_spellings_it_has():
    outputs = ["काल", "कल", "सड़क"]  # the last with a nukta letter of its own
    assert by_target_word(WORDS, outputs) == pytest.approx(100 * (1 + 0.5 + 1) / 3)
    scores = score_outputs(WORDS, outputs)
    assert scores["exact"] == pytest.approx(66.67)
    assert scores["exact by target word"] == pytest.approx(83.33)


def test_a_package_is_asked_for_exactly_these_words(monkeypatch):
    calls = []

    def peer(name, words, *, python, path):
        calls.append((name, tuple(words), python, path))
        return {"versions": {name: "1"}, "outputs": ["कल", "", "सड़क"]}

    monkeypatch.setattr(transliteration_baselines, "run_peer", peer)
    figures = transliteration_baselines.measure(
        WORDS, ["a", "b"], pythons={"b": "python9"}, paths={"a": "folder"}
    )
    assert calls == [
        ("a", ("kal", "kaal", "sadak"), sys.executable, "folder"),
        ("b", ("kal", "kaal", "sadak"), "python9", ""),
    ]
    assert figures["a"]["without_output"] == 1
    assert figures["b"]["scores"]["exact"] == pytest.approx(66.67)


def test_a_small_line_has_the_frames_of_the_large_one(tmp_path):
    line = render_text("हिन्दी १२", default_font(), size=37)
    write_pictures(tmp_path / "small", [small_line(line, HEIGHT)])
    write_pictures(tmp_path / "large", [(line.image, line.text, line.boxes)])
    [small], [large] = (list(read_pairs(tmp_path / name)) for name in ("small", "large"))
    assert small.target == large.target == line.text
    codec = ImageColumns(HEIGHT, 4)
    ours, theirs = codec.encode_batch([small.source, large.source])
    assert np.abs(ours.astype(int) - theirs).max() <= GREY_STEP / 2 + 1
    with Image.open(small.source) as image:
        record = json.loads((tmp_path / "small" / "boxes.jsonl").read_text())
        assert max(right for _, _, _, right, _ in record["boxes"]) <= image.width


def test_settings_of_the_gpu_run_fit_their_recipes(tmp_path):
    tables = tomllib.loads(gpu.SETTINGS.read_text(encoding="utf-8"))
    assert set(TASKS) <= set(tables)
    for name, table in tables.items():
        settings = {
            key: gpu.as_setting(value, tmp_path)
            for key, value in table.items()
            if key not in (gpu.RECIPE, gpu.SEEDS)
        }
        recipe = table.get(gpu.RECIPE) or TASKS[name].recipe
        typed = dict(parse_setting(f"{key}={value}") for key, value in settings.items())
        assert load_recipe(recipe, typed).task == load_recipe(recipe).task


def test_every_seed_of_a_task_is_a_run(tmp_path):
    table = {"recipe": "draw-scenes", "seeds": [1, 4], "data.source": "{out}/a", "data.pairs": 9}
    jobs = gpu.jobs_of("draw", table, tmp_path)
    assert [job.name for job in jobs] == ["draw-1", "draw-4"]
    assert jobs[1].settings == {
        "data.source": f"{tmp_path}/a",
        "data.pairs": "9",
        "training.seed": "4",
    }
