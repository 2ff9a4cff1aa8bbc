"""`dhyan train`: train a recipe into a run folder."""

from pathlib import Path
from typing import Annotated

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
from dhyan.cli.progress import show_progress
from dhyan.cli.recipe import override_recipe
from dhyan.config import shipped_recipes

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

    docs/settings.md lists every key of a recipe.

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
    show_progress(run, quiet=quiet)
