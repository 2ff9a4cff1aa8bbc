"""A lesson's sheet: nothing lies over anything else, every text is there, by day and by night."""

import pytest
import torch

from dhyan.faults import Fault
from dhyan.insight.colours import contrast
from dhyan.insight.figures import LABEL, POINTS, save
from dhyan.insight.fonts import Lettering, families
from dhyan.insight.parts import Curve, Lines, Plane, Point, Table, Words, said, table
from dhyan.insight.printed import printed
from dhyan.insight.sheet import MARGIN, WIDEST, _block, _flow, sheet, texts_of
from dhyan.insight.theme import DARK, LIGHT, blend

CURVES = (Curve("scaled", [1, 2, 1]), Curve("not", [1, 8, 60]))
POINTS_SEEN = (Point("bank", 9, 3, faint=True), Point("bank", 7.6, 3.8))
PARTS = (
    Words("Each word looks at all the others. " * 6),
    table("X", torch.tensor([[1.0, -2.5], [0.25, 1086.0]]), ["money", "बैंक"], ["पैसा", "bank"]),
    table("weights", [[0.25, 0.75], [1.0, 0.0]], ["a", "b"], kind="weights", after="→"),
    table("wide", torch.arange(24.0).reshape(2, 12)),
    Lines("by width", CURVES, ("1", "2", "3"), "d", "v"),
    Plane("the plane", POINTS_SEEN, ((9, 3, 7.6, 3.8),)),
    Words("अंत में एक वाक्य।"),
)  # fmt: skip


def placed(parts, widest=WIDEST):
    texts = {text: text for part in parts for text in texts_of(part)}
    letters = Lettering(families("".join(texts)), LABEL)
    blocks = [_block(part, letters, LIGHT, texts, widest) for part in parts]
    places, wide, high = _flow(blocks, widest, top=0.0)
    return (
        [(x, y, x + b.wide, y + b.high) for b, (x, y) in zip(blocks, places, strict=True)],
        wide,
        high,
    )


@pytest.mark.parametrize("widest", [200.0, 420.0, WIDEST, 2000.0])
def test_no_part_lies_over_another(widest):
    boxes, wide, high = placed(PARTS, widest)
    for number, (left, top, right, bottom) in enumerate(boxes):
        assert right <= wide + 1e-6
        assert bottom <= high + 1e-6
        for other in boxes[:number]:
            apart = left >= other[2] or right <= other[0] or top >= other[3] or bottom <= other[1]
            assert apart


def test_tables_of_one_line_begin_their_rows_at_one_height():
    parts = (table("with", [[1.0]], ["a"], ["b"]), table("without", [[1.0]], ["a"]))
    (first, second), _, _ = placed(parts)
    assert second[1] - first[1] == pytest.approx(16)


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_text_is_drawn_within_the_page(theme):
    figure = sheet(PARTS, title="A title in हिन्दी", theme=theme)
    drawn = {text.get_text() for axes in figure.axes for text in axes.texts}
    assert {"money", "बैंक", "पैसा", "scaled", "A title in हिन्दी", "1,086.00", "−2.50"} <= drawn
    box = figure.get_tightbbox().extents * POINTS
    wide, high = figure.get_size_inches() * POINTS
    assert min(box[0], box[1]) >= -1
    assert box[2] <= wide + 1
    assert box[3] <= high + 1
    assert wide <= WIDEST + 2 * MARGIN + 1


@pytest.mark.parametrize("theme", [LIGHT, DARK], ids=["light", "dark"])
def test_every_number_can_be_read_on_its_cell(theme):
    for share in torch.linspace(-1, 1, 81).tolist():
        for colour in (theme.signed(share), theme.weight(share)):
            assert contrast(theme.pen(colour), colour) >= 4.5
    assert contrast(theme.ink, theme.paper) >= 7
    assert contrast(theme.grey, theme.paper) >= 4.5
    assert theme.signed(0) == theme.paper
    assert all(contrast(line, theme.paper) >= 1.9 for line in theme.lines)


def test_blending_begins_at_one_and_ends_at_the_other():
    assert blend("#000000", "#ffffff", 0) == "#000000"
    assert blend("#000000", "#ffffff", 1) == "#ffffff"


def test_the_same_sheet_gives_the_same_bytes(tmp_path):
    for name in ("one.svg", "two.svg"):
        save(sheet(PARTS, title="again"), tmp_path / name)
    assert (tmp_path / "one.svg").read_bytes() == (tmp_path / "two.svg").read_bytes()


def test_numbers_are_written_as_people_write_them():
    whole = Table("", ((2.0, -1086.0),))
    assert [said(value, whole) for value in whole.values[0]] == ["2", "−1,086"]
    parts = Table("", ((0.5, 2.0),), digits=3)
    assert [said(value, parts) for value in parts.values[0]] == ["0.500", "2.000"]
    hidden = Table("", ((2.0, float("-inf")),))
    assert [said(value, hidden) for value in hidden.values[0]] == ["2", "−∞"]
    sheet((hidden,))
    weights = Table("", ((0.5, 1.0),), kind="weights")
    assert [said(value, weights) for value in weights.values[0]] == [".50", "1.00"]


def test_printed_lines_have_every_number_and_name():
    text = printed("A title", PARTS)
    for wanted in ("A title", "1,086.00", "पैसा · bank", "scaled", "(   7.600,    3.800)  bank"):
        assert wanted in text
    assert all(len(line) < 120 for line in text.splitlines())


def test_what_does_not_fit_is_said():
    with pytest.raises(Fault, match="weights: 3 names for 2 rows or columns"):
        table("weights", [[1.0, 0.0], [0.0, 1.0]], ["a", "b", "c"])
    with pytest.raises(Fault, match="nothing to draw"):
        sheet(())
