"""Options that several commands share, and the text files they read."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.faults import Fault

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
Columns = Annotated[str, typer.Option(help="Two column names of a .tsv/.csv, as a,b.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]


def load_model(model: Path, device: str, threads: int) -> "Translator":
    """The translator in a folder."""
    from dhyan.run.load import load, pick_threads

    pick_threads(threads)
    return load(model, device=device)


def two_columns(text: str) -> tuple[str, str] | None:
    """`a,b` as two names."""
    if not text:
        return None
    names = [name.strip() for name in text.split(",")]
    if len(names) != 2 or not all(names):
        raise Fault(f"--columns {text}: two names with a comma between, source then target")
    return names[0], names[1]


def lines_of(file: Path | None) -> Iterator[str]:
    """The lines of a file, perhaps packed, or of stdin."""
    from dhyan.data.lines import decoded, text_lines

    if file:
        yield from text_lines(file)
    elif sys.stdin is None:
        raise Fault("stdin is closed: name a FILE to read")
    else:
        for number, line in enumerate(sys.stdin.buffer, start=1):
            yield decoded(line, Path("stdin"), number)


def in_chunks(lines: Iterator[str], size: int) -> Iterator[list[str]]:
    """So many lines at a time; those before a fault come before it is raised."""
    chunk: list[str] = []
    try:
        for line in lines:
            chunk.append(line)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except Fault:
        yield chunk
        raise
    yield chunk
