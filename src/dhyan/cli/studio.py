"""`dhyan studio`: start the local web page that translates and shows a model's internal values."""

from collections.abc import Iterable
from pathlib import Path
from typing import Annotated

import typer

from dhyan.cli.messages import warn
from dhyan.cli.options import check_models
from dhyan.errors import UserError
from dhyan.pretrained import model_folder, model_names

MODEL_PATTERNS = ("runs/*", "demo/run")  # where `dhyan train` and `dhyan demo` write models

NO_MODEL = (
    "there is no model: this installation has no pretrained models, and there is none in runs/ or "
    "demo/run; train one with `dhyan train numbers` and start the studio again, name the folder of a "
    "run, or train a small task in the page's Training view"
)


def studio(
    models: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[MODELS]…",
            help="Run folders or pretrained models; else all pretrained models and those in runs/.",
        ),
    ] = None,
    trace: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="FILE.json",
            show_default="none",
            help="Trace that `dhyan show -o FILE.json` wrote; repeatable.",
        ),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port; 0 for any free one.")] = 8765,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Print the address, open no browser.")
    ] = False,
) -> None:
    """Open the web page: translation, attention, and every number.

    The page is for this machine alone. Without a name it has the pretrained models first, then the
    models in runs/ and that of `dhyan demo`.

    Example: dhyan studio
    """
    check_models(*models or [])
    try:
        from dhyan.studio.registry import ModelRegistry
        from dhyan.studio.server import serve
        from dhyan.web.listen import ListenAddress, bind
    except ModuleNotFoundError as missing:
        raise UserError(f"the studio needs {missing.name}: pip install 'dhyan[studio]'") from None

    folders = _check_cards(list(map(model_folder, models or [])))
    folders = folders or ([] if trace else _find_models())
    registry = ModelRegistry(folders, trace or [])
    bound = bind(ListenAddress(port=port))
    serve(registry, bound, browser=not no_browser, announce=typer.echo)


def _check_cards(folders: list[Path]) -> list[Path]:
    """The folders, each a readable model."""
    from dhyan.studio.model_cards import model_card

    for folder in folders:
        model_card(folder.name, folder)
    return folders


def _find_models() -> list[Path]:
    """The pretrained models, then those of runs; if there are none, what to do is said."""
    runs = sorted(path for pattern in MODEL_PATTERNS for path in Path().glob(pattern))
    models = [*map(model_folder, model_names()), *_readable(runs)]
    warn(f"with {', '.join(map(_short_name, models))}" if models else NO_MODEL)
    return models


def _readable(folders: Iterable[Path]) -> list[Path]:
    """The folders that hold a model; one that cannot be read is left out with a warning."""
    from dhyan.checkpoint import steps_in

    models = []
    for folder in folders:
        if folder.is_dir() and steps_in(folder):
            try:
                models += _check_cards([folder])
            except UserError as error:
                warn(f"left out: {error}")
    return models


def _short_name(folder: Path) -> str:
    return folder.name if folder.is_absolute() else str(folder)
