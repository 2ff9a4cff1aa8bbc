"""Figures: shaped Hindi, fixed colours, labels on the page, the same bytes every time."""

import re
import subprocess
import sys
import warnings
from itertools import combinations

import matplotlib
import pytest
import torch
from matplotlib.colors import to_hex

from dhyan.attention_maps import AttentionMap
from dhyan.errors import UserError
from dhyan.insight.colors import STEPS, TABLE, contrast, ink, luminance, paint
from dhyan.insight.fonts import shorten
from dhyan.insight.heatmap import GREY, heatmap, save
from dhyan.text.grapheme_clusters import grapheme_clusters

ENGLISH = ("he", "gives", "the", "book", "to", "the", "girl")
HINDI = ("वह", "लड़की", "को", "किताब", "देता", "है", "।")
SHAPES = ("राष्ट्र", "शक्ति", "क्षेत्र", "स्त्री", "कर्म", "ज़िंदगी", "ऑफ़िस")
HARD = (*SHAPES, "दिल्ली(Delhi)", "12वीं", "▁किताब", "$5", "ि")
FONT = "fontpkg_noto_sans_devanagari"


def attend(source, target, heads=1):
    weights = (3 * torch.randn(heads, len(target), len(source))).softmax(dim=-1)
    return AttentionMap("decoder", "cross", 1, tuple(source), tuple(target), weights)


def glyphs(figure, path):
    """The glyphs of each text, in the order in which they are drawn."""
    save(figure, path)
    texts = re.findall(r"<!-- (.*?) -->(.*?)(?=<!-- |\Z)", path.read_text("utf-8"), re.DOTALL)
    return {text: re.findall(r'<use xlink:href="#([^"]+)"', body) for text, body in texts}


@pytest.fixture
def glyphs_by_word(tmp_path):
    words = ["क", "क्ष", "कि", "र्क", "त्र", "त", "र", "स्त", "स", "त", "ज", "ज़", "Delhi"]
    return glyphs(heatmap(attend(words, ["a"])), tmp_path / "words.svg")


def test_a_short_i_stands_before_its_consonant(glyphs_by_word):
    first, second = glyphs_by_word["कि"]
    assert first != glyphs_by_word["क"][0]
    assert second == glyphs_by_word["क"][0]


def test_a_conjunct_is_one_grapheme(glyphs_by_word):
    assert len(glyphs_by_word["क्ष"]) == 1
    assert len(glyphs_by_word["त्र"]) == 1
    assert glyphs_by_word["त्र"] != glyphs_by_word["त"]


def test_a_repha_is_drawn_after_its_consonant(glyphs_by_word):
    consonant, repha = glyphs_by_word["र्क"]
    assert consonant == glyphs_by_word["क"][0]
    assert repha != glyphs_by_word["र"][0]


def test_a_half_letter_joins_the_next(glyphs_by_word):
    half, full = glyphs_by_word["स्त"]
    assert half != glyphs_by_word["स"][0]
    assert full == glyphs_by_word["त"][0]


def test_a_nukta_changes_the_glyph(glyphs_by_word):
    assert len(glyphs_by_word["ज़"]) == 1
    assert glyphs_by_word["ज़"] != glyphs_by_word["ज"]


def test_latin_letters_come_from_the_same_font_as_hindi_ones(glyphs_by_word):
    fonts = {glyph.rsplit("-", 1)[0] for text in ("कि", "Delhi") for glyph in glyphs_by_word[text]}
    assert len(fonts) == 1


def test_hindi_with_latin_draws_without_a_warning(tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        figure = heatmap(attend(HARD, HARD), title="ज़िंदगी costs $5, or $6")
        for kind in ("png", "svg", "pdf"):
            save(figure, tmp_path / f"hard.{kind}")


def test_missing_glyphs_are_named_in_one_warning(tmp_path):
    source = ["தமிழ்", "中文", "🙂", "tab\there", "zero\x00"]
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        figure = heatmap(attend(source, ["वह"]))
        save(figure, tmp_path / "missing.png")
    [warning] = caught
    assert "Tamil (" in str(warning.message)
    assert "CJK (中 文)" in str(warning.message)
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert {"□□□", "□□", "tab here", "zero"} <= set(texts)


def test_hindi_without_a_font_is_an_error(monkeypatch):
    monkeypatch.setitem(sys.modules, FONT, None)
    with pytest.raises(UserError, match="pip install fontpkg-noto-sans-devanagari") as fault:
        heatmap(attend(ENGLISH, HINDI))
    assert "\n" not in str(fault.value)


def test_english_is_drawn_without_the_hindi_font(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, FONT, None)
    names = glyphs(heatmap(attend(ENGLISH, ENGLISH)), tmp_path / "latin.svg")
    assert all(glyph.startswith("DejaVuSans-") for glyph in names["gives"])


@pytest.mark.parametrize(
    "attention",
    [
        attend(ENGLISH, HINDI),
        attend(HINDI, ENGLISH),
        attend(HARD, HARD),
        attend(["a"], ["एक"]),
        attend([*HARD[:-1], "disproportionately"], HINDI),
        attend((ENGLISH * 6)[:40], HINDI[:3]),
        attend((ENGLISH * 9)[:60], (HINDI * 9)[:60]),
        attend(ENGLISH, HINDI, heads=8),
        attend(["x" * 300], ["क्ष" * 300]),
        attend([""], [""]),
    ],
    ids=["en-hi", "hi-en", "hard", "one", "slanted", "wide", "sixty", "heads", "long", "empty"],
)
def test_every_label_is_on_the_page(attention):
    figure = heatmap(attention, title="a title that is rather longer than the figure is wide " * 3)
    page = figure.bbox.padded(-1)
    for text in figure.axes[0].texts:
        box = text.get_window_extent()
        assert page.containsx(box.x0), text.get_text()
        assert page.containsx(box.x1), text.get_text()
        assert page.containsy(box.y0), text.get_text()
        assert page.containsy(box.y1), text.get_text()


def test_column_labels_are_horizontal_if_they_fit_and_rotated_otherwise():
    def turns(attention):
        texts = heatmap(attention).axes[0].texts
        return {t.get_rotation() for t in texts if t.get_text() in attention.source}

    assert turns(attend(ENGLISH, "ab")) == {0}
    assert turns(attend(HARD[:-1], ["one"])) == {45}
    assert turns(attend(ENGLISH * 5, ["one"])) == {90}


def test_cells_are_square_and_carry_the_weights():
    attention = attend(ENGLISH, HINDI)
    axes = heatmap(attention).axes[0]
    mesh = axes.collections[0]
    sides = mesh.get_coordinates()[1, 1] - mesh.get_coordinates()[0, 0]
    assert sides[0] == sides[1]
    assert mesh.get_clim() == (0, 1)
    assert torch.equal(torch.tensor(mesh.get_array()), attention.weights[0].double())


def test_a_figure_uses_the_colour_table():
    mesh = heatmap(attend(ENGLISH, HINDI)).axes[0].collections[0]
    weights = torch.linspace(0, 1, 1001).tolist()
    assert [to_hex(mesh.to_rgba(weight)) for weight in weights] == [paint(w) for w in weights]


def test_cells_have_numbers_when_there_is_room():
    weights = torch.tensor([[[0.004, 0.25, 0.999], [0.1, 0.9, 0.0]]])
    roomy = AttentionMap("decoder", "cross", 1, ("a", "b", "c"), ("d", "e"), weights)
    numbers = [text.get_text() for text in heatmap(roomy).axes[0].texts]
    assert numbers[:4] == [".25", "1", ".10", ".90"]
    tight = heatmap(attend("a" * 40, "b" * 40)).axes[0].texts
    assert not any(text.get_text().startswith(".") for text in tight)


def test_each_head_has_its_panel_and_labels_are_shared():
    axes = heatmap(attend(ENGLISH, HINDI, heads=8)).axes[0]
    labels = [text.get_text() for text in axes.texts]
    assert len(axes.collections) == 8 + 1
    assert [text for text in labels if text.startswith("head")] == [
        f"head {n}" for n in range(1, 9)
    ]
    assert labels.count("किताब") < 8


def test_maps_of_one_sentence_pair_are_captioned_by_role_and_layer():
    weights = torch.ones(2, 1, 1)
    maps = [AttentionMap("", "cross", layer, ("a",), ("b",), weights) for layer in (1, 2)]
    texts = {text.get_text(): text for text in heatmap(*maps).axes[0].texts}
    captions = [f"cross, layer {layer} · head {head}" for layer in (1, 2) for head in (1, 2)]
    boxes = [texts[caption].get_window_extent() for caption in captions]
    assert not any(box.overlaps(other) for box, other in combinations(boxes, 2))


def test_maps_of_different_sentences_are_an_error():
    with pytest.raises(UserError, match="different words"):
        heatmap(attend("ab", "cd"), attend("ab", "ce"))


def test_an_empty_map_is_an_error():
    with pytest.raises(UserError, match="no attention"):
        heatmap()
    with pytest.raises(UserError, match="no attention"):
        heatmap(attend([], ["a"]))


@pytest.mark.parametrize(
    ("name", "magic"),
    [("a.png", b"\x89PNG\r\n\x1a\n"), ("a.svg", b"<?xml"), ("a.PDF", b"%PDF-")],
)
def test_the_suffix_is_the_format_and_files_are_reproducible(tmp_path, name, magic):
    attention = attend(ENGLISH, HINDI)
    save(heatmap(attention, title="एक"), tmp_path / name)
    once = (tmp_path / name).read_bytes()
    theirs = {"svg.fonttype": "none", "font.family": "serif", "figure.facecolor": "red"}
    with matplotlib.rc_context(theirs):
        save(heatmap(attention, title="एक"), str(tmp_path / name))
        assert all(matplotlib.rcParams[key] in (value, [value]) for key, value in theirs.items())
    assert once.startswith(magic)
    assert (tmp_path / name).read_bytes() == once
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_an_svg_has_outlines_and_a_pdf_has_its_fonts(tmp_path):
    figure = heatmap(attend(ENGLISH, HINDI))
    save(figure, tmp_path / "a.svg")
    save(figure, tmp_path / "a.pdf")
    assert "<text" not in (tmp_path / "a.svg").read_text("utf-8")
    assert b"/FontFile2" in (tmp_path / "a.pdf").read_bytes()


def test_an_unwritable_path_is_an_error_and_leaves_no_file(tmp_path):
    figure = heatmap(attend("a", "b"))
    (tmp_path / "file").write_text("")
    (tmp_path / "folder.png").mkdir()
    before = sorted(tmp_path.iterdir())
    for name in ("a.bmp", "a", "missing/a.png", "file/a.png", "folder.png"):
        with pytest.raises(UserError, match=re.escape(str(tmp_path / name))):
            save(figure, tmp_path / name)
    assert sorted(tmp_path.iterdir()) == before


def test_the_table_goes_from_white_to_navy_and_never_grows_lighter():
    brightness = [luminance(colour) for colour in TABLE]
    assert len(TABLE) == STEPS
    assert TABLE[0] == "#ffffff"
    assert brightness == sorted(brightness, reverse=True)
    assert len(set(brightness)) == STEPS


def test_ink_is_readable_on_every_colour():
    for step in range(STEPS):
        weight = (step + 0.5) / STEPS
        assert paint(weight) == TABLE[step]
        assert contrast(ink(weight), paint(weight)) >= 4.5
        assert weight >= 0.1 or contrast(GREY, paint(weight)) >= 4.5


def test_weights_outside_the_range_are_clamped():
    assert paint(-1) == paint(0) == paint(float("nan")) == TABLE[0]
    assert paint(1) == paint(7) == TABLE[-1]


def test_a_word_is_shortened_between_graphemes():
    assert list(grapheme_clusters("क्षत्रिय")) == ["क्ष", "त्रि", "य"]
    assert list(grapheme_clusters("ज़िंदगी")) == ["ज़िं", "द", "गी"]
    assert list(grapheme_clusters("cafe\u0301s")) == ["c", "a", "f", "e\u0301", "s"]
    assert shorten("क्षत्रिय", 5, len) == "क्ष…"
    assert shorten("whole", 5, len) == "whole"


def test_importing_insight_does_not_import_matplotlib():
    modules = "sys, dhyan.insight, dhyan.insight.terminal_heatmap"
    code = f"import {modules}; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": "src"})
