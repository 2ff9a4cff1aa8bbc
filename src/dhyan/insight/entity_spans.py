"""Entity spans: the words of a sentence, with the spans that its tags mark, such as names."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TYPE_CHECKING

from rich.style import Style
from rich.text import Text

from dhyan.insight.colors import LIGHT, blend
from dhyan.insight.terminal_heatmap import FAINT, PLAIN, clean, flow_lines
from dhyan.insight.trace import Trace
from dhyan.special_tokens import NAMES

if TYPE_CHECKING:
    from matplotlib.figure import Figure

OUTSIDE = "O"
BOLD = Style(bold=True)
LINES = LIGHT.lines[:6]  # the seventh is grey


@dataclass(frozen=True)
class EntitySpan:
    """Words from `first` to before `last` that have one label."""

    label: str
    first: int
    last: int


def entity_spans(tags: Sequence[str]) -> list[EntitySpan]:
    """The spans of tags: B-X and every I-X after it; any other tag but O is a span of one word.

    I-X that follows no X begins a span, so that nothing a model says is hidden.
    """
    spans: list[EntitySpan] = []
    for at, tag in enumerate(tags):
        prefix, _, label = tag.partition("-")
        if tag == OUTSIDE or not tag:
            continue
        if prefix not in ("B", "I") or not label:
            spans.append(EntitySpan(tag, at, at + 1))
        elif prefix == "I" and spans and (spans[-1].label, spans[-1].last) == (label, at):
            spans[-1] = EntitySpan(label, spans[-1].first, at + 1)
        else:
            spans.append(EntitySpan(label, at, at + 1))
    return spans


def label_colours(labels: Sequence[str]) -> dict[str, str]:
    """A colour for each label, the same in every sentence unless two would have one colour."""
    colours = dict[str, str]()
    for label in sorted(set(labels)):
        first = sum(map(ord, label)) % 7 % len(LINES)
        free = [at % len(LINES) for at in range(first, first + len(LINES))]
        unused = [at for at in free if LINES[at] not in colours.values()]
        colours[label] = LINES[(unused or free)[0]]
    return colours


def tagged_words(trace: Trace) -> tuple[list[str], list[str]]:
    """The words of a trace and their tags; words beyond the last tag are outside."""
    special = {token.word for token in trace.source.tokens if token.special and token.text in NAMES}
    words = [word for at, word in enumerate(trace.source.words) if at not in special]
    tags = [tag for tag in trace.target.words if tag not in NAMES][: len(words)]
    return words, tags + [OUTSIDE] * (len(words) - len(tags))


def draw_in_terminal(trace: Trace, width: int = 80, colour: bool = True) -> Text:
    """The words, spans in brackets with their label, then the spans of each label in a list."""
    words, tags = tagged_words(trace)
    spans = entity_spans(tags)
    colours = label_colours([span.label for span in spans])
    parts, at = [], 0
    for span in [*spans, None]:
        end = span.first if span else len(words)
        parts += [Text(clean(word)) for word in words[at:end]]
        if span is None:
            break
        text = " ".join(clean(word) for word in words[span.first : span.last])
        paper = blend("#ffffff", colours[span.label], 0.3)
        style = Style(color=LIGHT.ink, bgcolor=paper) if colour else PLAIN
        parts.append(Text.assemble((f"[{text} ", style), (f"{span.label}]", style + BOLD)))
        at = span.last
    lists = []
    for label, group in groupby(
        sorted(spans, key=lambda span: span.label), lambda span: span.label
    ):
        texts = (" ".join(map(clean, words[span.first : span.last])) for span in group)
        lists.append(Text(f"{label}: {', '.join(texts)}", FAINT if colour else PLAIN))
    if not spans:
        lists = [Text("no spans", FAINT if colour else PLAIN)]
    return Text("\n").join([*flow_lines(parts, width, space=1), Text(), *lists])


def draw(trace: Trace) -> "Figure":
    """The words in lines; a span is a box in the colour of its label, which stands below it."""
    from dhyan.insight.figure_page import BODY, SMALL, WIDE, Page, flow
    from dhyan.insight.fonts import settings

    words, tags = tagged_words(trace)
    spans = entity_spans(tags)
    colours = label_colours([span.label for span in spans])
    pad, line = 2.8, 3 * BODY
    with settings():
        page = Page([*words, *colours])
        least = {
            span.first: page.width(span.label, SMALL) + 4
            for span in spans
            if span.last - span.first == 1
        }
        widths = [max(page.width(word), least.get(at, 0)) for at, word in enumerate(words)]
        places = list(flow(widths, top=1.3 * BODY, line=line, space=6.5))
        for span in spans:
            strong = colours[span.label]
            rows = groupby(range(span.first, span.last), lambda at: places[at].line)
            for number, (_, row) in enumerate(rows):
                own = [places[at] for at in row]
                left, right, y = own[0].x - pad, own[-1].right + pad, own[0].y
                page.box(
                    left, y - 1.2 * BODY, right - left, 1.75 * BODY, blend("#ffffff", strong, 0.18),
                    edge=strong, linewidth=0.9, rounded=3,
                )  # fmt: skip
                label = span.label if not number else f"… {span.label}"
                page.text(
                    left + 1,
                    y + 1.45 * BODY,
                    label,
                    SMALL,
                    blend("#000000", strong, 0.75),
                )
        for word, place in zip(words, places, strict=True):
            page.text(place.x, place.y, word, BODY)
        right = max((place.right for place in places), default=0.0)
        bottom = places[-1].y + BODY if places else BODY
        if not spans:
            page.text(0, bottom + BODY, "no spans", SMALL, LIGHT.grey)
            bottom += BODY
        return page.crop(max(right, WIDE / 3) + pad, bottom)
