"""`dhyan average`: one model from several checkpoints."""

from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.shared_options import check_models
from dhyan.errors import UserError


def average(
    models: Annotated[
        list[Path],
        typer.Argument(metavar="MODEL…", help="A run with --last, or several checkpoints."),
    ],
    out: Annotated[Path, typer.Option(help="The folder for the averaged model.")],
    last: Annotated[int, typer.Option(min=0, help="The newest so many of one run.")] = 0,
) -> None:
    """Average the weights of checkpoints into a new model.

    A run keeps as many checkpoints as its training.keep_checkpoints says. Models that began from
    one with --init-from may be averaged too, if their vocabularies are the same.

    Example: dhyan average runs/numbers --last 3 --out runs/averaged
    """
    from dhyan.checkpoint import read_manifest, steps_in

    if last and len(models) > 1:
        raise UserError(f"--last {last} is for one run, and {len(models)} models are named")
    run = models[0]
    named = [run / f"step-{step}" for step in steps_in(run)[:last]] if last else models
    check_models(*named)

    from dhyan.run.average_checkpoints import average as write
    from dhyan.run.average_checkpoints import newest

    chosen = newest(run, last) if last else models
    folder = write(chosen, out)
    parts = [one.name for one in chosen] if last else read_manifest(folder)["average_of"]
    typer.echo(f"{folder}  the mean of {', '.join(parts)}")
