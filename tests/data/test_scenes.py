"""Scenes: what is drawn is what the caption says, in both languages and as cells."""

import itertools

import numpy as np
import pytest

from dhyan.config import load_recipe
from dhyan.data.corpus import load_corpus, with_languages
from dhyan.data.scene_cells import (
    BLANK,
    attribute_accuracy,
    cell_objects,
    parse_caption,
    scene_cell_pairs,
    scene_cells,
)
from dhyan.data.scenes import (
    COLOURS,
    DIRECTIONS,
    HELD_OUT,
    PLACES,
    RGB,
    SHAPES,
    Scene,
    SceneObject,
    generate_scenes,
    scene_pairs,
)
from dhyan.errors import UserError
from dhyan.text.image_frames import read_picture

SCENES = list(itertools.islice(generate_scenes(seed=1), 150))
SIDE = 64


def looks(scene):
    return [(one.colour, one.shape) for one in scene.objects]


def two(first, second, relation, sizes=("large", "large")):
    (x, y), middle = DIRECTIONS[relation], (1, 1)
    objects = (
        SceneObject(first[1], first[0], sizes[0], (1 + x, 1 + y)),
        SceneObject(second[1], second[0], sizes[1], middle),
    )
    return Scene(objects, (relation,))


@pytest.mark.parametrize(
    ("scene", "english", "hindi"),
    [
        (
            two(("red", "circle"), ("blue", "square"), "left of"),
            "a large red circle is left of a large blue square",
            "बड़ा लाल वृत्त बड़े नीले वर्ग के बाईं ओर है",
        ),
        (
            two(("green", "star"), ("yellow", "bar"), "above", ("small", "large")),
            "a small green star is above a large yellow bar",
            "छोटा हरा तारा बड़ी पीली पट्टी के ऊपर है",
        ),
        (
            two(("black", "bar"), ("orange", "star"), "below", ("large", "small")),
            "a large black bar is below a small orange star",
            "बड़ी काली पट्टी छोटे नारंगी तारे के नीचे है",
        ),
    ],
)
def test_hindi_adjectives_agree_and_stand_in_the_oblique_case(scene, english, hindi):
    assert scene.caption("en") == english
    assert scene.caption("hi") == hindi


def test_every_colour_agrees_with_every_shape():
    for (colour, adjective), (shape, noun) in itertools.product(COLOURS.items(), SHAPES.items()):
        one = SceneObject(shape, colour, "large", (0, 0))
        direct, oblique = one.hindi(oblique=False).split(), one.hindi(oblique=True).split()
        assert direct[-1] == noun.direct
        assert oblique[-1] == noun.oblique
        if noun.feminine:
            assert direct[:2] == oblique[:2] == ["बड़ी", adjective.feminine]
        else:
            assert (direct[0], oblique[0]) == ("बड़ा", "बड़े")


def test_scenes_follow_from_the_seed():
    again = itertools.islice(generate_scenes(seed=1), 150)
    assert list(again) == SCENES
    assert next(generate_scenes(seed=2)) != SCENES[0]


def test_held_out_combinations_are_never_trained_on():
    assert not any(set(looks(scene)) & HELD_OUT for scene in SCENES)
    held_out = list(itertools.islice(generate_scenes(seed=1, held_out=True), 50))
    assert all(set(looks(scene)) & HELD_OUT for scene in held_out)
    trained = {part for scene in SCENES for look in looks(scene) for part in look}
    assert trained == COLOURS.keys() | SHAPES.keys()


@pytest.mark.parametrize("language", ["en", "hi"])
def test_training_has_every_word_of_held_out_captions(language):
    captions = [scene.caption(language).split() for scene in SCENES]
    held_out = itertools.islice(generate_scenes(seed=3, held_out=True), 300)
    words = {word for scene in held_out for word in scene.caption(language).split()}
    assert words <= set(itertools.chain.from_iterable(captions))


@pytest.mark.parametrize("scene", SCENES[:40], ids=lambda scene: scene.caption("en"))
def test_a_box_holds_its_shape_and_no_other(scene):
    pixels = np.asarray(scene.draw(SIDE)).astype(int)
    coloured = np.zeros((SIDE, SIDE), bool)
    for one, (symbol, box) in zip(scene.objects, scene.boxes(SIDE), strict=True):
        assert symbol == one.symbol
        left, top, right, bottom = box
        assert 0 <= left < right <= SIDE
        assert 0 <= top < bottom <= SIDE
        x, y = (round(share * SIDE) for share in one.centre)
        assert tuple(pixels[y, x]) == RGB[one.colour]
        rows = slice(int(top), int(np.ceil(bottom)))
        columns = slice(int(left), int(np.ceil(right)))
        assert not coloured[rows, columns].all()
        coloured[rows, columns] = True
    assert (pixels[~coloured] == 255).all()


@pytest.mark.parametrize("language", ["en", "hi"])
def test_the_cells_of_a_scene_have_all_attributes_of_its_caption(language):
    for scene in SCENES:
        cells = scene_cells(scene)
        assert set(cells) == {BLANK, *(one.colour for one in scene.objects)}
        found = {(one.colour, one.shape) for one in cell_objects(cells)}
        assert found == set(looks(scene))
        statements = parse_caption(scene.caption(language))
        assert [(relation) for _, relation, _ in statements] == list(scene.relations)
        assert attribute_accuracy(cells, scene.caption(language)) == 1.0


def test_each_wrong_attribute_counts_once():
    scene = two(("red", "circle"), ("blue", "square"), "left of")
    caption = scene.caption("en")
    for other, share in (
        (two(("red", "circle"), ("blue", "square"), "above"), 4 / 5),
        (two(("green", "circle"), ("blue", "square"), "left of"), 4 / 5),
        (two(("red", "star"), ("blue", "square"), "left of"), 4 / 5),
        (two(("blue", "square"), ("red", "circle"), "left of"), 4 / 5),
        (two(("green", "star"), ("blue", "square"), "left of"), 2 / 5),
        (two(("green", "star"), ("black", "bar"), "left of"), 0),
    ):
        assert attribute_accuracy(scene_cells(other), caption) == pytest.approx(share)
    assert attribute_accuracy([BLANK] * 225, caption) == 0


def test_a_shape_with_a_few_wrong_cells_is_recognised_and_a_blot_is_not():
    scene = two(("red", "star"), ("blue", "square"), "left of")
    cells = scene_cells(scene)
    drawn = [at for at, cell in enumerate(cells) if cell == "red"]
    cells[drawn[0]] = BLANK
    assert {(one.colour, one.shape) for one in cell_objects(cells)} == {*looks(scene)}
    for at in drawn[1:-1]:
        cells[at] = BLANK
    assert ("red", "") in {(one.colour, one.shape) for one in cell_objects(cells)}


@pytest.mark.parametrize("cells", [[], ["x"] * 225, ["red"], ["red", "blue"] * 112, ["red"] * 225])
def test_cells_that_no_model_should_write_are_scored_too(cells):
    assert 0 <= attribute_accuracy(cells, SCENES[0].caption("en")) < 1


@pytest.mark.parametrize("caption", ["", "हरा", "a dog is left of a cat", "red red red left of"])
def test_another_text_states_nothing(caption):
    assert parse_caption(caption) == []
    assert attribute_accuracy(scene_cells(SCENES[0]), caption) == 0


def test_the_same_caption_has_the_same_cells():
    pairs = list(itertools.islice(scene_cell_pairs(seed=3), 2000))
    grids = {}
    for pair in pairs:
        assert grids.setdefault(pair.source, pair.target) == pair.target
        assert attribute_accuracy(pair.target.split(), pair.source) == 1.0
    assert len(grids) < len(pairs)


@pytest.mark.parametrize("language", ["en", "hi"])
def test_pairs_hold_the_picture_itself(language):
    for pair, scene in zip(scene_pairs(seed=1, language=language), SCENES[:5], strict=False):
        assert pair.target == scene.caption(language)
        assert read_picture(pair.source, files_allowed=False).tobytes() == scene.draw().tobytes()


@pytest.mark.parametrize(
    ("recipe", "settings", "languages"),
    [
        ("caption-scenes", {}, ("", "en")),
        ("caption-scenes", {"data.target_language": "hi"}, ("", "hi")),
        ("draw-scenes", {}, ("en", "")),
        ("draw-scenes", {"data.source_language": "hi"}, ("hi", "")),
    ],
)
def test_a_recipe_generates_scenes_in_a_language(recipe, settings, languages):
    recipe = with_languages(load_recipe(recipe, {**settings, "data.pairs": 20}))
    assert (recipe.data.source_language, recipe.data.target_language) == languages
    [*training] = load_corpus(recipe).training
    assert len(training) == 20
    captions = [pair.target if languages[1] else pair.source for pair in training]
    devanagari = all("है" in caption for caption in captions)
    assert devanagari == ("hi" in languages)


def test_captions_in_other_languages_are_refused():
    with pytest.raises(UserError, match="captions in en and hi, not fr"):
        SCENES[0].caption("fr")


def test_every_place_occurs():
    places = {one.place for scene in SCENES for one in scene.objects}
    assert places == set(itertools.product(range(PLACES), repeat=2))
