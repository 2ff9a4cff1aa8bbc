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
Beam = Annotated[int, typer.Option(min=0, help="Width of the search; 0 takes the recipe's.")]
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
    """The lines of a file or of stdin, split at newlines only; a bad byte is named by its line."""
    try:
        stream = file.open("rb") if file else sys.stdin.buffer
    except OSError as error:
        raise Fault(f"{file}: {error.strerror}") from None
    with stream:
        for number, line in enumerate(stream, start=1):
            try:
                yield line.removesuffix(b"\n").removesuffix(b"\r").decode()
            except UnicodeDecodeError as error:
                place = f"{file or 'stdin'}:{number}"
                raise Fault(f"{place}: not UTF-8 at byte {error.start + 1}; convert it") from None
