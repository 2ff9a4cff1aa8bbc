"""Points in the plane as a block of a sheet, each with its name where there is room for it."""

from collections.abc import Iterator, Sequence
from math import cos, dist, pi, sin
from typing import Any

from matplotlib.axes import Axes
from matplotlib.patheffects import withStroke

from dhyan.insight.blocks import Plane
from dhyan.insight.fonts import shorten
from dhyan.insight.heatmap import PAD, SMALL
from dhyan.insight.line_chart import LEFT
from dhyan.insight.page_layout import CAPTION, Block, Hand, Page, key

# Lengths are in points, 72 to the inch; within the square they rise from its lower left.
PLANE, TICKS = 210.0, 14.0
FAINT = 0.45
MARKERS = (("o", 5.0), ("s", 4.6), ("^", 5.6), ("D", 4.2), ("v", 5.6), ("P", 5.8), ("X", 5.6))
DOT, NEAR, FAR = 3.0, 5.5, (12.0, 22.0, 34.0)  # half a marker; from a point to its name
ABOVE, UNDER = 0.95, 0.3  # how far letters reach over and under their line, in their size

Spot = tuple[float, float]
Box = tuple[float, float, float, float]
"""Left, bottom, right, top."""


def mapped(part: Plane, hand: Hand) -> Block:
    """Points with their names, and arrows, on a square, over a key to the kinds."""
    xs = [one.x for one in part.points] + [at for a, _, b, _ in part.moves for at in (a, b)]
    ys = [one.y for one in part.points] + [at for _, a, _, b in part.moves for at in (a, b)]
    side = 1.25 * max(max(xs) - min(xs), max(ys) - min(ys)) or 1.0
    left, low = ((min(some) + max(some) - side) / 2 for some in (xs, ys))
    named = [(_marker(kind, hand), name) for kind, name in enumerate(part.kinds) if name]
    signs = key(named, hand, LEFT + PLANE)
    top = CAPTION + (CAPTION if part.up else 6)
    under = top + PLANE + TICKS

    def draw(page: Page, x: float, y: float) -> None:
        hand.caption(page, x, y, part.title)
        axes = page.inset(x + LEFT, y + top, PLANE, PLANE)
        axes.set(xlim=(left, left + side), ylim=(low, low + side))
        _frame(axes, hand)
        _fill(axes, part, hand)
        _name(axes, part, hand, side / PLANE)
        grey = hand.theme.grey
        if part.up:
            page.put(x + LEFT, y + top - PAD, hand.shown[part.up], hand.letters, grey)
        if part.across:
            middle, across = x + LEFT + PLANE / 2, hand.shown[part.across]
            page.put(middle, y + under + 12, across, hand.letters, grey, ha="center")
        signs.draw(page, x, y + under + CAPTION * bool(part.across) + PAD)

    wide = max(hand.letters.measure(hand.shown[part.title]), LEFT + PLANE + PAD, signs.wide)
    high = under + CAPTION * bool(part.across) + (PAD + signs.high if signs.high else 0)
    return Block(wide, high, draw)


def settle(points: Sequence[Spot], sizes: Sequence[Spot], blocked: Sequence[Box]) -> list[Box]:
    """A box of its size beside each point: the first place that is free, else the freest."""
    taken, found = list(blocked), []
    for point, size in zip(points, sizes, strict=True):
        best, least = (0.0, 0.0, 0.0, 0.0), float("inf")
        for box in _around(*point, *size):
            outside = size[0] * size[1] - _shared(box, (0.0, 0.0, PLANE, PLANE))
            lost = 100 * outside + sum(_shared(box, other) for other in taken)
            if lost < least - 1e-6:
                best, least = box, lost
            if lost < 1e-6:
                break
        found.append(best)
        taken.append((best[0] - 1, best[1], best[2] + 1, best[3]))
        if end := _far(best, point):
            taken += [_box(*spot, 1.0, 1.0) for spot in _along(point, end)]
    return found


def _far(box: Box, point: Spot) -> Spot | None:
    """Where a thread from the point comes to the box, if that is not beside it."""
    (left, bottom, right, top), (x, y) = box, point
    end = (min(max(x, left), right), min(max(y, bottom), top))
    return end if dist(end, point) > 1.5 * NEAR else None


def _around(x: float, y: float, wide: float, high: float) -> Iterator[Box]:
    """Places near a point, the best first, then some farther away."""
    for across, up in ((1, 1), (1, 0), (-1, 1), (1, -1), (-1, 0), (-1, -1), (0, 1), (0, -1)):
        far = 1.0 if across else NEAR - 1
        yield _box(x + across * (NEAR + wide / 2), y + up * (far + high / 2), wide, high)
    for far in FAR:
        for place in range(16):
            turn = pi / 4 + pi / 8 * ((place + 1) // 2) * (-1) ** place
            aside, over = cos(turn) * (far + wide / 2), sin(turn) * (far + high / 2)
            yield _box(x + aside, y + over, wide, high)


def _box(x: float, y: float, wide: float, high: float) -> Box:
    return x - wide / 2, y - high / 2, x + wide / 2, y + high / 2


def _shared(one: Box, other: Box) -> float:
    """The area of two boxes in common."""
    wide = min(one[2], other[2]) - max(one[0], other[0])
    high = min(one[3], other[3]) - max(one[1], other[1])
    return max(wide, 0.0) * max(high, 0.0)


def _frame(axes: Axes, hand: Hand) -> None:
    axes.set_facecolor(hand.theme.paper)
    axes.tick_params(length=0, labelcolor=hand.theme.grey, labelsize=SMALL)
    axes.ticklabel_format(useOffset=False)
    axes.grid(color=hand.theme.hairline, linewidth=0.6)
    axes.set_axisbelow(True)
    axes.spines[:].set_visible(False)


def _fill(axes: Axes, part: Plane, hand: Hand) -> None:
    for x0, y0, x1, y1 in part.moves:
        arrow = {"arrowstyle": "->", "color": hand.theme.grey, "linewidth": 1.1, "shrinkB": 4}
        axes.annotate("", (x1, y1), (x0, y0), arrowprops=arrow)
    for one in part.points:
        alpha = FAINT if one.faint else 1.0
        axes.plot([one.x], [one.y], **_marker(one.kind, hand), alpha=alpha, clip_on=False)


def _marker(kind: int, hand: Hand) -> dict[str, Any]:
    """A kind's colour and, for those who do not see colours, its shape."""
    marker, size = MARKERS[kind % len(MARKERS)]
    colour = hand.theme.lines[kind % len(hand.theme.lines)]
    return {"color": colour, "marker": marker, "markersize": size, "linestyle": "none", "mew": 0}


def _name(axes: Axes, part: Plane, hand: Hand, step: float) -> None:
    """Names beside their points, those of faint points last, or at the end of a thread."""
    (left, _), (low, _) = axes.get_xlim(), axes.get_ylim()

    def at(x: int | float, y: int | float) -> Spot:
        return (x - left) / step, (y - low) / step

    letters, theme = hand.letters, hand.theme
    dots = [_box(*at(one.x, one.y), 2 * DOT, 2 * DOT) for one in part.points]
    paths = [
        _box(*spot, DOT, DOT)
        for move in part.moves
        for spot in _along(at(*move[:2]), at(*move[2:]))
    ]
    named = sorted((one for one in part.points if one.name), key=lambda one: one.faint)
    names = [shorten(hand.shown[one.name], PLANE - 4 * NEAR, letters.measure) for one in named]
    sizes = [(letters.measure(name), (ABOVE + UNDER) * letters.size) for name in names]
    spots = [at(one.x, one.y) for one in named]
    halo = [withStroke(linewidth=2, foreground=theme.paper)]
    boxes = settle(spots, sizes, dots + paths)
    for one, name, spot, box in zip(named, names, spots, boxes, strict=True):
        if end := _far(box, spot):
            ends = [one.x, left + end[0] * step], [one.y, low + end[1] * step]
            axes.plot(*ends, color=theme.grey, linewidth=0.6)
        place = (left + box[0] * step, low + (box[1] + UNDER * letters.size) * step)
        style = letters.style(theme.grey if one.faint else theme.ink)
        axes.text(*place, name, path_effects=halo, **style)


def _along(one: Spot, other: Spot) -> Iterator[Spot]:
    """Places on the way from one to the other, close to each other."""
    count = max(int(dist(one, other) / DOT), 1)
    for share in (place / count for place in range(count + 1)):
        yield (one[0] + (other[0] - one[0]) * share, one[1] + (other[1] - one[1]) * share)
