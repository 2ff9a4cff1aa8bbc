"""`dhyan data`: look at a corpus before training on it."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.exits import Exit
from dhyan.cli.options import Columns, two_columns

if TYPE_CHECKING:
    from dhyan.data.survey import Lengths

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
    for line in tally.lines():
        typer.echo(line)
    if found.pairs:
        typer.echo(
            f"\n{'words':<8} {'fewest':>7} {'median':>7} {'mean':>7} {'95 %':>7} {'most':>7}"
        )
        typer.echo(_row("source", found.source))
        typer.echo(_row("target", found.target))
        typer.echo(f"\nduplicates          {found.duplicates.count:>8,}  {found.duplicates}")
        typer.echo(f"several targets     {found.ambiguous:>8,}  sources")
        typer.echo(f"copies              {found.copies.count:>8,}  {found.copies}")
        typer.echo(f"very unequal        {found.unequal.count:>8,}  {found.unequal}")
        typer.echo(
            f"unknown words       {found.unknown_source:>8.1%}  source, "
            f"{found.unknown_target:.1%} target (of a tenth, in the other nine)"
        )
    if tally.faulty:
        raise typer.Exit(Exit.MISTAKE)


def _row(name: str, lengths: "Lengths") -> str:
    return (
        f"{name:<8} {lengths.shortest:>7} {lengths.median:>7.0f} {lengths.mean:>7.1f} "
        f"{lengths.percentile_95:>7.0f} {lengths.longest:>7}"
    )
