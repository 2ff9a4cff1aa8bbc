"""`dhyan data`: look at a corpus before training on it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.exits import Exit
from dhyan.cli.options import Columns, two_columns
from dhyan.faults import Fault

if TYPE_CHECKING:
    from dhyan.data.survey import Lengths

FEWEST_FOR_UNKNOWN = 10

app = typer.Typer(help="Look at a corpus.", no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def group() -> None:
    """Look at a corpus before training on it."""


@app.command()
def check(
    source: Annotated[Path, typer.Argument(metavar="SRC", help="Sentences, or a .tsv/.csv.")],
    target: Annotated[
        Path | None, typer.Argument(metavar="TGT", help="Their translations.")
    ] = None,
    columns: Columns = "",
) -> None:
    """Name every fault of a corpus, and describe it: lengths, duplicates, unknown words.

    The exit code is 2 if training would refuse it.

    Example: dhyan data check train.en train.hi
    """
    from dhyan.data.corpus import Tally, read_pairs
    from dhyan.data.survey import survey

    tally = Tally(tolerant=True)
    found = survey(read_pairs(source, target, columns=two_columns(columns), tally=tally), tally)
    if not found.pairs:
        raise Fault(tally.faults[0])
    for line in tally.lines():
        typer.echo(line)
    typer.echo(f"\n{'words':<8} {'fewest':>7} {'median':>7} {'mean':>7} {'95 %':>7} {'most':>7}")
    typer.echo(_row("source", found.source))
    typer.echo(_row("target", found.target))
    typer.echo()
    for name, noted in {
        "duplicate pairs": found.duplicates,
        "copies (target = source)": found.copies,
        "unequal (over 3 times as long)": found.unequal,
    }.items():
        typer.echo(f"{name:<32} {noted.count:>7,}  {noted}".rstrip())
    typer.echo(f"{'sources with several targets':<32} {found.ambiguous:>7,}")
    if found.pairs >= FEWEST_FOR_UNKNOWN:
        rates = f"{found.unknown_source:.1%} source, {found.unknown_target:.1%} target"
        typer.echo(f"unknown words: {rates} (of every tenth pair's, not in the others)")
    if tally.faulty:
        raise typer.Exit(Exit.MISTAKE)


def _row(name: str, lengths: "Lengths") -> str:
    return (
        f"{name:<8} {lengths.shortest:>7} {lengths.median:>7.0f} {lengths.mean:>7.1f} "
        f"{lengths.percentile_95:>7.0f} {lengths.longest:>7}"
    )
