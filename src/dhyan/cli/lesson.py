"""`dhyan lesson`: an idea by itself, with its numbers and a figure."""

from inspect import signature
from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.warnings import warn
from dhyan.errors import UserError

HEAR = "hear"  # by which a lesson tells how far it is


def lesson(
    name: Annotated[str, typer.Argument(help="Which; none lists them all.")] = "",
    sentence: Annotated[str | None, typer.Option(help="Your own words.")] = None,
    give: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A number, a matrix as [[1, 0], [0, 1]], a word."),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Draw into a .png, .svg or .pdf.")
    ] = None,
    lang: Annotated[str, typer.Option(help="en or hi.")] = "en",
    dark: Annotated[bool, typer.Option("--dark", help="Draw on dark paper.")] = False,
) -> None:
    """See one idea of attention by itself, with your own sentence and numbers.

    Example: dhyan lesson by_hand --sentence "how are you" -o look.svg
    """
    from dhyan.lessons.contents import LESSONS
    from dhyan.lessons.contents import lesson as find
    from dhyan.lessons.given import read

    if not name:
        for one in LESSONS:
            typer.echo(
                f"{one.rung:<11} {one.name:<20} {one.hindi if lang == 'hi' else one.english}"
            )
        typer.echo("\ndhyan lesson NAME [--sentence …] [-o figure.svg] [--lang hi]")
        return
    call = find(name).load()
    takes = signature(call).parameters
    values: dict[str, object] = {} if sentence is None else {"sentence": sentence}
    for pair in give or ():
        key, mark, value = pair.partition("=")
        if not mark:
            raise UserError(f"--give {pair}: write NAME=VALUE")
        values[key] = read(value)
    known = [key for key in takes if key != HEAR]
    for key in values:
        if key not in known:
            raise UserError(
                f"lesson {name} takes no {key!r}; it takes {', '.join(known) or 'nothing'}"
            )
    shown = call(**values, **({HEAR: warn} if HEAR in takes else {}))
    typer.echo(shown.text(lang))
    if output:
        from dhyan.insight.heatmap import save

        save(shown.figure(lang=lang, dark=dark), output)
        warn(f"drew {output}")
