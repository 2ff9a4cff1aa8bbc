"""Shaded words: a label, and the words it was read from, each shaded by its attention weight."""

from dataclasses import dataclass
from math import exp, sqrt
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from dhyan.insight.colors import LIGHT, ink, paint
from dhyan.insight.terminal_heatmap import FAINT, PLAIN, clean, flow_lines
from dhyan.insight.trace import Trace
from dhyan.special_tokens import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

LEGEND = "shade: square root of the attention weight; numbers: hundredths"
NO_WEIGHTS = "no attention: no word has a weight"
SHOWN = 0.05  # weights with a number
RUNNERS = 3


@dataclass(frozen=True)
class LabelledWords:
    """A label with its probability, its runners-up, and the words with their weights, if any.

    A special token is among the words if it has much weight.
    """

    label: str
    prob: float
    runners: tuple[tuple[str, float], ...]
    words: tuple[str, ...]
    weights: tuple[float, ...] | None


def labelled_words(trace: Trace) -> LabelledWords:
    """The first output of a trace, with its attention over the words."""
    step, token = trace.steps[0], trace.target.tokens[0]
    runners = ((text, prob) for text, prob in step.top_tokens if text not in (token.text, *NAMES))
    attention, words = trace.cross_weights(), trace.source.words
    weights = attention.weights[0, 0].tolist() if attention else [0.0] * len(words)
    shown = [
        (word, weight)
        for word, weight in zip(words, weights, strict=True)
        if word not in NAMES or weight >= SHOWN
    ]
    return LabelledWords(
        label=trace.target.words[0],
        prob=exp(step.logprob),
        runners=tuple(runners)[:RUNNERS],
        words=tuple(word for word, _ in shown),
        weights=tuple(weight for _, weight in shown) if attention else None,
    )


def draw_in_terminal(trace: Trace, width: int = 80, colour: bool = True) -> Text:
    """The label, then the words in lines, those with much weight with its hundredths."""
    own = labelled_words(trace)
    title = Text.assemble((clean(own.label), "bold" if colour else ""), f"  {own.prob:.2f}")
    for text, prob in own.runners:
        title.append(f"   {clean(text)} {prob:.2f}", FAINT if colour else PLAIN)
    parts = []
    for word, weight in zip(own.words, own.weights or [0.0] * len(own.words), strict=True):
        number = f"·{100 * weight:.0f}" if weight >= SHOWN else ""
        shade = sqrt(max(weight, 0.0))
        style = Style(color=ink(shade), bgcolor=paint(shade)) if colour and own.weights else PLAIN
        parts.append(Text(f" {clean(word)}{number} ", style))
    legend = Text(LEGEND if own.weights else NO_WEIGHTS, FAINT if colour else PLAIN)
    return Text("\n").join([title, Text(), *flow_lines(parts, width), Text(), legend])


def draw(trace: Trace) -> "Figure":
    """The same as a figure, in lines of words."""
    from dhyan.insight.figure_page import BODY, SMALL, TITLE, WIDE, Page, flow
    from dhyan.insight.fonts import settings

    own = labelled_words(trace)
    with settings():
        page = Page([own.label, *own.words, *(text for text, _ in own.runners)])
        x = page.text(0, TITLE, own.label, TITLE)
        x = page.text(x + 12, TITLE, f"{own.prob:.2f}", TITLE, LIGHT.grey)
        for text, prob in own.runners:
            x = page.text(x + 16, TITLE, text, BODY, LIGHT.grey)
            x = page.text(x + 5, TITLE, f"{prob:.2f}", BODY, LIGHT.grey)
        right, pad, line = x, 3.0, 2.6 * BODY
        widths = [page.width(word) + 2 * pad for word in own.words]
        places = list(flow(widths, top=TITLE + 30, line=line, space=3))
        weights = own.weights or (0.0,) * len(own.words)
        for word, weight, place in zip(own.words, weights, places, strict=True):
            shade = sqrt(max(weight, 0.0))
            page.box(
                place.x, place.y - 1.15 * BODY, place.width, 1.65 * BODY, paint(shade), rounded=2.5
            )
            page.text(place.x + pad, place.y, word, BODY, ink(shade))
            if weight >= SHOWN:
                x, y = place.x + place.width / 2, place.y + 1.3 * BODY
                page.text(x, y, f"{100 * weight:.0f}", SMALL, LIGHT.grey, ha="center")
            right = max(right, place.right)
        bottom = places[-1].y + line
        end = page.text(0, bottom, LEGEND if own.weights else NO_WEIGHTS, SMALL, LIGHT.grey)
        return page.crop(max(right, end, WIDE / 2), bottom + 2)
