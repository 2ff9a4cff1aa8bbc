"""Bar charts for lesson figures: horizontal, grouped, with values and confidence intervals."""

from dataclasses import replace
from math import isfinite
from typing import Any

from matplotlib.patheffects import withStroke

from dhyan.insight.heatmap import PAD, SMALL
from dhyan.insight.lesson_blocks import BarChart, format_number
from dhyan.insight.lesson_figure_layout import CAPTION, Canvas, FigureStyle, SizedBlock, legend

# Lengths are in points, 72 to the inch.
LONGEST, THICK, APART = 190.0, 10.0, 7.0  # of a bar; between the bars of two names


def bar_chart_block(block: BarChart, style: FigureStyle) -> SizedBlock:
    """A bar to the right for what is above 0, to the left for what is below."""
    font, theme, count = style.font, style.theme, len(block.values)
    small = replace(font, size=SMALL + 1)
    ends = [end for rows in (block.values, block.lows, block.highs) for row in rows for end in row]
    least, most = (far([0.0, *filter(isfinite, ends)]) for far in (min, max))
    step = LONGEST / (most - least or 1.0)
    number = (
        max(small.widest([format_number(value, block) for value in row]) for row in block.values)
        + PAD
    )
    label_width = font.widest([style.texts[name] for name in block.names]) + PAD
    zero = label_width + (number if least < 0 else 0.0) - least * step
    markers = [
        {"color": theme.lines[group], "marker": "s", "markersize": 6, "linestyle": "none"}
        for group in range(count)
    ]
    whisker: dict[str, Any] = {
        "color": theme.ink,
        "linewidth": 0.9,
        "marker": "|",
        "markersize": 4,
        "path_effects": [withStroke(linewidth=2.4, foreground=theme.paper)],
    }
    below = all(value < 0 for row in block.values for value in row)
    right = zero + most * step + (0.0 if below else number)
    entries = legend(list(zip(markers, block.groups, strict=False)), style, right)
    top = CAPTION * (bool(block.title) + bool(block.y_label))
    under = top + len(block.names) * (count * THICK + APART) + APART

    def draw(canvas: Canvas, x: float, y: float) -> None:
        style.caption(canvas, x, y, block.title)
        if block.y_label:
            level = y + top - CAPTION + 0.75 * font.size
            canvas.text(
                x + label_width - PAD,
                level,
                style.texts[block.y_label],
                font,
                theme.grey,
                ha="right",
            )
        for index, name in enumerate(block.names):
            first = y + top + APART + index * (count * THICK + APART)
            level = first + count * THICK / 2 + font.middle
            canvas.text(
                x + label_width - PAD, level, style.texts[name], font, theme.ink, ha="right"
            )
            for group in range(count):
                bar(canvas, x + zero, first + group * THICK, group, index)
        canvas.plot([x + zero] * 2, [y + top, y + under], color=theme.grey, linewidth=0.7)
        if block.x_label:
            middle, label = x + zero + (least + most) * step / 2, style.texts[block.x_label]
            canvas.text(middle, y + under + 12, label, font, theme.grey, ha="center")
        entries.draw(canvas, x, y + under + CAPTION * bool(block.x_label) + PAD)

    def bar(canvas: Canvas, x: float, y: float, group: int, index: int) -> None:
        value = block.values[group][index]
        far = [value] + [rows[group][index] for rows in (block.lows, block.highs) if rows]
        level = y + THICK / 2
        if isfinite(value):
            left, right = sorted((x, x + value * step))
            canvas.cells(left, y, right - left, THICK, [[theme.lines[group]]])
        if len(far) == 3 and all(map(isfinite, far)):
            xs = [x + end * step for end in far[1:]]
            canvas.plot(xs, [level, level], **whisker)
        reach = [0.0, *filter(isfinite, far)]
        if value < 0:
            end, side = min(reach) * step - PAD, "right"
        else:
            end, side = max(reach) * step + PAD, "left"
        canvas.text(
            x + end, level + small.middle, format_number(value, block), small, theme.ink, ha=side
        )

    title = font.measure(style.texts[block.title])
    wide = max(title, right, entries.width)
    high = under + CAPTION * bool(block.x_label) + (PAD + entries.height if entries.height else 0)
    return SizedBlock(wide, high, draw)
