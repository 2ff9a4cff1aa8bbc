"""`dhyan models`: list the pretrained models of the package, or print the card of one."""

import json
from typing import Annotated, Any

import typer

from dhyan.cli.options import AsJson
from dhyan.pretrained import (
    ALIASES,
    aliases_of,
    card_of,
    find_pretrained,
    model_names,
    size_of,
)

HEADS = ("name", "task", "languages", "architecture", "parameters", "size", "scores")
NONE = (
    "no pretrained model is in this installation; `python -m experiments.pretrained` in a checkout "
    "trains and packs them"
)


def models(
    name: Annotated[
        str, typer.Argument(metavar="[NAME]", help="Pretrained model; without it, a list.")
    ] = "",
    as_json: AsJson = False,
) -> None:
    """List the pretrained models, or print the card of one.

    A card has the training text, licences, scores and limits.

    Wherever a command takes a MODEL, the name of a pretrained model does as well. A folder of the
    same name is given as a path: ./en-hi

    Example: dhyan models en-hi
    """
    if as_json:
        facts = _facts(name) if name else [_facts(own) for own in model_names()]
        typer.echo(json.dumps(facts, ensure_ascii=False, indent=1))
    elif name:
        card = card_of(name)
        typer.echo(f"{ALIASES.get(name, name)}  ({find_pretrained(name)})")
        typer.echo("\n".join(card.lines()))
    else:
        rows = [_row(own) for own in model_names()]
        typer.echo(_table([HEADS, *rows]) if rows else NONE)


def _facts(name: str) -> dict[str, Any]:
    """A card with the model's names, folder and size."""
    full = ALIASES.get(name, name)
    card = card_of(name).to_json()
    names = {"name": full, "aliases": aliases_of(full)}
    return {**names, "folder": str(find_pretrained(name)), "bytes": size_of(name), **card}


def _row(name: str) -> tuple[str, ...]:
    card, short = card_of(name), ", ".join(aliases_of(name))
    return (
        f"{name} ({short})" if short else name,
        card.task,
        card.languages,
        card.architecture,
        f"{card.parameters / 1e6:.1f} M",
        f"{size_of(name) / 1e6:.1f} MB",
        card.scores_line,
    )


def _table(rows: list[tuple[str, ...]]) -> str:
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )
