"""The colours of a weight: one table from white to navy, for figures, terminal and page alike."""

STEPS = 256

# ColorBrewer's Blues, begun at white: a weight of nought looks like nothing.
_ANCHORS = bytes.fromhex("ffffff deebf7 c6dbef 9ecae1 6baed6 4292c6 2171b5 08519c 08306b")


def _between(place: float) -> str:
    """The colour at a place from 0 to 1 on the straight lines that join the anchors."""
    whole = min(int(place * 8), 7)
    pairs = zip(_ANCHORS[3 * whole :][:3], _ANCHORS[3 * whole + 3 :][:3], strict=True)
    return "#" + bytes(round(a + (place * 8 - whole) * (b - a)) for a, b in pairs).hex()


TABLE = tuple(_between(step / (STEPS - 1)) for step in range(STEPS))


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, from 0 for black to 1 for white (WCAG 2.2)."""
    shares = [byte / 255 for byte in bytes.fromhex(colour[1:])]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    """How well one colour is read on the other, from 1 to 21 (WCAG 2.2 asks for 4.5)."""
    dark, light = sorted((luminance(one), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def paint(weight: int | float) -> str:
    """The colour of a weight; what lies outside 0 to 1 takes the nearer end, and NaN is white."""
    return TABLE[min(int(weight * STEPS), STEPS - 1)] if weight > 0 else TABLE[0]


def ink(weight: int | float) -> str:
    """Black or white, whichever reads better on the weight's colour; the worse case is 4.6 to 1."""
    return max("#000000", "#ffffff", key=lambda pen: contrast(pen, paint(weight)))
