"""Colours of figures: the colour map of attention weights, contrast, light and dark themes."""

from dataclasses import dataclass

Colour = str
STEPS = 256

# ColorBrewer's Blues, starting at white, so that a weight of 0 is blank.
_ANCHORS = bytes.fromhex("ffffff deebf7 c6dbef 9ecae1 6baed6 4292c6 2171b5 08519c 08306b")


def _interpolate(position: float) -> str:
    """The colour at a position from 0 to 1, by linear interpolation between the anchors."""
    index = min(int(position * 8), 7)
    pairs = zip(_ANCHORS[3 * index :][:3], _ANCHORS[3 * index + 3 :][:3], strict=True)
    return "#" + bytes(round(a + (position * 8 - index) * (b - a)) for a, b in pairs).hex()


TABLE = tuple(_interpolate(step / (STEPS - 1)) for step in range(STEPS))


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb`, from 0 for black to 1 for white (WCAG 2.2)."""
    shares = [byte / 255 for byte in bytes.fromhex(colour[1:])]
    red, green, blue = (s / 12.92 if s <= 0.04045 else ((s + 0.055) / 1.055) ** 2.4 for s in shares)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(colour: str, other: str) -> float:
    """The contrast ratio of two colours, from 1 to 21 (WCAG 2.2 asks for 4.5)."""
    dark, light = sorted((luminance(colour), luminance(other)))
    return (light + 0.05) / (dark + 0.05)


def paint(weight: int | float) -> str:
    """The colour of a weight; values outside 0 to 1 are clamped, and NaN is white."""
    return TABLE[min(int(weight * STEPS), STEPS - 1)] if weight > 0 else TABLE[0]


def ink(weight: int | float) -> str:
    """Black or white, whichever reads better on the weight's colour; the worse case is 4.6 to 1."""
    return max("#000000", "#ffffff", key=lambda pen: contrast(pen, paint(weight)))


@dataclass(frozen=True)
class Theme:
    """Colours of a figure: `low` and `high` end the signed numbers, `strong` the weights."""

    paper: Colour
    ink: Colour
    grey: Colour
    hairline: Colour
    low: Colour
    high: Colour
    strong: Colour
    lines: tuple[Colour, ...]
    light: bool = True

    def weight(self, share: int | float) -> Colour:
        """From the paper for 0 to the strongest for 1."""
        share = min(max(share, 0.0), 1.0)
        if self.light:
            return TABLE[min(int(share * len(TABLE)), len(TABLE) - 1)]
        return blend(self.paper, self.strong, share)

    def signed(self, share: int | float) -> Colour:
        """From one end for −1 over the paper for 0 to the other for 1."""
        share = min(max(share, -1.0), 1.0)
        return blend(self.paper, self.high if share > 0 else self.low, abs(share))

    def pen(self, on: Colour) -> Colour:
        """Black or white, whichever reads better on a colour."""
        return max("#000000", "#ffffff", key=lambda pen: contrast(pen, on))


def blend(colour: Colour, other: Colour, share: int | float) -> Colour:
    """Linear interpolation between two colours."""
    pairs = zip(bytes.fromhex(colour[1:]), bytes.fromhex(other[1:]), strict=True)
    return "#" + bytes(round(a + share * (b - a)) for a, b in pairs).hex()


# Okabe and Ito's colours (2008), which people who cannot tell red from green can tell apart.
LIGHT = Theme(
    paper="#ffffff",
    ink="#1a1f29",
    grey="#5b6472",
    hairline="#e3e8ee",
    low="#e08a3c",
    high="#4a90c4",
    strong="#08306b",
    lines=("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b6472"),
)
DARK = Theme(
    paper="#12161d",
    ink="#e8ecf1",
    grey="#9aa5b1",
    hairline="#2b323d",
    low="#c8742a",
    high="#3f86bd",
    strong="#9ecae1",
    lines=("#56b4e9", "#e69f00", "#2fbf95", "#e29ac3", "#f0e442", "#7f9cf5", "#9aa5b1"),
    light=False,
)


def weight_colors(steps: int = 256) -> dict[str, list[Colour]]:
    """The colours of weights from 0 to 1 in each theme, for the studio's page."""
    themes = {"light": LIGHT, "dark": DARK}
    return {
        name: [theme.weight(step / (steps - 1)) for step in range(steps)]
        for name, theme in themes.items()
    }
