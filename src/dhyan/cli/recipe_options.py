"""The recipe a command is to follow, from its name, its options and its settings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dhyan.config import Recipe, load_recipe, parse_setting, shipped_recipes
from dhyan.errors import UserError

InitFrom = Annotated[str, typer.Option(metavar="MODEL", help="A trained model to begin from.")]
InitVocabulary = Annotated[
    str, typer.Option(help="With --init-from: keep its words, extend them, or learn new ones.")
]

TestSource = Annotated[
    str, typer.Option(help="Sentences you will test on: refused if they are trained on.")
]
TestTarget = Annotated[str, typer.Option(help="Their translations.")]
AllowLeakage = Annotated[
    bool, typer.Option("--allow-leakage", help="Go on though tests stand in the training text.")
]


def chosen_recipe(name: str, settings: Sequence[str] | None, given: Mapping[str, Any]) -> Recipe:
    """A recipe with `--set`s laid over it, and what other options have `given`, each key once.

    The model whose recipe it is may have begun from another; that is not taken over.
    """
    given = {key: value for key, value in given.items() if value or type(value) is int}
    for source in ("source", "valid_source", "test_source"):
        side = given.get(f"data.{source.replace('source', 'target')}")
        if side and not given.get(f"data.{source}"):
            raise UserError(f"{side}: has no source side; add --{source.replace('_', '-')} FILE")
    path = recipe_of(name)
    anew = {} if path == name else {"training.init_from": "", "training.init_vocabulary": "keep"}
    over = dict(map(parse_setting, settings or []))
    _check_once(over, given)
    recipe = load_recipe(path, {**anew, **over, **given})
    if given.get("training.init_vocabulary") and not recipe.training.init_from:
        raise UserError(
            f"--init-vocabulary {given['training.init_vocabulary']} is about the words of "
            f"a model to begin "
            f"from: name it with --init-from MODEL"
        )
    return recipe


def _check_once(settings: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Refuse a key that both `--set` and an option of its own give a value."""
    for key in given:
        for one in settings:
            if key == one or key.startswith(f"{one}."):
                option = key.rpartition(".")[2].replace("_", "-")
                raise UserError(f"--{option} and --set {one}: {key} is given twice; leave one out")


def recipe_of(name: str) -> str:
    """The recipe meant by a name: that of a model, if it is a model's folder, else itself.

    A model is checked first, so that its recipe is the one it was saved with.
    """
    from dhyan.model_check import check_folder

    if name in shipped_recipes() or not Path(name).is_dir():
        return name
    return str(check_folder(name).folder / "recipe.toml")
