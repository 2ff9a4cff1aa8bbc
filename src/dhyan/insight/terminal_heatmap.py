"""Attention heat maps in the terminal: numbers, readable with or without colour.

Terminals disagree on how wide Hindi is. So each word is the last text of its line:
source words form a staircase above their columns, target words follow their rows, and the numbers
stay aligned.
"""

import math
import unicodedata
from collections.abc import Iterator, Sequence

from jaxtyping import Float
from rich.cells import cell_len
from rich.style import Style
from rich.text import Text
from torch import Tensor

from dhyan.attention_maps import AttentionMap
from dhyan.insight.colors import ink, paint
from dhyan.insight.fonts import shorten

CELL = 4  # the weight 1 has three digits, and a space sets it off from the next
FAINT = Style(color="#9aa5b1")
PLAIN = Style()
BLOCKS = "·░▒▓█"


def draw(attention: AttentionMap, *, width: int = 80, colour: bool = True) -> Text:
    """Weights in hundredths: a row for each target word, a column for each source word.

    Of several heads the mean is shown. Columns beyond the width follow in further blocks.
    """
    heads = attention.weights.detach().float().cpu()
    source = [clean(word) for word in attention.source]
    target = [clean(word) for word in attention.target]
    room = min(width // 3, max(map(_width, [*source, *target]), default=0))
    columns = _even(len(source), max(1, (width - room - 1) // CELL))
    lines = [Text(shorten(_heading(attention), width, _width))]
    for first in range(0, len(source), columns):
        part = slice(first, first + columns)
        lines += [Text(), *_stair(source[part], width, faint=FAINT if colour else PLAIN)]
        lines += _rows(heads.mean(0)[:, part], [shorten(w, room, _width) for w in target], colour)
    return Text("\n").join(lines)


def _heading(attention: AttentionMap) -> str:
    heads = len(attention.weights)
    of_heads = f", the mean of {heads} heads" if heads > 1 else ""
    return f"{clean(attention.name)}: weights in hundredths{of_heads}"


def _even(columns: int, most: int) -> int:
    """The number of columns per block, balanced over the blocks."""
    blocks = max(1, math.ceil(columns / most))
    return max(1, math.ceil(columns / blocks))


def _stair(words: Sequence[str], width: int, *, faint: Style) -> Iterator[Text]:
    """The column labels: each word on its own line, with a vertical line down to its column."""
    for column, word in enumerate(words):
        yield Text.assemble(
            ("  │ " * column, faint), "  ", shorten(word, width - CELL * column - 2, _width)
        )


def _rows(weights: Float[Tensor, "T S"], labels: Sequence[str], colour: bool) -> Iterator[Text]:
    for row, label in zip(weights.tolist(), labels, strict=True):
        cells = [(_number(weight), _style(weight) if colour else PLAIN) for weight in row]
        yield Text.assemble(*cells, " ", label)


def _number(weight: float) -> str:
    return "  · " if weight < 0.005 else f"{100 * weight:3.0f} "


def _style(weight: float) -> Style:
    pen = Style(color=ink(weight)) if weight >= 0.005 else FAINT
    return pen + Style(bgcolor=paint(weight))


def clean(word: str) -> str:
    """The word without control characters; a leading vowel sign gets a dotted circle."""
    clean = "".join(character for character in word if unicodedata.category(character) != "Cc")
    return "◌" + clean if unicodedata.category(clean[:1] or " ")[0] == "M" else clean


def _width(text: str) -> int:
    """The most cells a terminal may give a text: rich counts no vowel sign, some give each one."""
    return cell_len(text) + sum(unicodedata.category(character) == "Mc" for character in text)


def flow_lines(parts: Sequence[Text], width: int, *, space: int = 0) -> Iterator[Text]:
    """Parts of text in lines of a width, never broken inside a part."""
    line, used = Text(), 0
    for part in parts:
        cells = _width(part.plain)
        if used and used + cells > width:
            yield line
            line, used = Text(), 0
        if used and space:
            line.append(" " * space)
        line.append_text(part)
        used += cells + space
    if used:
        yield line


def draw_shades(shades: Float[Tensor, "R C"], *, colour: bool = True) -> Iterator[Text]:
    """Rows of cells from 0 for blank to 1 for full, readable without colour."""
    for row in shades.tolist():
        yield Text.assemble(
            *(
                (
                    BLOCKS[min(int(shade * len(BLOCKS)), len(BLOCKS) - 1)],
                    Style(color=paint(max(shade, 0.35))) if colour else PLAIN,
                )
                for shade in row
            )
        )
