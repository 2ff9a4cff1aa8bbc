"""How figures look: paper and ink, by day and by night, in colours that everyone can tell apart."""

from dataclasses import dataclass

from dhyan.insight.colormap import TABLE, contrast

Colour = str


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
    by_day: bool = True

    def weight(self, share: int | float) -> Colour:
        """From the paper for 0 to the strongest for 1."""
        share = min(max(share, 0.0), 1.0)
        if self.by_day:
            return TABLE[min(int(share * len(TABLE)), len(TABLE) - 1)]
        return blend(self.paper, self.strong, share)

    def signed(self, share: int | float) -> Colour:
        """From one end for −1 over the paper for 0 to the other for 1."""
        share = min(max(share, -1.0), 1.0)
        return blend(self.paper, self.high if share > 0 else self.low, abs(share))

    def pen(self, on: Colour) -> Colour:
        """Black or white, whichever reads better on a colour."""
        return max("#000000", "#ffffff", key=lambda pen: contrast(pen, on))


def blend(one: Colour, other: Colour, share: int | float) -> Colour:
    """The colour so far along the straight line from one to the other."""
    pairs = zip(bytes.fromhex(one[1:]), bytes.fromhex(other[1:]), strict=True)
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
    by_day=False,
)


def tables(steps: int = 256) -> dict[str, list[Colour]]:
    """The colours of weights from 0 to 1 in each theme, for whoever draws elsewhere."""
    themes = {"light": LIGHT, "dark": DARK}
    return {
        name: [theme.weight(place / (steps - 1)) for place in range(steps)]
        for name, theme in themes.items()
    }
