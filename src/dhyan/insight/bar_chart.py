"""Bars as a block of a sheet: horizontal, in groups, each with its value at its end."""

from dataclasses import replace
from math import isfinite
from typing import Any

from matplotlib.patheffects import withStroke

from dhyan.insight.blocks import Bars, said
from dhyan.insight.heatmap import PAD, SMALL
from dhyan.insight.page_layout import CAPTION, Block, Hand, Page, key

# Lengths are in points, 72 to the inch.
LONGEST, THICK, APART = 190.0, 10.0, 7.0  # of a bar; between the bars of two names


def barred(part: Bars, hand: Hand) -> Block:
    """A bar to the right for what is above 0, to the left for what is below."""
    letters, theme, count = hand.letters, hand.theme, len(part.values)
    small = replace(letters, size=SMALL + 1)
    ends = [one for rows in (part.values, part.lows, part.highs) for row in rows for one in row]
    least, most = (far([0.0, *filter(isfinite, ends)]) for far in (min, max))
    step = LONGEST / (most - least or 1.0)
    number = max(small.widest([said(value, part) for value in row]) for row in part.values) + PAD
    beside = letters.widest([hand.shown[name] for name in part.names]) + PAD
    zero = beside + (number if least < 0 else 0.0) - least * step
    looks = [
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
    signs = key(list(zip(looks, part.groups, strict=False)), hand, right)
    top = CAPTION * (bool(part.title) + bool(part.up))
    under = top + len(part.names) * (count * THICK + APART) + APART

    def draw(page: Page, x: float, y: float) -> None:
        hand.caption(page, x, y, part.title)
        if part.up:
            level = y + top - CAPTION + 0.75 * letters.size
            page.put(x + beside - PAD, level, hand.shown[part.up], letters, theme.grey, ha="right")
        for place, name in enumerate(part.names):
            first = y + top + APART + place * (count * THICK + APART)
            level = first + count * THICK / 2 + letters.middle
            page.put(x + beside - PAD, level, hand.shown[name], letters, theme.ink, ha="right")
            for group in range(count):
                bar(page, x + zero, first + group * THICK, group, place)
        page.plot([x + zero] * 2, [y + top, y + under], color=theme.grey, linewidth=0.7)
        if part.across:
            middle, across = x + zero + (least + most) * step / 2, hand.shown[part.across]
            page.put(middle, y + under + 12, across, letters, theme.grey, ha="center")
        signs.draw(page, x, y + under + CAPTION * bool(part.across) + PAD)

    def bar(page: Page, x: float, y: float, group: int, place: int) -> None:
        value = part.values[group][place]
        far = [value] + [rows[group][place] for rows in (part.lows, part.highs) if rows]
        level = y + THICK / 2
        if isfinite(value):
            left, right = sorted((x, x + value * step))
            page.cells(left, y, right - left, THICK, [[theme.lines[group]]])
        if len(far) == 3 and all(map(isfinite, far)):
            xs = [x + one * step for one in far[1:]]
            page.plot(xs, [level, level], **whisker)
        reach = [0.0, *filter(isfinite, far)]
        if value < 0:
            end, side = min(reach) * step - PAD, "right"
        else:
            end, side = max(reach) * step + PAD, "left"
        page.put(x + end, level + small.middle, said(value, part), small, theme.ink, ha=side)

    title = letters.measure(hand.shown[part.title])
    wide = max(title, right, signs.wide)
    high = under + CAPTION * bool(part.across) + (PAD + signs.high if signs.high else 0)
    return Block(wide, high, draw)
