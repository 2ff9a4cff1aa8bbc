"""`dhyan recipe`: a recipe as a file, to read or to begin your own from."""

from typing import Annotated

import typer

from dhyan.cli.recipe_options import recipe_of
from dhyan.config import dump_recipe, load_recipe, parse_setting, shipped_recipes


def recipe(
    name: Annotated[
        str, typer.Argument(metavar="[RECIPE]", help="A .toml file, a model or a shipped name.")
    ] = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key of the recipe; repeatable."),
    ] = None,
) -> None:
    """Print a recipe whole, with every key there is; or, without a name, list those there are.

    Example: dhyan recipe bahdanau2015-small > mine.toml
    """
    if name:
        chosen = load_recipe(recipe_of(name), dict(map(parse_setting, settings or [])))
        typer.echo(dump_recipe(chosen), nl=False)
        return
    names = shipped_recipes()
    for one in names:
        typer.echo(f"{one:<{max(map(len, names))}}  {load_recipe(one).about}")
