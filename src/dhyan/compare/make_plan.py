"""From what was asked to a plan: pairs laid ready, models brought to one size, tests written."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from dhyan.atomic_folder import check_writable
from dhyan.compare.controlled_recipes import Contestant, alike
from dhyan.compare.equal_parameters import Count, counter, fitted
from dhyan.compare.plan import Asked, Entry, Plan, check_names, read_plan, write_plan
from dhyan.compare.shared_corpus import opened, prepared
from dhyan.compare.test_sets import write_tests
from dhyan.errors import UserError
from dhyan.run.resume_checks import check_recipe_builds

logger = logging.getLogger(__name__)


def make_plan(asked: Asked, folder: Path) -> Plan:
    """The plan kept in the folder if it is for the same, else a new one."""
    check_writable(folder)
    check_names([one.name for one in asked.contestants])
    asked.wish.check()
    if kept := read_plan(folder, asked):
        return kept
    own = asked.wish.of_files() if asked.wish.source else None
    even = alike(asked.contestants, asked.budget)
    for one in even:
        with _of(one.name):
            check_recipe_builds(one.recipe)
    folder.mkdir(parents=True, exist_ok=True)
    ready = prepared(even[0].recipe, folder)
    even = [replace(one, recipe=replace(one.recipe, data=ready.data)) for one in even]
    corpus = opened(ready)
    first = asked.contestants[0].recipe
    write_tests(own or asked.wish.of_pairs(first, corpus), folder)
    entries, size = sized(even, asked.parameters, counter(*map(len, corpus.tokenizers)))
    for entry in entries:
        logger.info(f"{entry.name}: {entry.parameters:,} parameters of {size:,} allowed")
    plan = Plan(folder, tuple(entries), asked.budget, size)
    write_plan(plan, asked)
    return plan


def sized(contestants: list[Contestant], parameters: int, count: Count) -> tuple[list[Entry], int]:
    """Every model as near the same size as it comes, and that size: by default the smallest."""
    size = parameters or min(count(one.recipe) for one in contestants)
    entries = []
    for one in contestants:
        with _of(one.name):
            recipe = fitted(one.recipe, size, count)
            entries.append(Entry(one.name, recipe, count(recipe), one.about))
    return entries, size


@contextmanager
def _of(name: str) -> Iterator[None]:
    """Let a fault say whose it is."""
    try:
        yield
    except UserError as fault:
        raise UserError(f"{name}: {fault}") from None
