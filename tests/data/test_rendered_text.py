"""Rendered lines: every character in its box, the same picture for the same seed."""

import itertools
import json
import random

import numpy as np
import pytest

from dhyan.data.read_pairs import read_pairs
from dhyan.data.rendered_text import (
    CLEAN,
    DIGITS,
    Distortion,
    default_font,
    hindi_lines,
    render_text,
    rendered_lines,
    rendered_text_pairs,
)
from dhyan.data.write_pictures import BOXES, write_pictures
from dhyan.errors import UserError
from dhyan.text.grapheme_clusters import grapheme_clusters
from dhyan.text.image_frames import read_picture

TEXT = "लड़की ने क्षमा माँगी। ३४५"
FONT = default_font()
DISTORTIONS = (
    CLEAN,
    Distortion(skew=2.0),
    Distortion(skew=-2.0, blur=0.8, noise=9.0, ink=50),
    Distortion(skew=1.0, slant=12.0, stretch=0.75, weight=-0.4),
)


def darkness(image):
    return 255 - np.asarray(image.convert("L")).astype(int)


@pytest.mark.parametrize("distortion", DISTORTIONS, ids=str)
def test_each_character_has_its_box_in_order(distortion):
    line = render_text(TEXT, FONT, distortion=distortion)
    clusters = [cluster for cluster in grapheme_clusters(TEXT) if cluster != " "]
    assert [cluster for cluster, _ in line.boxes] == clusters
    lefts = [box[0] for _, box in line.boxes]
    assert lefts == sorted(lefts)
    for _, (left, top, right, bottom) in line.boxes:
        assert 0 <= left < right <= line.image.width
        assert 0 <= top < bottom <= line.image.height


@pytest.mark.parametrize("skew", [0.0, 3.0, -3.0])
@pytest.mark.parametrize(("slant", "stretch"), [(0.0, 1.0), (12.0, 1.3), (-8.0, 0.75)])
def test_the_ink_lies_in_the_boxes(skew, slant, stretch):
    distortion = Distortion(skew=skew, slant=slant, stretch=stretch)
    line = render_text(TEXT, FONT, size=40, distortion=distortion)
    ink = darkness(line.image) > 60
    covered = np.zeros_like(ink)
    for _, (left, top, right, bottom) in line.boxes:
        box = (slice(int(top), int(bottom) + 2), slice(int(left), int(right) + 2))
        assert ink[box].any()
        covered[box] = True
    assert (ink & covered).sum() > 0.97 * ink.sum()


def test_bolder_letters_have_more_ink():
    lines = [render_text(TEXT, FONT, distortion=Distortion(weight=w)) for w in (-0.5, 0.0, 0.5)]
    inks = [float(darkness(line.image).mean()) for line in lines]
    assert inks == sorted(set(inks))


def test_the_same_seed_draws_the_same_picture():
    noisy = Distortion(noise=10.0)
    first, again, other = (render_text(TEXT, FONT, distortion=noisy, seed=s) for s in (1, 1, 2))
    assert first.image.tobytes() == again.image.tobytes() != other.image.tobytes()


def test_conjuncts_are_shaped():
    """क्ष as one glyph is narrower than क, virama and ष apart."""
    joined, apart = (render_text(text, FONT).image.width for text in ("क्ष", "क्\u200cष"))
    assert joined < apart


def test_lines_are_parts_of_sentences_words_and_numbers():
    lines = list(itertools.islice(hindi_lines(seed=1, max_words=3), 80))
    assert lines == list(itertools.islice(hindi_lines(seed=1, max_words=3), 80))
    assert {len(line.split()) for line in lines} == {1, 2, 3}
    assert any(set(line) <= set(DIGITS) for line in lines)
    assert not any("\n" in line or not line.strip() for line in lines)


def test_pairs_hold_the_picture_itself():
    pairs = list(itertools.islice(rendered_text_pairs(seed=1), 5))
    assert pairs == list(itertools.islice(rendered_text_pairs(seed=1), 5))
    for pair in pairs:
        assert darkness(read_picture(pair.source, files_allowed=False)).max() > 100


def test_a_written_folder_is_read_again(tmp_path):
    texts = ["एक आम", "दो\tआम", "३"]
    lines = list(rendered_lines(texts, [FONT], seed=1))
    examples = ((line.image, line.text, line.boxes) for line in lines)
    assert write_pictures(tmp_path / "out", examples) == 3
    pairs = list(read_pairs(tmp_path / "out"))
    assert [pair.target for pair in pairs] == ["एक आम", "दो आम", "३"]
    for pair, line in zip(pairs, lines, strict=True):
        assert read_picture(pair.source).convert("L").tobytes() == line.image.tobytes()
    boxes = [json.loads(text) for text in (tmp_path / "out" / BOXES).read_text().splitlines()]
    assert [row["image"] for row in boxes] == ["000001.png", "000002.png", "000003.png"]
    assert [part for part, *_ in boxes[0]["boxes"]] == ["ए", "क", "आ", "म"]


def test_a_distortion_follows_from_the_generator():
    assert Distortion.sample(random.Random(1)) == Distortion.sample(random.Random(1))


def test_what_is_no_font_is_a_user_error(tmp_path):
    path = tmp_path / "a.ttf"
    path.write_bytes(b"none")
    for name in (path, tmp_path / "b.ttf"):
        with pytest.raises(UserError, match="not a font"):
            render_text("a", name)
