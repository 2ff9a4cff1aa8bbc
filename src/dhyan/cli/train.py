"""`dhyan train`: train a model by a recipe in a run folder, or resume a run."""

import logging
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dhyan.atomic_folder import MANIFEST
from dhyan.checkpoint import check_not_slim, check_run, is_run
from dhyan.cli.messages import log_to_stderr
from dhyan.cli.options import (
    Device,
    Epochs,
    InitFrom,
    InitVocabulary,
    Overrides,
    Quiet,
    Seed,
    Tensorboard,
    Threads,
    Trackers,
    with_data_options,
)
from dhyan.cli.progress import (
    EXIT_CODES,
    plain_lines,
    progress_bar,
    stopped_by_signals,
)
from dhyan.cli.recipe import is_model_recipe, override_recipe, resumed_recipe
from dhyan.config import shipped_recipes
from dhyan.errors import UserError
from dhyan.pretrained import find_pretrained
from dhyan.training.progress_display import format_scores

if TYPE_CHECKING:
    from dhyan.run import Run

logger = logging.getLogger(__name__)

RECIPE_HELP = (
    "Recipe: a .toml file, a model folder or pretrained model whose recipe to use, with --resume the "
    "run folder to continue; with --init-from, by default that model's; or one of "
    f"{', '.join(shipped_recipes())}."
)


@with_data_options
def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help=RECIPE_HELP)] = "",
    *,
    data: dict[str, Any],
    out: Annotated[
        str,
        typer.Option(metavar="FOLDER", help="Run folder to write.", show_default="runs/RECIPE"),
    ] = "",
    epochs: Epochs = None,
    overrides: Overrides = None,
    init_from: InitFrom = "",
    init_vocabulary: InitVocabulary = "",
    tensorboard: Tensorboard = False,
    trackers: Trackers = None,
    resume: Annotated[
        bool,
        typer.Option("--resume", help="Resume: continue a run from its newest checkpoint."),
    ] = False,
    wait: Annotated[
        bool,
        typer.Option(
            "--wait", help="Standby: with --resume, wait while another process trains the run."
        ),
    ] = False,
    device: Device = "auto",
    threads: Threads = 0,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Train a model on sentence pairs by a recipe, or resume a run.

    `dhyan train RUN_FOLDER --resume` continues a run with its own recipe and data, from any working
    directory; give only what changes, such as --epochs 9. `dhyan recipe RECIPE` prints every key of
    a recipe, for --set.

    Example: dhyan train bahdanau2015-small --source a.en --target a.hi
    """
    options = {
        **data,
        "training.epochs": epochs,
        "training.init_from": init_from,
        "training.init_vocabulary": init_vocabulary,
        "training.tensorboard": tensorboard,
        "training.trackers": list(trackers or ()),
        "training.seed": seed,
    }
    log_to_stderr(quiet=quiet)
    recipe = recipe or init_from
    if not recipe:
        raise UserError("Missing argument 'RECIPE'; see dhyan train --help")
    if resume and _is_run_to_resume(recipe, out):
        folder = Path(recipe)
        chosen = resumed_recipe(folder, overrides, options)
    else:
        folder = _new_run_folder(recipe, out)
        chosen = override_recipe(recipe, overrides, options)

    from dhyan.run import train as start

    run = start(chosen, folder, resume=resume, wait=wait, device=device, threads=threads)
    train_with_progress(run, quiet=quiet)


def _is_run_to_resume(recipe: str, out: str) -> bool:
    """Whether RECIPE is the folder of the run to resume, and not only the source of its recipe."""
    if not is_model_recipe(recipe) or find_pretrained(recipe):
        if not recipe.endswith(".toml") and len(Path(recipe).parts) > 1:
            raise UserError(f"{recipe}: no such folder; name the folder of the run to resume")
        return False
    if out and not (Path(out).exists() and Path(out).samefile(recipe)):
        return False
    check_not_slim(Path(recipe))
    if (Path(recipe) / MANIFEST).is_file():
        raise UserError(
            f"{recipe} is one checkpoint, and a run resumes from its newest: name the run's folder, "
            f"or start a new run from this checkpoint with --init-from {recipe} --out FOLDER"
        )
    check_run(Path(recipe))
    return True


def _new_run_folder(recipe: str, out: str) -> Path:
    """The folder of a run that is not named by RECIPE: `--out`, else runs/ and the recipe's name."""
    if out:
        return Path(out)
    own_folder = not find_pretrained(recipe) and is_model_recipe(recipe)
    if own_folder and (is_run(Path(recipe)) or (Path(recipe) / MANIFEST).is_file()):
        raise UserError(
            f"{recipe} is a run: add --resume to continue it, or --out FOLDER to start a new run "
            f"with its recipe"
        )
    return Path("runs") / Path(recipe).stem


def train_with_progress(run: "Run", *, quiet: bool = False, resume_command: str = "") -> None:
    """Train to the end with a report of progress, then print the result and the next commands.

    `resume_command` is how an interrupted run is resumed, if not by its folder.
    """
    show = progress_bar if sys.stderr.isatty() and not quiet else plain_lines
    with stopped_by_signals(run.trainer) as received, show(run) as report:
        for event in run:
            report(event)
    typer.echo(format_result(run))
    folder = shlex.quote(str(run.folder.path))
    if received:
        resume_command = resume_command or f"dhyan train {folder} --resume"
        logger.info(f"stopped, with a checkpoint; resume with: {resume_command}")
        raise typer.Exit(EXIT_CODES[received[0]])
    from dhyan.safe_io.data_uri import is_data_uri
    from dhyan.tasks import find_task

    sample = "PICTURE" if is_data_uri(run.sample) else shlex.quote(run.sample)
    command = find_task(run.folder.recipe.task).command
    logger.info(f"next: dhyan show {folder} {sample}   or   dhyan {command} {folder} FILE")


def format_result(run: "Run") -> str:
    """The folder of the model, and the score of its best checkpoint."""
    state, metric = run.trainer.state, run.trainer.settings.early_stopping_metric
    if state.best_step is None or state.best_score is None:
        return f"{run.folder.path}  step {state.step:,}"
    best = format_scores({metric: state.best_score})
    return f"{run.folder.path}  best at step {state.best_step:,} of {state.step:,}: {best}"
