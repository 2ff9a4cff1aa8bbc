"""`dhyan recipe`: print a recipe (TOML configuration); loading one with `--set` overrides."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dhyan.cli.options import Overrides, is_model
from dhyan.config import Recipe, dump_recipe, load_recipe, parse_setting, shipped_recipes
from dhyan.config.declare_settings import settings_of
from dhyan.errors import UserError


def recipe(
    name: Annotated[
        str,
        typer.Argument(metavar="[RECIPE]", help="Recipe: a shipped name, a .toml file or a model."),
    ] = "",
    overrides: Overrides = None,
) -> None:
    """Print a recipe with every key, or list the shipped recipes.

    Example: dhyan recipe bahdanau2015-small > mine.toml
    """
    if name:
        settings = dict(map(parse_setting, overrides or []))
        typer.echo(dump_recipe(load_recipe(find_recipe(name), settings)), nl=False)
        return
    names = shipped_recipes()
    width = max(map(len, names))
    for shipped in names:
        typer.echo(f"{shipped:<{width}}  {load_recipe(shipped).about}")


def override_recipe(
    name: str, overrides: Sequence[str] | None, options: Mapping[str, Any]
) -> Recipe:
    """A recipe with the values of `--set` and of other options (dotted key → value), each once.

    The recipe of a fine-tuned model is used without the model it started from.
    """
    options = _without_defaults(options)
    path = find_recipe(name)
    settings = (
        {} if path == name else {"training.init_from": "", "training.init_vocabulary": "keep"}
    )
    overridden = dict(map(parse_setting, overrides or []))
    _check_once(overridden, options)
    recipe = load_recipe(path, {**settings, **overridden, **options})
    _check_used(recipe, options)
    return recipe


def resumed_recipe(
    run: Path, overrides: Sequence[str] | None, options: Mapping[str, Any]
) -> Recipe:
    """The recipe of a run to resume, with the values of `--set` and of other options.

    A file of the corpus that is named again is the same file in another place.
    """
    from dhyan.model_check import find_saved_recipe

    options = _without_defaults(options)
    overridden = dict(map(parse_setting, overrides or []))
    _check_once(overridden, options)
    recipe = load_recipe(find_saved_recipe(run), {**overridden, **options}, same_corpus=True)
    _check_used(recipe, options)
    return recipe


def _without_defaults(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that were given: an empty text, False and None stand for one that was not."""
    return {key: value for key, value in options.items() if value or type(value) is int}


def _check_once(overridden: Mapping[str, Any], options: Mapping[str, Any]) -> None:
    """Raise an error for a key that both `--set` and an option of its own name."""
    for key in options:
        for other in overridden:
            if key == other or key.startswith(f"{other}."):
                flag = key.rpartition(".")[2].replace("_", "-")
                raise UserError(f"--{flag} and --set {other}: {key} is given twice; leave one out")


def _check_used(recipe: Recipe, options: Mapping[str, Any]) -> None:
    """Raise an error for an option without effect, even if its value is the default."""
    for key, value in options.items():
        section_name, _, name = key.partition(".")
        section = getattr(recipe, section_name)
        setting = settings_of(section)[name]
        if not setting.is_used(section):
            flag, other = (text.replace("_", "-") for text in (name, setting.depends_on))
            raise UserError(
                f"--{flag} {value} has no effect without {setting.depends_on}; add --{other}"
            )


def find_recipe(name: str) -> str:
    """The path of a model's recipe, if the name is that of a model; else the name itself.

    The model is checked first, so that its recipe is the one it was saved with.
    """
    from dhyan.model_check import check_folder

    if not is_model_recipe(name):
        return name
    return str(check_folder(name).folder / "recipe.toml")


def is_model_recipe(name: str) -> bool:
    """Whether a recipe is that of a model: a folder or a pretrained model.

    A shipped recipe of the name goes first.
    """
    return name not in shipped_recipes() and is_model(name)
