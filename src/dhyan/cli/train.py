"""`dhyan train`: train a recipe into a run folder."""

import logging
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.messages import log_to_stderr
from dhyan.cli.options import (
    AllowLeakage,
    Columns,
    Device,
    InitFrom,
    InitVocabulary,
    Overrides,
    Quiet,
    Seed,
    Source,
    Target,
    Tensorboard,
    TestSource,
    TestTarget,
    Threads,
    ValidSource,
    ValidTarget,
    split_columns,
)
from dhyan.cli.progress import (
    EXIT_CODES,
    format_scores,
    plain_lines,
    progress_bar,
    stopped_by_signals,
)
from dhyan.cli.recipe import override_recipe
from dhyan.config import shipped_recipes

if TYPE_CHECKING:
    from dhyan.run import Run

logger = logging.getLogger(__name__)

RECIPE_HELP = (
    f"A .toml file, a model whose recipe to use, or one of {', '.join(shipped_recipes())}."
)


def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help=RECIPE_HELP)],
    source: Source = "",
    target: Target = "",
    valid_source: ValidSource = "",
    valid_target: ValidTarget = "",
    test_source: TestSource = "",
    test_target: TestTarget = "",
    allow_leakage: AllowLeakage = False,
    columns: Columns = "",
    out: Annotated[str, typer.Option(help="Run folder.", show_default="runs/RECIPE")] = "",
    overrides: Overrides = None,
    init_from: InitFrom = "",
    init_vocabulary: InitVocabulary = "",
    tensorboard: Tensorboard = False,
    resume: Annotated[
        bool, typer.Option("--resume", help="Resume the run from its newest checkpoint.")
    ] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="With --resume: wait while another process trains it.")
    ] = False,
    device: Device = "auto",
    threads: Threads = 0,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Train a model by a recipe, on pairs of sentences.

    docs/reference/settings.md lists every key of a recipe.

    Example: dhyan train bahdanau2015-small --source a.en --target a.hi
    """
    options = {
        "data.source": source,
        "data.target": target,
        "data.valid_source": valid_source,
        "data.valid_target": valid_target,
        "data.test_source": test_source,
        "data.test_target": test_target,
        "data.allow_leakage": allow_leakage,
        "data.columns": list(split_columns(columns) or ()),
        "training.init_from": init_from,
        "training.init_vocabulary": init_vocabulary,
        "training.tensorboard": tensorboard,
        "training.seed": seed,
    }
    chosen = override_recipe(recipe, overrides, options)
    folder = Path(out) if out else Path("runs") / Path(recipe).stem

    from dhyan.run import train as start

    log_to_stderr(quiet=quiet)
    run = start(chosen, folder, resume=resume, wait=wait, device=device, threads=threads)
    train_with_progress(run, quiet=quiet)


def train_with_progress(run: "Run", *, quiet: bool = False, again: str = " with --resume") -> None:
    """Train to the end with a report of progress, then print the result and the next commands.

    After an interrupt, the same command with `again` added to it resumes the run.
    """
    show = progress_bar if sys.stderr.isatty() and not quiet else plain_lines
    with stopped_by_signals(run.trainer) as received, show(run) as report:
        for event in run:
            report(event)
    typer.echo(format_result(run))
    if received:
        logger.info(f"stopped, with a checkpoint; the same command{again} resumes the run")
        raise typer.Exit(EXIT_CODES[received[0]])
    folder = shlex.quote(str(run.folder.path))
    logger.info(
        f"next: dhyan show {folder} {shlex.quote(run.sample)}   or   dhyan translate {folder} FILE"
    )


def format_result(run: "Run") -> str:
    """The folder of the model, and the score of its best checkpoint."""
    state, metric = run.trainer.state, run.trainer.settings.early_stopping_metric
    if state.best_step is None or state.best_score is None:
        return f"{run.folder.path}  step {state.step:,}"
    best = format_scores({metric: state.best_score})
    return f"{run.folder.path}  best at step {state.best_step:,} of {state.step:,}: {best}"
