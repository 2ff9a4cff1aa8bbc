"""The recipe a command is to follow, from its name, its options and its settings."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer

from dhyan.config import Recipe, load_recipe, parse_setting, shipped_recipes
from dhyan.faults import Fault

Init = Annotated[str, typer.Option(metavar="MODEL", help="A trained model to begin from.")]
Vocabulary = Annotated[
    str, typer.Option(help="With --init: keep its words, extend them, or learn new ones.")
]


def chosen_recipe(name: str, settings: Sequence[str] | None, given: Mapping[str, Any]) -> Recipe:
    """A recipe with `--set`s laid over it, and over them what other options have `given`.

    The model whose recipe it is may have begun from another; that is not taken over.
    """
    for source in ("source", "valid_source"):
        side = given.get(f"data.{source.replace('source', 'target')}")
        if side and not given.get(f"data.{source}"):
            raise Fault(f"{side}: has no source side; add --{source.replace('_', '-')} FILE")
    path = recipe_of(name)
    anew = {} if path == name else {"training.init": "", "training.vocabulary": "keep"}
    over = dict(map(parse_setting, settings or []))
    over |= {key: value for key, value in given.items() if value}
    return load_recipe(path, {**anew, **over})


def recipe_of(name: str) -> str:
    """The recipe meant by a name: that of a model, if it is a model's folder, else itself."""
    from dhyan.checkpoint import find_checkpoint

    if name in shipped_recipes() or not Path(name).is_dir():
        return name
    return str(find_checkpoint(Path(name)) / "recipe.toml")
