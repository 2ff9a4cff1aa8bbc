"""Measures of the picture tasks on attention and boxes that are computed by hand."""

import json

import pytest
import torch

import dhyan
from dhyan.data.rendered_text import default_font, render_text
from dhyan.data.scenes import Scene, SceneObject
from dhyan.text.normalize import normalize
from experiments.tasks.picture_data import KINDS, write_lines
from experiments.tasks.picture_scores import (
    BoxWeights,
    box_weights,
    character_boxes,
    main,
    named_objects,
    overlap,
    summary,
    tesseract_rates,
)

STRIPS = [(4.0 * at, 0.0, 4.0 * at + 4, 10.0) for at in range(5)]
BAR = SceneObject("bar", "green", "small", (0, 0))
STAR = SceneObject("star", "red", "large", (1, 0))
CIRCLE = SceneObject("circle", "blue", "small", (1, 1))
SCENE = Scene((BAR, STAR, CIRCLE), ("left of", "below"))


def test_boxes_that_only_touch_share_nothing():
    assert overlap((0, 0, 4, 4), (2, 1, 6, 9)) == 6
    assert overlap((0, 0, 4, 4), (4, 0, 8, 4)) == 0
    assert overlap((0, 0, 1, 1), (5, 5, 6, 6)) == 0


def test_mass_is_the_weight_on_the_frames_that_a_box_touches():
    weights = torch.tensor([0.1, 0.2, 0.4, 0.25, 0.05])
    one = box_weights(weights, STRIPS, (6.0, 2.0, 12.0, 7.0))  # strips 1 and 2, 6 x 5 of 20 x 10
    assert (one.strongest, one.frames) == (True, 0.4)
    assert one.mass == pytest.approx(0.6)
    assert one.area == pytest.approx(30 / 200)
    assert not box_weights(weights, STRIPS, (12.0, 0.0, 20.0, 10.0)).strongest


@pytest.mark.parametrize(
    "box", [(0.5, 1.0, 9.0, 4.0), (3.0, 0.0, 3.5, 10.0), (0.0, 0.0, 20.0, 1.0)]
)
def test_uniform_attention_has_the_mass_it_is_compared_with(box):
    one = box_weights(torch.full((5,), 0.2), STRIPS, box)
    assert one.mass == pytest.approx(one.frames)
    assert one.area <= one.frames


def test_a_summary_is_in_per_cent():
    outputs = [BoxWeights(1.0, True, 0.5, 0.25), BoxWeights(0.5, False, 0.25, 0.05)]
    assert summary(outputs) == {
        "outputs": 2,
        "mass_on_box": 75.0,
        "strongest_on_box": 50.0,
        "mass_of_uniform_attention": 37.5,
        "area_of_box": 15.0,
    }
    assert summary([])["outputs"] == 0


def test_every_character_has_the_box_of_its_cluster_and_a_space_has_none():
    text = normalize("क्षि ड़ी")
    line = render_text(text, default_font())
    boxes = character_boxes(text, line.boxes)
    assert len(boxes) == len(text)
    space = text.index(" ")
    assert boxes[space] is None
    assert set(boxes[:space]) == {line.boxes[0][1]}
    assert set(boxes[space + 1 :]) == {line.boxes[1][1]}


def test_boxes_of_another_text_are_not_used():
    line = render_text("आम", default_font())
    assert character_boxes("आप", line.boxes) == []
    assert character_boxes("आ", line.boxes) == []


@pytest.mark.parametrize("language", ["en", "hi"])
def test_colour_and_shape_name_their_object_and_no_other_word_does(language):
    caption = SCENE.caption(language)
    named = [one for one in named_objects(SCENE, caption) if one]
    assert named == [BAR, BAR, STAR, STAR, CIRCLE, CIRCLE, STAR, STAR]
    assert len(named_objects(SCENE, caption)) == len(caption.split())


def test_tesseract_stands_beside_the_same_lines_only(tmp_path):
    rates = {"words": {"lines": 2, "characters": 9, "cer": 5.0}}
    (tmp_path / "ocr-baseline_cpu2_2026-01-01.json").write_text(
        '{"figures": {"rates": {"words": {"lines": 2, "characters": 9, "cer": 1.5}}}}'
    )
    same = tesseract_rates(rates, tmp_path)
    assert same["rates"]["words"]["cer"] == 1.5
    rates["words"]["characters"] = 8
    assert tesseract_rates(rates, tmp_path)["rates"] == {}


FEW = {
    "data.pairs": 12,
    "data.max_tokens": 400,
    "training.steps": 2,
    "training.warmup_steps": 1,
    "training.valid_sentences": 2,
    "decoding.max_length": 12,
    "decoding.beam": 1,
}
RECIPES = {"ocr": "hindi-ocr", "caption": "caption-scenes", "draw": "draw-scenes"}


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    """Test folders as `ocr-data` writes them, and a result of Tesseract."""
    folder = tmp_path_factory.mktemp("lines")
    for kind in KINDS:
        write_lines(folder / f"test-{kind}", ["आम १२", "क्या"], [default_font()], seed=1)
    rates = {kind: {"lines": 2, "characters": 9, "cer": 1.0} for kind in (*KINDS, "all")}
    result = json.dumps({"figures": {"rates": rates}})
    (folder / "ocr-baseline_cpu2_2026-01-01.json").write_text(result)
    return folder


@pytest.mark.parametrize("step", RECIPES)
def test_a_run_of_each_task_is_scored_into_one_file(step, lines, tmp_path, capsys):
    torch.set_num_threads(1)
    few = FEW if step == "draw" else {**FEW, "decoder.width": 16}
    dhyan.train(
        recipe=RECIPES[step], settings=few, out=tmp_path / "run", device="cpu", progress=False
    )
    places = ("--data", lines, "--baselines", lines, "--results", tmp_path / "results")
    main([step, str(tmp_path / "run"), "--count", "3", *map(str, places)])
    [path] = (tmp_path / "results").iterdir()
    [figures] = json.loads(path.read_text())["figures"]
    assert path.name.startswith(f"picture-{step}_")
    assert figures["parameters"] > 0
    if step == "ocr":
        assert figures["lines_without_boxes"] == 0
        assert figures["attention"]["all"]["outputs"] == 3 * (4 + 4)
        assert figures["tesseract"]["rates"]["words"]["cer"] == 1.0
    else:
        assert figures["held-out"]["examples"] == 3
    assert path.name in capsys.readouterr().out
