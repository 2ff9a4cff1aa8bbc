"""Options that several commands share, and the text files they read."""

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translator

Model = Annotated[
    Path, typer.Argument(metavar="MODEL", help="A run folder, or one of its step-N folders.")
]
Device = Annotated[str, typer.Option(help="auto, cpu, cuda, cuda:1 …")]
Threads = Annotated[int, typer.Option(min=0, help="CPU threads; 0 chooses.")]
Beam = Annotated[
    int, typer.Option(min=0, max=1000, help="Width of the search; 0 takes the recipe's.")
]
Columns = Annotated[str, typer.Option(help="Two columns of a .tsv/.csv/.jsonl, as a,b.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def load_model(model: Path, device: str, threads: int, beside: Sequence[Path] = ()) -> "Translator":
    """The translator in a folder, or an ensemble of those in several.

    The first model's files are checked before torch is imported, which takes longer.
    """
    from dhyan.model_check import read_model

    models = [read_model(folder) for folder in (model, *beside)]
    from dhyan.run.load import build_ensemble, set_threads

    set_threads(threads)
    return build_ensemble(models, device=device)


def check_models(*models: str | Path) -> None:
    """Refuse a damaged or invalid model before torch is imported, which takes longer."""
    from dhyan.model_check import check_folder

    for model in models:
        check_folder(model)


def two_columns(text: str) -> tuple[str, str] | None:
    """`a,b` as two names."""
    if not text:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise UserError(f"--columns {text}: two names with a comma between, source then target")
    return names[0], names[1]


def glossary_in(file: Path) -> dict[str, str]:
    """Source and target terms, tab-separated, a pair a line; empty lines are passed over."""
    terms, targets = dict[str, str](), dict[str, str]()
    for number, line in enumerate(lines_of(file), start=1):
        parts = [part.strip() for part in line.split("\t")]
        if not any(parts):
            continue
        if len(parts) != 2 or not all(parts):
            raise UserError(f"{file}:{number}: a source term, a tab, a target term; found {line!r}")
        if targets.setdefault(parts[0].casefold(), parts[1]) != parts[1]:
            raise UserError(f"{file}:{number}: {parts[0]!r} has another target term further up")
        terms[parts[0]] = parts[1]
    return terms


def terms_in(file: Path) -> list[str]:
    """Terms, one a line; empty lines are passed over."""
    return [line.strip() for line in lines_of(file) if line.strip()]


def place_in(file: Path, term: str) -> str:
    """The file with the number of the first line that has a term, alone or in a pair."""
    for number, line in enumerate(lines_of(file), start=1):
        if term in (part.strip() for part in line.split("\t")):
            return f"{file}:{number}"
    return str(file)


def count_lines(file: Path) -> int:
    """How many lines a file has, whatever is in them."""
    from dhyan.data.read_text import raw_lines

    return sum(1 for _ in raw_lines(file, may_be_empty=True))


def lines_of(file: Path) -> Iterator[str]:
    """The lines of a file, perhaps packed."""
    from dhyan.data.read_text import text_lines

    return text_lines(file)


@dataclass(frozen=True)
class Line:
    """A line of input, as far as it can be read, and why it cannot be."""

    text: str
    fault: UserError | None = None


def any_lines(file: Path | None) -> Iterator[Line]:
    """Every line of a file or of stdin, the unreadable ones with their faults."""
    from dhyan.data.read_text import cut_lines, raw_lines, readable

    if file:
        raws = raw_lines(file, may_be_empty=True)
    elif sys.stdin is None:
        raise UserError("stdin is closed: name a FILE to read")
    else:
        raws = cut_lines(sys.stdin.buffer)
    for number, raw in enumerate(raws, start=1):
        text, why = readable(raw, number)
        yield Line(text, UserError(why) if why else None)


def in_chunks(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    """So many lines at a time; those before a fault come before it is raised."""
    chunk: list[Line] = []
    try:
        for line in lines:
            chunk.append(line)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except UserError:
        yield chunk
        raise
    yield chunk
