"""Bar charts for lesson figures: horizontal, grouped, with values and confidence intervals."""

from dataclasses import replace
from math import isfinite
from typing import Any

from matplotlib.patheffects import withStroke

from dhyan.insight.blocks import Bars, format_number
from dhyan.insight.heatmap import PAD, SMALL
from dhyan.insight.page_layout import CAPTION, Block, FigureStyle, Page, legend

# Lengths are in points, 72 to the inch.
LONGEST, THICK, APART = 190.0, 10.0, 7.0  # of a bar; between the bars of two names


def bar_chart(part: Bars, style: FigureStyle) -> Block:
    """A bar to the right for what is above 0, to the left for what is below."""
    font, theme, count = style.font, style.theme, len(part.values)
    small = replace(font, size=SMALL + 1)
    ends = [end for rows in (part.values, part.lows, part.highs) for row in rows for end in row]
    least, most = (far([0.0, *filter(isfinite, ends)]) for far in (min, max))
    step = LONGEST / (most - least or 1.0)
    number = (
        max(small.widest([format_number(value, part) for value in row]) for row in part.values)
        + PAD
    )
    label_width = font.widest([style.texts[name] for name in part.names]) + PAD
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
    below = all(value < 0 for row in part.values for value in row)
    right = zero + most * step + (0.0 if below else number)
    entries = legend(list(zip(markers, part.groups, strict=False)), style, right)
    top = CAPTION * (bool(part.title) + bool(part.up))
    under = top + len(part.names) * (count * THICK + APART) + APART

    def draw(page: Page, x: float, y: float) -> None:
        style.caption(page, x, y, part.title)
        if part.up:
            level = y + top - CAPTION + 0.75 * font.size
            page.text(
                x + label_width - PAD, level, style.texts[part.up], font, theme.grey, ha="right"
            )
        for index, name in enumerate(part.names):
            first = y + top + APART + index * (count * THICK + APART)
            level = first + count * THICK / 2 + font.middle
            page.text(x + label_width - PAD, level, style.texts[name], font, theme.ink, ha="right")
            for group in range(count):
                bar(page, x + zero, first + group * THICK, group, index)
        page.plot([x + zero] * 2, [y + top, y + under], color=theme.grey, linewidth=0.7)
        if part.across:
            middle, across = x + zero + (least + most) * step / 2, style.texts[part.across]
            page.text(middle, y + under + 12, across, font, theme.grey, ha="center")
        entries.draw(page, x, y + under + CAPTION * bool(part.across) + PAD)

    def bar(page: Page, x: float, y: float, group: int, index: int) -> None:
        value = part.values[group][index]
        far = [value] + [rows[group][index] for rows in (part.lows, part.highs) if rows]
        level = y + THICK / 2
        if isfinite(value):
            left, right = sorted((x, x + value * step))
            page.cells(left, y, right - left, THICK, [[theme.lines[group]]])
        if len(far) == 3 and all(map(isfinite, far)):
            xs = [x + end * step for end in far[1:]]
            page.plot(xs, [level, level], **whisker)
        reach = [0.0, *filter(isfinite, far)]
        if value < 0:
            end, side = min(reach) * step - PAD, "right"
        else:
            end, side = max(reach) * step + PAD, "left"
        page.text(
            x + end, level + small.middle, format_number(value, part), small, theme.ink, ha=side
        )

    title = font.measure(style.texts[part.title])
    wide = max(title, right, entries.width)
    high = under + CAPTION * bool(part.across) + (PAD + entries.height if entries.height else 0)
    return Block(wide, high, draw)
