"""Heat maps in the terminal: right numbers in straight columns, whole Hindi words, any width."""

import pytest
import torch
from rich.cells import cell_len
from rich.console import Console

from dhyan.attention_maps import AttentionMap
from dhyan.insight.colors import ink, paint
from dhyan.insight.terminal_heatmap import draw

ENGLISH = ("he", "gives", "the", "book", "to", "the", "girl")
HINDI = ("वह", "लड़की", "को", "किताब", "देता", "है", "।")


def attend(source, target, heads=1):
    weights = (3 * torch.randn(heads, len(target), len(source))).softmax(dim=-1)
    return AttentionMap("decoder", "cross", 1, tuple(source), tuple(target), weights)


def read(attention, **options):
    """The blocks of a drawing, each a list of its stair and a list of its rows."""
    _, *blocks = draw(attention, colour=False, **options).plain.split("\n\n")
    rows = len(attention.target)
    return [(block.split("\n")[:-rows], block.split("\n")[-rows:]) for block in blocks]


def printed(console_width=80, **options):
    console = Console(width=console_width, force_terminal=True, color_system="truecolor")
    with console.capture() as capture:
        console.print(draw(attend(ENGLISH, HINDI), **options))
    return capture.get()


def test_without_colour_there_are_no_escape_codes():
    assert "\x1b" not in printed(colour=False)


def test_colour_changes_nothing_but_the_colour():
    attention = attend(ENGLISH, HINDI)
    plain, painted = draw(attention, colour=False), draw(attention)
    assert not plain.spans or all(span.style.color is None for span in plain.spans)
    assert plain.plain == painted.plain
    assert "\x1b[" in printed()


def test_a_cell_has_the_colour_of_its_weight():
    attention = AttentionMap(
        "decoder", "cross", 1, ("a", "b"), ("c",), torch.tensor([[[0.97, 0.03]]])
    )
    styles = [span.style for span in draw(attention).spans if span.style.bgcolor]
    assert [style.bgcolor.name for style in styles] == [paint(0.97), paint(0.03)]
    assert [style.color.name for style in styles] == [ink(0.97), ink(0.03)]


def test_a_row_reads_as_hundredths_and_its_word():
    weights = torch.tensor([[[0.974, 0.02, 0.004], [0.0, 0.0, 1.0]]])
    attention = AttentionMap("decoder", "cross", 1, ("he", "gives", "."), ("वह", "।"), weights)
    [(_, rows)] = read(attention)
    assert rows == [" 97   2   ·  वह", "  ·   · 100  ।"]


def test_weights_that_are_not_numbers_are_shown_as_such():
    attention = AttentionMap(
        "decoder", "cross", 1, ("a",), ("b",), torch.full((1, 1, 1), float("nan"))
    )
    [(_, [row])] = read(attention)
    assert row == "nan  b"
    assert "nan" in draw(attention).plain


def test_several_heads_are_averaged_as_the_heading_states():
    weights = torch.tensor([[[1.0, 0.0]], [[0.5, 0.5]]])
    attention = AttentionMap("decoder", "cross", 1, ("a", "b"), ("c",), weights)
    assert "the mean of 2 heads" in draw(attention).plain.split("\n")[0]
    assert draw(attention).plain.endswith(" 75  25  c")
    assert "mean" not in draw(attend("a", "b")).plain


@pytest.mark.parametrize("sides", [(ENGLISH, HINDI), (HINDI, ENGLISH), (HINDI, HINDI)])
def test_numbers_stand_under_the_first_letter_of_their_source_word(sides):
    source, target = sides
    [(stair, rows)] = read(attend(source, target))
    for column, (line, word) in enumerate(zip(stair, source, strict=True)):
        before = line.removesuffix(word)
        assert before == "  │ " * column + "  "
        assert all(row[len(before)] in "0123456789·" for row in rows)


@pytest.mark.parametrize("sides", [(ENGLISH, HINDI), (HINDI, ENGLISH), (HINDI, HINDI)])
def test_a_hindi_word_is_the_last_on_its_line_so_columns_stay_straight(sides):
    source, target = sides
    [(_, rows)] = read(attend(source, target))
    cells = [row.removesuffix(word) for row, word in zip(rows, target, strict=True)]
    assert {cell_len(cell) for cell in cells} == {4 * len(source) + 1}
    assert all(cell.isascii() for cell in (cell.replace("·", ".") for cell in cells))


@pytest.mark.parametrize("width", [16, 20, 33, 80, 200])
def test_no_line_is_wider_than_the_terminal_and_no_column_is_lost(width):
    source = tuple(f"{word}{number}" for number, word in enumerate(HINDI * 4))
    blocks = read(attend(source, (*HINDI, "अंतर्राष्ट्रीयकरण" * 2)), width=width)
    lines = [line for stair, rows in blocks for line in (*stair, *rows)]
    assert max(map(cell_len, lines)) <= width
    assert sum(len(stair) for stair, _ in blocks) == len(source)
    sizes = [len(stair) for stair, _ in blocks]
    assert max(sizes) - min(sizes) < max(2, len(sizes))


def test_a_narrow_terminal_repeats_the_target_words_in_every_block():
    blocks = read(attend(ENGLISH, HINDI), width=24)
    assert len(blocks) > 1
    for _, rows in blocks:
        assert [row.split()[-1] for row in rows] == list(HINDI)


def test_a_console_of_that_width_prints_it_as_it_is():
    attention = attend(ENGLISH * 3, HINDI)
    console = Console(width=40)
    with console.capture() as capture:
        console.print(draw(attention, width=40, colour=False))
    assert capture.get() == draw(attention, width=40).plain + "\n"


def test_a_long_word_is_cut_between_graphemes():
    [(_, [row]), *_] = read(attend(["a"], ["क्षत्रिय" * 20]), width=30)
    assert row.endswith("…")
    assert "क्ष" in row
    assert not row.removesuffix("…").endswith("\u094d")


def test_control_characters_in_words_do_not_reach_the_terminal():
    assert "\x1b" not in draw(attend(["a\x1b[31m\n"], ["b\x07"])).plain
    assert len(draw(attend(["a\nb"], ["c"])).plain.split("\n")) == 4


def test_a_token_that_begins_with_a_vowel_sign_gets_a_dotted_circle():
    assert draw(attend(["a"], ["ि"])).plain.endswith(" ◌ि")
