"""`dhyan average`: average the weights of several checkpoints into one model."""

from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.options import check_models
from dhyan.errors import UserError


def average(
    models: Annotated[
        list[str],
        typer.Argument(
            metavar="MODEL…", help="Models to average: a run folder with --last, or several."
        ),
    ],
    out: Annotated[Path, typer.Option(help="Output folder of the averaged model.")],
    last: Annotated[
        int,
        typer.Option(min=0, help="Number of newest checkpoints of one run; 0: the models named."),
    ] = 0,
) -> None:
    """Average the weights of checkpoints into a new model.

    A run keeps training.keep_checkpoints of them. Models that were fine-tuned from the same model
    (--init-from) can be averaged too, if their vocabularies are the same.

    Example: dhyan average runs/numbers --last 3 --out runs/averaged
    """
    from dhyan.checkpoint import read_manifest, steps_in

    if last and len(models) > 1:
        raise UserError(f"--last {last} is for one run, and {len(models)} models are named")
    run = Path(models[0])
    newest_steps = [str(run / f"step-{step}") for step in steps_in(run)[:last]]
    folders = newest_steps if last else models
    check_models(*folders)

    from dhyan.run.average_checkpoints import average as average_weights
    from dhyan.run.average_checkpoints import newest

    checkpoints: list[str | Path] = [*newest(run, last)] if last else [*models]
    folder = average_weights(checkpoints, out)
    names = (
        [Path(path).name for path in checkpoints] if last else read_manifest(folder)["average_of"]
    )
    typer.echo(f"{folder}  the mean of {', '.join(names)}")
