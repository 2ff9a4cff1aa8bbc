"""`dhyan sweep`: search for the settings of a recipe with Optuna."""

import logging
import os
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.messages import Exit, log_to_stderr
from dhyan.cli.options import (
    Device,
    Overrides,
    Quiet,
    Source,
    Target,
    Threads,
    ValidSource,
    ValidTarget,
)
from dhyan.cli.progress import (
    EXIT_CODES,
    plain_lines,
    sigterm_as_interrupt,
    stopped_by_signals,
)
from dhyan.cli.recipe import override_recipe
from dhyan.config import load_recipe, with_absolute_paths
from dhyan.errors import UserError

logger = logging.getLogger(__name__)

SWEEP_TRIAL = "sweep-trial"  # the command of the process of each trial

Space = Annotated[
    list[str] | None,
    typer.Option(
        metavar="KEY=VALUES",
        show_default="none",
        help="Values of a setting to try: A,B,C, or LOW..HIGH, with :log or :STEP behind; repeatable.",
    ),
]


def sweep(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="Recipe, as for dhyan train.")],
    space: Space = None,
    out: Annotated[
        Path | None, typer.Option(metavar="FOLDER", help="Output folder.", show_default="required")
    ] = None,
    trials: Annotated[
        int, typer.Option(min=1, help="Trials, those of earlier runs included.")
    ] = 20,
    jobs: Annotated[int, typer.Option(min=1, help="Trials that are trained at once.")] = 1,
    source: Source = "",
    target: Target = "",
    valid_source: ValidSource = "",
    valid_target: ValidTarget = "",
    overrides: Overrides = None,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the search.")] = 1,
    device: Device = "auto",
    threads: Threads = 0,
    quiet: Quiet = False,
) -> None:
    """Hyperparameter search: train a recipe with many settings.

    Optuna chooses them. Trials whose validations fall behind are pruned. The same command
    continues an interrupted sweep; a larger --trials adds to it. Needs Optuna: pip install
    'dhyan[sweep]'

    Example: dhyan sweep numbers --space training.learning_rate=1e-4..1e-2:log --out sweep
    """
    from dhyan.sweep import open_sweep, parse_space, write_report

    log_to_stderr(quiet=quiet)
    dimensions = parse_space(space or ())
    for dimension in dimensions:
        for text in overrides or ():
            if text.partition("=")[0].strip() == dimension.key:
                raise UserError(f"--set {text}: {dimension.key} is in --space too; leave one out")
    if out is None:
        raise UserError("--out: name the folder of the sweep")
    files = {"source": source, "target": target}
    files |= {"valid_source": valid_source, "valid_target": valid_target}
    options = {f"data.{name}": value for name, value in files.items()}
    chosen = with_absolute_paths(override_recipe(recipe, overrides, options))
    opened = open_sweep(out, chosen, dimensions, seed=seed)
    plugins = sys.argv[1 : sys.argv.index("sweep")] if "sweep" in sys.argv else []
    each = threads or max(1, (os.cpu_count() or 1) // jobs)

    def command(folder: Path) -> Sequence[str]:
        dhyan = [sys.executable, "-m", "dhyan", *plugins]
        return [*dhyan, SWEEP_TRIAL, str(folder), device, str(each)]

    with opened.lock, sigterm_as_interrupt() as received:
        try:
            with closing(opened.run(trials, command, jobs=jobs)) as events:
                for ended in events:
                    score = "" if ended.score is None else f"  {opened.metric} {ended.score:.4g}"
                    reason = f": {ended.reason}" if ended.reason else ""
                    logger.info(f"trial {ended.number}: {ended.state}{score}{reason}")
                    write_report(opened)
        except KeyboardInterrupt:
            logger.info("stopped, with checkpoints; the same command continues the sweep")
            raise typer.Exit(EXIT_CODES[received[0]] if received else Exit.INTERRUPTED) from None
        path = write_report(opened)
    typer.echo(path.read_text(encoding="utf-8"), nl=False)
    if not any(trial.state.name == "COMPLETE" for trial in opened.study.get_trials(deepcopy=False)):
        raise UserError(f"{path}: no trial is complete; it says why")


def sweep_trial(folder: Path, device: str, threads: int) -> None:
    """Train one trial of a sweep, new or resumed, in a process that stops when its parent ends."""
    from dhyan.run import train
    from dhyan.sweep.run import TRIAL_RECIPE

    parent = os.getppid()
    log_to_stderr(quiet=False)
    recipe = load_recipe(folder / TRIAL_RECIPE)
    resume = any(folder.glob("step-*"))
    run = train(recipe, folder, resume=resume, device=device, threads=threads)
    with stopped_by_signals(run.trainer) as received, plain_lines(run) as report:
        for event in run:
            report(event)
            if os.getppid() != parent and not run.trainer.stop_reason:
                run.trainer.stop("the sweep was stopped")
    if received or os.getppid() != parent:
        raise typer.Exit(EXIT_CODES[received[0]] if received else Exit.TERMINATED)
