"""`dhyan train`: train a model by a recipe in a run folder, or resume a run."""

import logging
import os
import shlex
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dhyan.atomic_folder import MANIFEST
from dhyan.checkpoint import check_not_slim, check_run, is_run
from dhyan.cli.launch_processes import (
    has_final_code,
    has_launcher,
    is_first,
    is_launched,
    is_lost_connection,
    launch,
    report_final,
)
from dhyan.cli.messages import Exit, log_to_stderr, warn
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
    silence,
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

HANG_TIMEOUT = 600.0  # seconds
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
    processes: Annotated[
        int,
        typer.Option(
            min=1,
            help="Data parallelism: processes of this machine that train together, one per GPU; "
            "torchrun for several machines.",
        ),
    ] = 1,
    max_restarts: Annotated[
        int,
        typer.Option(
            min=0, help="With --processes: restarts after a process was killed, failed or hung."
        ),
    ] = 3,
    hang_timeout: Annotated[
        float | None,
        typer.Option(
            min=0.0,
            show_default=f"{HANG_TIMEOUT:g} with several processes",
            help="Hang watchdog: seconds without a step after which a process ends; 0 for none.",
        ),
    ] = None,
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
    if not is_first():  # the first process logs the same
        logging.getLogger("dhyan").setLevel(logging.ERROR)
    recipe = recipe or init_from
    if not recipe:
        raise UserError("Missing argument 'RECIPE'; see dhyan train --help")
    if resume and _is_run_to_resume(recipe, out):
        folder = Path(recipe)
        chosen = resumed_recipe(folder, overrides, options)
    else:
        folder = _new_run_folder(recipe, out)
        chosen = override_recipe(recipe, overrides, options)

    if processes > 1 and not is_launched():
        chosen.check()
        code = launch(sys.argv[1:], processes=processes, max_restarts=max_restarts)
        raise typer.Exit(code)
    if hang_timeout is None:
        hang_timeout = HANG_TIMEOUT if is_launched() else 0.0

    with final_status():
        from dhyan.run import train as start

        run = start(
            chosen,
            folder,
            resume=resume,
            wait=wait,
            device=device,
            threads=threads,
            hang_timeout=hang_timeout,
        )
        train_with_progress(run, quiet=quiet)


@contextmanager
def final_status() -> Iterator[None]:
    """Inside the block an end that is no failure is reported to the launcher of several processes.

    One of them prints what the user has to correct; processes started after that end at once.
    """
    if not has_launcher():
        yield
        return
    if has_final_code():
        raise typer.Exit(Exit.SUCCESS)
    try:
        yield
    except UserError as error:
        if report_final(Exit.USER_ERROR):
            for line in error.problems:
                warn(line)
    except typer.Exit as error:
        report_final(error.exit_code)
    except RuntimeError as error:
        if not is_lost_connection(error):
            raise
        warn(f"process {os.environ['RANK']} lost the connection to another process; all end")
        raise typer.Exit(Exit.BUG) from None
    leave()


def leave() -> None:
    """End this process with success, without the destructors of libraries.

    Threads of a process group may still run there, and a failure would restart a run that has ended.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(Exit.SUCCESS)


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
    if not run.writes:
        show = silence
    with stopped_by_signals(run.trainer) as received, show(run) as report:
        for event in run:
            report(event)
    if run.writes:
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
