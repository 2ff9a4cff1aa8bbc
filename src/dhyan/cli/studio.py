"""`dhyan studio`: the page on which a sentence is translated, and every number can be opened."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.shared_options import check_models
from dhyan.cli.warnings import warn
from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.studio.demo_models import Offer
    from dhyan.studio.registry import Shelf

HERE = ("runs/*", "demo/run")  # where `dhyan train` and `dhyan demo` put their models


def studio(
    models: Annotated[
        list[Path] | None,
        typer.Argument(metavar="[MODELS]…", help="Run folders; without any, those in runs/."),
    ] = None,
    trace: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE.json", help="Show what `dhyan show -o FILE.json` kept."),
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="0 takes any that is free.")] = 8765,
    no_browser: Annotated[
        bool, typer.Option("--no-browser", help="Only print the address.")
    ] = False,
) -> None:
    """Open the page: translate, watch, and look into every number; for this machine alone.

    With no model named and none in runs/, it trains four small ones once, and keeps them.

    Example: dhyan studio runs/bahdanau2015-small
    """
    check_models(*models or [])
    try:
        from dhyan.studio.registry import Shelf
        from dhyan.studio.server import serve
        from dhyan.web.listen import ListenAddress, bind
    except ModuleNotFoundError as missing:
        raise UserError(f"the studio needs {missing.name}: pip install 'dhyan[studio]'") from None

    folders = _named(models or []) or ([] if trace else _found())
    shelf = Shelf(folders, trace or [])
    bound = bind(ListenAddress(port=port))
    offer = None if shelf.books else _offered(shelf)
    try:
        serve(shelf, bound, browser=not no_browser, announce=typer.echo)
    finally:
        if offer:
            offer.end()


def _named(folders: list[Path]) -> list[Path]:
    """Folders that are models."""
    from dhyan.studio.model_cards import card

    for folder in folders:
        card(folder.name, folder)
    return folders


def _found() -> list[Path]:
    """The models that lie here; one that cannot be read is told of and left out."""
    from dhyan.checkpoint import steps_in

    found = []
    for place in sorted(place for pattern in HERE for place in Path().glob(pattern)):
        if place.is_dir() and steps_in(place):
            try:
                found += _named([place])
            except UserError as fault:
                warn(f"left out: {fault}")
    if found:
        warn(f"with {', '.join(map(str, found))}")
    return found


def _offered(shelf: "Shelf") -> "Offer":
    """The four small models, now or as their trainings end."""
    from dhyan.studio.demo_models import Offer, kept, place

    folder = place()
    for model in kept(folder):
        shelf.add(model.name, model)
    offer = Offer(folder, shelf.add, warn)
    shelf.coming = offer.told
    if coming := offer.told():
        names = ", ".join(one.name for one in coming)
        warn(
            f"no model is named: training {names} once, for some minutes, into {folder}; "
            "the page shows how far they are"
        )
        offer.begin()
    return offer
