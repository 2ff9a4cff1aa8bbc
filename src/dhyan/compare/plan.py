"""The plan of a comparison: who takes part, how large, for how long; kept so that it can go on."""

import json
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dhyan.atomic_folder import to_json_bytes
from dhyan.checkpoint import replace_file
from dhyan.compare.budget import Budget
from dhyan.compare.controlled_recipes import Contestant
from dhyan.compare.test_options import Wish
from dhyan.config import Recipe, differences, dump_recipe, parse_recipe
from dhyan.errors import UserError

FILE = "plan.json"
RESERVED = {"pairs", "corpus", "figures"}


@dataclass(frozen=True)
class Entry:
    """A model to be trained: its recipe as it was scaled, and how many parameters that has."""

    name: str
    recipe: Recipe
    parameters: int
    about: str = ""


@dataclass(frozen=True)
class Plan:
    """What is compared in a folder; `parameters` is the budget that recipes are scaled to."""

    folder: Path
    entries: tuple[Entry, ...]
    budget: Budget
    parameters: int

    def home(self, entry: Entry) -> Path:
        """The run folder of an entry."""
        return self.folder / entry.name

    def entry(self, name: str) -> Entry:
        """The entry of a name."""
        return next(one for one in self.entries if one.name == name)


@dataclass(frozen=True)
class Asked:
    """All that was asked for and decides what comes out."""

    contestants: tuple[Contestant, ...]
    budget: Budget
    parameters: int
    wish: Wish = Wish()


def write_plan(plan: Plan, asked: Asked) -> None:
    """Keep the plan, and what was asked for, in its folder."""
    entries = [
        {
            "name": entry.name,
            "about": entry.about,
            "parameters": entry.parameters,
            "asked": dump_recipe(one.recipe),
            "recipe": dump_recipe(entry.recipe),
        }
        for entry, one in zip(plan.entries, asked.contestants, strict=True)
    ]
    facts = {
        "budget": asdict(plan.budget),
        "parameters": plan.parameters,
        "asked": {"parameters": asked.parameters, "tests": _plain(asked.wish)},
        "entries": entries,
    }
    replace_file(plan.folder / FILE, to_json_bytes(facts))


def read_plan(folder: Path, asked: Asked | None = None) -> Plan | None:
    """The plan kept in a folder, if there is one; one for something else is refused."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        kept = json.loads(path.read_text(encoding="utf-8"))
        entries = [
            Entry(one["name"], _recipe(one["recipe"]), one["parameters"], one["about"])
            for one in kept["entries"]
        ]
        plan = Plan(folder, tuple(entries), Budget(**kept["budget"]), kept["parameters"])
    except (ValueError, KeyError, TypeError):
        raise UserError(f"{path}: cannot be understood; name another --out") from None
    if asked:
        _check_same(folder, kept, asked)
    return plan


def check_names(names: Sequence[str]) -> None:
    """Refuse names that folders of the comparison itself have."""
    for name in names:
        if name in RESERVED:
            raise UserError(
                f"{name!r} is a folder of the comparison itself: call the recipe otherwise"
            )


def _check_same(folder: Path, kept: Mapping[str, Any], asked: Asked) -> None:
    """Refuse to go on with anything else than was asked before."""
    before = [one["name"] for one in kept["entries"]]
    now = [one.name for one in asked.contestants]
    differing: list[tuple[str, object, object]] = [
        ("the models", ", ".join(before), ", ".join(now)),
        ("--budget", str(Budget(**kept["budget"])), str(asked.budget)),
        ("--parameters", kept["asked"]["parameters"] or "none", asked.parameters or "none"),
        ("the tests", kept["asked"]["tests"], _plain(asked.wish)),
    ]
    for one, then in zip(asked.contestants, kept["entries"], strict=False):
        changed = differences(_unplaced(_recipe(then["asked"])), _unplaced(one.recipe))
        differing += [(f"{one.name}: {key}", *values) for key, values in changed.items()]
    for what, old, new in differing:
        if old != new:
            raise UserError(
                f"{folder} compares something else: {what}: {old} before, {new} now; give the same "
                f"again, or another --out"
            )


def _unplaced(recipe: Recipe) -> Recipe:
    """The recipe without what says nothing of the model."""
    return replace(recipe, about="")


def _plain(wish: Wish) -> Any:
    return json.loads(json.dumps(asdict(wish)))


def _recipe(text: str) -> Recipe:
    return parse_recipe(tomllib.loads(text), place="the plan")
