"""Sentence pairs from Python data: lists, pandas or polars frames, datasets, generators, files."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

from dhyan.config import Data, shipped_recipes, suggestion
from dhyan.config.declare_settings import parse_section
from dhyan.config.sections import Delimiter, Header
from dhyan.data.pairs import Pair
from dhyan.data.read_pairs import read_pairs
from dhyan.errors import UserError
from dhyan.notebook_display import Frame
from dhyan.text.languages import parse_language

PairData = str | Path | Iterable[Any]
"""A table file, a tuple of two files, a frame, a dataset, or any iterable of pairs."""

Columns = tuple[str, str]
SHAPE = "give pairs (source, target), a data frame, a dataset, or files"


@runtime_checkable
class LazyFrame(Protocol):
    """A lazy frame of polars or Spark, which has no rows before `collect`."""

    def collect(self) -> Any: ...  # noqa: D102


@runtime_checkable
class Dataset(Protocol):
    """A Hugging Face dataset; it iterates over rows, which are dictionaries."""

    @property
    def column_names(self) -> Any: ...  # noqa: D102


@dataclass(frozen=True)
class PairStream:
    """Pairs of texts to iterate over once, and the names of their columns where they have names."""

    pairs: Iterator[tuple[str, str]]
    columns: Columns | None = None

    @property
    def languages(self) -> Columns:
        """The language codes that the columns are named by, as in `translation.en`; else empty."""
        source, target = self.columns or ("", "")
        return _language(source), _language(target)


@dataclass(frozen=True)
class TableOptions:
    """How a table is read: the columns of source and target; of files also header and delimiter."""

    columns: Columns | None = None
    header: Header = "auto"
    delimiter: Delimiter = ""

    def settings(self) -> dict[str, Any]:
        """The options that were given, as settings of a recipe."""
        given = {
            name: value for name, value in vars(self).items() if value not in (None, "auto", "")
        }
        if self.columns:
            given["columns"] = list(self.columns)
        return {f"data.{name}": value for name, value in given.items()}

    def check(self, *, files: bool) -> None:
        """Refuse columns that are not two names, unknown values, and options without effect."""
        _check_columns(self.columns)
        parse_section(Data, {"header": self.header, "delimiter": self.delimiter}, "data")
        for name in ("header", "delimiter"):
            if not files and f"data.{name}" in self.settings():
                raise UserError(f"{name}: is about files, and the data are none; leave it out")


ANY_TABLE = TableOptions()


def to_pairs(
    data: PairData, options: TableOptions = ANY_TABLE, *, name: str = "data"
) -> PairStream:
    """The pairs of any input; `name` is the argument's name in errors.

    Rows are pairs or dictionaries; the columns are two columns or keys, with a dot for nested
    ones. Without them they are `source` and `target`, or the only two. Files are read as by
    `dhyan train`. A cell that is not a text is a UserError that names the row.
    """
    files, columns = files_of(data, name), options.columns
    options.check(files=bool(files))
    if files:
        source, target = files
        read = read_pairs(
            source, target, columns=columns, header=options.header, delimiter=options.delimiter
        )
        names = columns or ((source.suffix[1:], target.suffix[1:]) if target else None)
        return PairStream(((pair.source, pair.target) for pair in read), names)
    rows = _rows(data, columns, name)
    first = next(rows, None)
    if first is None:
        raise UserError(f"{name}: holds no pairs; {SHAPE}")
    keys = columns
    if isinstance(first, Mapping):
        keys = columns or _nested_keys(first) or _choose_keys(_flatten(first), name)
    elif columns:
        raise UserError(
            f"{name}: row 1 is {_show(first)}, which has no columns; leave out columns={columns!r}"
        )
    numbered = enumerate(chain([first], rows), 1)
    return PairStream((_pair(row, keys, f"{name}: row {at}") for at, row in numbered), keys)


def files_of(data: PairData, name: str = "data") -> tuple[Path, Path | None] | None:
    """The files that an input names: a table, or source and target; None if it holds pairs itself."""
    match data:
        case str() | Path():
            files: tuple[Path, Path | None] = Path(data), None
        case (str() | Path() as source, str() | Path() as target) if isinstance(data, tuple):
            files = Path(source), Path(target)
        case _:
            return None
    for file in files:
        if file is not None and not file.exists():
            raise UserError(f"{name}: there is no file {str(file)!r}; {_remedy(data)}")
    return files


def _remedy(data: PairData) -> str:
    if isinstance(data, tuple):
        return "a tuple names two files; pairs in memory are a list, [(source, target), …]"
    if str(data) in shipped_recipes():
        return f"for the recipe write recipe={str(data)!r}"
    return SHAPE


def _check_columns(columns: object) -> None:
    match columns:
        case None:
            return
        case (str() as source, str() as target):
            if source == target:
                raise UserError(f"columns: both are {source!r}; name two columns")
            return
    raise UserError(f"columns: {_show(columns)} are not two names; give them as ('en', 'hi')")


def _rows(data: Any, columns: Columns | None, name: str) -> Iterator[Any]:
    """The rows of an input: dictionaries where columns have names, else pairs."""
    if isinstance(data, LazyFrame):
        raise UserError(f"{name}: is a lazy frame without rows; give {name}.collect()")
    if isinstance(data, Mapping):
        splits = [str(key) for key, value in data.items() if isinstance(value, Dataset)]
        if splits:
            raise UserError(
                f"{name}: has the splits {', '.join(splits)}; give one, as in data[{splits[0]!r}]"
            )
        return _column_rows(data, list(data), columns, name)
    if isinstance(data, Frame):
        return _column_rows(data, list(data.columns), columns, name)
    try:
        return iter(data)
    except TypeError:
        raise UserError(f"{name}: {_show(data)} holds no pairs; {SHAPE}") from None


def _column_rows(
    data: Any, names: list[Any], columns: Columns | None, name: str
) -> Iterator[dict[Any, Any]]:
    """The rows of columns that are read one by one, as dictionaries."""
    chosen = names
    if columns:
        chosen = [column if column in names else column.partition(".")[0] for column in columns]
        for column, outer in zip(columns, chosen, strict=True):
            if outer not in names:
                raise _no_column(column, names, name)
    for column in chosen:
        if names.count(column) > 1:
            raise UserError(
                f"{name}: {names.count(column)} columns are called {column!r}; rename one"
            )
    try:
        values = [list(data[column]) for column in dict.fromkeys(chosen)]
    except TypeError:
        raise UserError(f"{name}: {_show(data)} has columns that are not lists; {SHAPE}") from None
    lengths = {len(column) for column in values}
    if len(lengths) > 1:
        raise UserError(
            f"{name}: columns of different lengths {sorted(lengths)}; give one text a row"
        )
    return (dict(zip(dict.fromkeys(chosen), row, strict=True)) for row in zip(*values, strict=True))


def _nested_keys(row: Mapping[Any, Any]) -> Columns | None:
    """The keys of a translation column, as in `{"id": …, "translation": {"en": …, "hi": …}}`."""
    nested = {key: value for key, value in row.items() if isinstance(value, Mapping)}
    if len(nested) != 1:
        return None
    [(outer, texts)] = nested.items()
    if len(texts) != 2 or not all(isinstance(text, str) for text in texts.values()):
        return None
    source, target = texts
    return f"{outer}.{source}", f"{outer}.{target}"


def _choose_keys(row: Mapping[Any, Any], name: str) -> Columns:
    """The keys of both sides in a row: source and target, or the only two."""
    keys = [str(key) for key in row]
    if {"source", "target"} <= {*keys}:
        return "source", "target"
    if len(keys) == 2:
        return keys[0], keys[1]
    texts = [str(key) for key, value in row.items() if isinstance(value, str)]
    if len(texts) == 2:
        return texts[0], texts[1]
    if len(keys) < 2:
        columns = f"one column, {keys[0]!r}" if keys else "no column"
        raise UserError(
            f"{name}: has {columns}; give a column for the source and one for the target"
        )
    raise UserError(
        f"{name}: has {len(keys)} columns ({', '.join(keys)[:300]}); name two with "
        f"columns=({keys[0]!r}, {keys[1]!r})"
    )


def _pair(row: Any, keys: Columns | None, place: str) -> tuple[str, str]:
    if isinstance(row, Pair):
        return row.source, row.target
    if isinstance(row, Mapping):
        flat = {str(key): value for key, value in _flatten(row).items()}
        if keys is None:
            raise UserError(f"{place}: {_show(row)} has keys, and row 1 has none; {SHAPE}")
        for key in keys:
            if key not in flat:
                raise _no_column(key, list(flat), place)
        source, target = (_text(flat[key], f"{place}, column {key!r}") for key in keys)
        return source, target
    if isinstance(row, str) or not isinstance(row, Iterable):
        raise UserError(f"{place}: {_show(row)} is not a pair; {SHAPE}")
    if keys is not None:
        raise UserError(f"{place}: {_show(row)} has no keys, and row 1 has some; {SHAPE}")
    cells = tuple(row)
    if len(cells) != 2:
        parts = "part" if len(cells) == 1 else "parts"
        raise UserError(f"{place}: {len(cells)} {parts}, not a pair (source, target); {SHAPE}")
    source, target = (
        _text(cell, f"{place}, {side}")
        for cell, side in zip(cells, ("source", "target"), strict=True)
    )
    return source, target


def _text(cell: object, place: str) -> str:
    if isinstance(cell, str):
        return str(cell)
    remedy = "leave out rows without a text, for a frame with dropna() or drop_nulls()"
    raise UserError(f"{place}: {_show(cell)} is not a text; {remedy}")


def _flatten(row: Mapping[Any, Any]) -> dict[Any, Any]:
    """A row with the keys of nested rows joined by dots, one level deep."""
    flat: dict[Any, Any] = {}
    for key, value in row.items():
        nested = value if isinstance(value, Mapping) else {}
        flat |= {f"{key}.{inner}": item for inner, item in nested.items()} or {key: value}
    return flat


def _no_column(column: str, names: Iterable[object], place: str) -> UserError:
    known = [str(name) for name in names]
    hint = suggestion(column, known)
    return UserError(
        f"{place}: no column is called {column!r}{hint}; there are {', '.join(known)[:300]}"
    )


def _show(value: object) -> str:
    """A value in one short line."""
    text = " ".join(repr(value).split())
    return text if len(text) <= 60 else f"{text[:59]}…"


def _language(column: str) -> str:
    """The language code that ends the name of a column or a file, if it is one."""
    try:
        return parse_language(str(column).rpartition(".")[2])
    except UserError:
        return ""
