"""`dhyan train`: from a recipe to a run folder."""

from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.progress import show_progress
from dhyan.cli.recipe_options import (
    AllowLeakage,
    InitFrom,
    InitVocabulary,
    TestSource,
    TestTarget,
    chosen_recipe,
)
from dhyan.cli.shared_options import Columns, Device, Threads, two_columns
from dhyan.cli.warnings import log_to_stderr
from dhyan.config import shipped_recipes

NAMES = f"A .toml file, a model whose recipe to take, or one of {', '.join(shipped_recipes())}."


def train(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help=NAMES)],
    source: Annotated[str, typer.Option(help="Sentences, or one .tsv/.csv/.jsonl.")] = "",
    target: Annotated[str, typer.Option(help="Their translations, line by line.")] = "",
    valid_source: Annotated[str, typer.Option(help="Sentences to validate on.")] = "",
    valid_target: Annotated[str, typer.Option(help="Their translations.")] = "",
    test_source: TestSource = "",
    test_target: TestTarget = "",
    allow_leakage: AllowLeakage = False,
    columns: Columns = "",
    out: Annotated[str, typer.Option(help="The run's folder; runs/RECIPE if not given.")] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key of the recipe; repeatable."),
    ] = None,
    init_from: InitFrom = "",
    init_vocabulary: InitVocabulary = "",
    tensorboard: Annotated[
        bool, typer.Option("--tensorboard", help="Write the run's course for TensorBoard.")
    ] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Go on where the run stopped.")] = False,
    wait: Annotated[
        bool, typer.Option("--wait", help="With --resume: stand by until the run there has ended.")
    ] = False,
    device: Device = "auto",
    threads: Threads = 0,
    seed: Annotated[int | None, typer.Option(min=0, help="training.seed, for short.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Only the result, and warnings.")] = False,
) -> None:
    """Train a model by a recipe, on your own pairs.

    Example: dhyan train bahdanau2015-small --source a.en --target a.hi
    """
    given = {
        "data.source": source,
        "data.target": target,
        "data.valid_source": valid_source,
        "data.valid_target": valid_target,
        "data.test_source": test_source,
        "data.test_target": test_target,
        "data.allow_leakage": allow_leakage,
        "data.columns": list(two_columns(columns) or ()),
        "training.init_from": init_from,
        "training.init_vocabulary": init_vocabulary,
        "training.tensorboard": tensorboard,
        "training.seed": seed,
    }
    chosen = chosen_recipe(recipe, settings, given)
    folder = Path(out) if out else Path("runs") / Path(recipe).stem

    from dhyan.run import train as start

    log_to_stderr(quiet=quiet)
    how = {"resume": resume, "wait": wait}
    run = start(chosen, folder, **how, device=device, threads=threads)
    show_progress(run, quiet=quiet)
