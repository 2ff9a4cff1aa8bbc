"""Notebook display: results as HTML for notebooks, and as pandas frames."""

from collections.abc import Iterable, Mapping, Sequence
from html import escape
from typing import Any, Protocol, runtime_checkable

from dhyan.errors import UserError

FONTS = "'Noto Sans Devanagari','Kohinoor Devanagari','Nirmala UI',Mangal,system-ui,sans-serif"
BLOCK = f"font-family:{FONTS};line-height:1.5"
MOST_CELLS = 2500  # of a table of weights; a larger one is cut off
LIGHT_INK = 0.6  # weight above which white is easier to read on the ground than black
MOST_ROWS = 20  # of a list of translations


@runtime_checkable
class Frame(Protocol):
    """A data frame of pandas or polars."""

    @property
    def columns(self) -> Any: ...  # noqa: D102
    def __getitem__(self, name: Any, /) -> Any: ...


def make_frame(
    columns: Mapping[str, Sequence[object]], index: Sequence[object] | None = None
) -> Any:
    """A pandas DataFrame of named columns; pandas is imported here only."""
    try:
        import pandas
    except ImportError:
        raise UserError(
            "a frame needs pandas, which is not installed: pip install pandas"
        ) from None
    return pandas.DataFrame(dict(columns), index=index)


def make_matrix_frame(
    values: Sequence[Sequence[float]], rows: Sequence[str], columns: Sequence[str]
) -> Any:
    """A pandas DataFrame with labelled rows and columns; labels may repeat."""
    frame = make_frame({str(at): [row[at] for row in values] for at in range(len(columns))})
    frame.index, frame.columns = list(rows), list(columns)
    return frame


def shorten(text: str, length: int = 60) -> str:
    """The quoted beginning of a text, for a repr."""
    return repr(text if len(text) <= length else text[: length - 1] + "…")


def html_words(words: Iterable[tuple[str, float]]) -> str:
    """Words with their probabilities in small print; the less probable, the darker the ground."""
    cells = []
    for word, prob in words:
        ground = f"background:rgba(213,94,0,{0.5 * (1 - prob):.2f})"
        style = f"display:inline-block;text-align:center;margin:0 .25em;padding:0 .15em;{ground}"
        small = f'<br><small style="opacity:.7">{prob:.0%}</small>'
        cells.append(f'<span style="{style}">{escape(word)}{small}</span>')
    return "".join(cells)


def html_block(*lines: str) -> str:
    """Lines of HTML, one below the other."""
    divisions = "".join(f"<div>{line}</div>" for line in lines)
    return f'<div style="{BLOCK}">{divisions}</div>'


def html_grey(text: str) -> str:
    """A text in grey, escaped."""
    return f'<span style="opacity:.7">{escape(text)}</span>'


def html_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts, escaped."""
    cell = "text-align:left;padding:.1em .6em"
    head = "".join(f'<th style="{cell}">{escape(name)}</th>' for name in header)
    lines = []
    for row in rows:
        cells = "".join(f'<td style="{cell}">{escape(text)}</td>' for text in row)
        lines.append(f"<tr>{cells}</tr>")
    return f'<table style="{BLOCK}"><tr>{head}</tr>{"".join(lines)}</table>'


def html_weights(
    weights: Sequence[Sequence[float]],
    rows: Sequence[str],
    columns: Sequence[str],
    caption: str,
) -> str:
    """A table of weights from 0 (blank) to 1 (navy), source words above, target words at the left."""
    shown = max(MOST_CELLS // max(len(columns), 1), 1)
    label = "font-weight:normal;padding:.1em .4em;white-space:nowrap"
    head = "".join(f'<th style="{label};text-align:center">{escape(word)}</th>' for word in columns)
    lines = []
    for word, row in zip(rows[:shown], weights, strict=False):
        cells = "".join(_weight_cell(weight) for weight in row)
        lines.append(f'<tr><th style="{label};text-align:right">{escape(word)}</th>{cells}</tr>')
    more = f" ({len(rows) - shown:,} more rows)" if len(rows) > shown else ""
    title = f'<caption style="text-align:left">{escape(caption + more)}</caption>'
    table = f"<tr><th></th>{head}</tr>{''.join(lines)}"
    return f'<table style="{BLOCK};border-collapse:collapse">{title}{table}</table>'


def _weight_cell(weight: float) -> str:
    share = min(max(weight, 0.0), 1.0)
    ink = "color:#fff;" if share > LIGHT_INK else ""
    ground = f"background:rgba(8,48,107,{share:.3f})"
    return f'<td style="{ink}{ground};text-align:center;padding:.1em .4em">{weight:.2f}</td>'
