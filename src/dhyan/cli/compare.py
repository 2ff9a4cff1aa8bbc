"""`dhyan compare`: mechanisms trained alike, and a report of where each stands."""

import json
import logging
import os
import shlex
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from dhyan.cli.compare_one import complete
from dhyan.cli.interrupts import throttled
from dhyan.cli.progress import EXIT_CODES
from dhyan.cli.recipe_options import chosen_recipe
from dhyan.cli.shared_options import Columns, Device, Threads, two_columns
from dhyan.cli.warnings import log_to_stderr
from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.compare.budget import Budget
    from dhyan.compare.controlled_recipes import Contestant
    from dhyan.compare.ladder import Course, Rung
    from dhyan.compare.plan import Entry, Plan
    from dhyan.config import Recipe

logger = logging.getLogger(__name__)

ONE = "compare-one"


def compare(
    out: Annotated[Path, typer.Option(help="The folder for the models and the report.")],
    recipes: Annotated[
        list[str] | None, typer.Argument(metavar="RECIPE…", help="As for dhyan train.")
    ] = None,
    ladder: Annotated[
        bool, typer.Option("--ladder", help="From no attention to the Transformer: 12 models.")
    ] = False,
    rungs: Annotated[str, typer.Option(help="Only these rungs of the ladder, as a,b.")] = "",
    quick: Annotated[
        bool, typer.Option("--quick", help="Small models, short sentences: for a CPU.")
    ] = False,
    data: Annotated[
        str, typer.Option(help="Pairs made by code: primer, numbers, reverse, copy, dates.")
    ] = "",
    source: Annotated[str, typer.Option(help="Sentences, or one .tsv/.csv/.jsonl.")] = "",
    target: Annotated[str, typer.Option(help="Their translations, line by line.")] = "",
    columns: Columns = "",
    test_source: Annotated[
        Path | None, typer.Option(help="Sentences to test on; else those held out.")
    ] = None,
    test_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    gold_alignment: Annotated[
        Path | None, typer.Option(help="Links such as 0-0 1?2 of the test: adds error rates.")
    ] = None,
    budget: Annotated[
        str, typer.Option(help="Of each model: steps, or a time of training as 90s, 10m, 1h.")
    ] = "",
    parameters: Annotated[
        str, typer.Option(help="Of each model, as 2M; else those of the smallest.")
    ] = "",
    jobs: Annotated[int, typer.Option(min=1, help="Models to train at once.")] = 1,
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key of all recipes; repeatable."),
    ] = None,
    device: Device = "auto",
    threads: Threads = 0,
    seed: Annotated[int | None, typer.Option(min=0, help="training.seed, for short.")] = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the result.")] = False,
) -> None:
    """Train several recipes alike, and report where each stands.

    All get the same pairs, vocabularies, number of parameters and training. What was interrupted
    goes on when the same command is given again.

    Example: dhyan compare --ladder --quick --data primer --out ladder
    """
    from dhyan.compare.budget import parse_budget, parse_count
    from dhyan.compare.evaluate import sat
    from dhyan.compare.make_plan import make_plan
    from dhyan.compare.plan import Asked
    from dhyan.compare.test_options import Wish

    log_to_stderr(quiet=quiet)
    course = _course(ladder=ladder, quick=quick)
    spent = parse_budget(budget or course.budget)
    given = {
        "data.task": data or ("primer" if ladder and not source else ""),
        "data.source": source,
        "data.target": target,
        "data.columns": list(two_columns(columns) or ()),
        "training.seed": seed,
    }
    steps = _rungs(rungs, ladder=ladder)
    chosen = _contestants(recipes or [], steps, course, spent, settings, given)
    wish = Wish(
        source=str(test_source or ""),
        target=str(test_target or ""),
        gold=str(gold_alignment or ""),
        columns=two_columns(columns) or (),
        quick=quick,
    )
    asked = Asked(tuple(chosen), spent, parse_count(parameters or course.parameters), wish)
    plan = make_plan(asked, out)
    waiting = [entry for entry in plan.entries if not sat(plan, entry)]
    if jobs > 1 and len(waiting) > 1:
        _side_by_side(plan, waiting, jobs, device, threads)
    else:
        for entry in waiting:
            complete(plan, entry, device=device, threads=threads, quiet=quiet)
    typer.echo(_reported(plan, device=device, threads=threads))


def _course(*, ladder: bool, quick: bool) -> "Course":
    from dhyan.compare.ladder import FULL, PLAIN, QUICK

    return QUICK if quick else FULL if ladder else PLAIN


def _rungs(names: str, *, ladder: bool) -> "Sequence[Rung]":
    """The rungs of the ladder, or those named; none without it."""
    from dhyan.compare.ladder import LADDER

    wanted = [name.strip() for name in names.split(",") if name.strip()]
    if wanted and not ladder:
        raise UserError(f"--rungs {names}: are rungs of the ladder; add --ladder")
    known = {rung.name: rung for rung in LADDER}
    for name in wanted:
        if name not in known:
            raise UserError(f"--rungs {name}: the ladder has {', '.join(known)}")
        if wanted.count(name) > 1:
            raise UserError(f"--rungs {names}: {name} is named twice; name each once")
    return [known[name] for name in wanted] or (LADDER if ladder else ())


def _contestants(
    recipes: Sequence[str],
    rungs: "Sequence[Rung]",
    course: "Course",
    budget: "Budget",
    settings: Sequence[str] | None,
    given: dict[str, Any],
) -> "list[Contestant]":
    """The recipes named, and those of the ladder; what a person sets comes last."""
    from dhyan.compare.controlled_recipes import Contestant, named

    usual = course.usual(budget, primer=given["data.task"] == "primer")

    def chosen(name: str, own: Mapping[str, Any]) -> "Recipe":
        laid = [f"{key}={json.dumps(value)}" for key, value in {**usual, **own}.items()]
        return chosen_recipe(name, [*laid, *(settings or [])], given)

    found = named([(Path(name).stem, chosen(name, {})) for name in recipes])
    for rung in rungs:
        found.append(Contestant(rung.name, chosen(rung.recipe, rung.of(course)), rung.about))
    if len(found) < 2 and rungs:
        raise UserError(f"nothing to compare {found[0].name} with: name another rung, or a recipe")
    if len(found) < 2:
        raise UserError("nothing to compare: name two recipes or more, or add --ladder")
    names = [one.name for one in found]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{name!r} is a rung of the ladder: call your recipe otherwise")
    return found


def _side_by_side(
    plan: "Plan",
    waiting: "Sequence[Entry]",
    jobs: int,
    device: str,
    threads: int,
) -> None:
    """Train several at once; on a CPU they share its cores."""
    from dhyan.compare.parallel_training import side_by_side

    before = sys.argv[1 : sys.argv.index("compare")]  # the plugins, if there are any
    each = threads or max(1, (os.cpu_count() or 1) // jobs)

    def words(entry: "Entry") -> list[str]:
        return [*before, ONE, str(plan.folder), entry.name, device, str(each)]

    with _ended_as_by_ctrl_c() as received:
        try:
            side_by_side(plan, waiting, jobs, words)
        except KeyboardInterrupt:
            logger.info("stopped, with checkpoints; the same command goes on from them")
            raise typer.Exit(EXIT_CODES[received[0] if received else signal.SIGINT]) from None


@contextmanager
def _ended_as_by_ctrl_c() -> Iterator[list[signal.Signals]]:
    """Inside, SIGTERM interrupts as Ctrl-C does, so that others can be told; it is noted."""
    received: list[signal.Signals] = []

    def interrupt(number: int, frame: object) -> None:
        received.append(signal.Signals(number))
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)


def _reported(plan: "Plan", *, device: str, threads: int) -> str:
    """Measure what is not measured yet, write the report, and say where it is."""
    from dhyan.compare.evaluate import sat
    from dhyan.compare.report import write_report
    from dhyan.compare.speed import measure, measured
    from dhyan.compare.test_sets import read_tests

    tests, speeds = read_tests(plan.folder), {}
    for entry in plan.entries:
        known = measured(plan, entry, device=device, threads=threads)
        if not known:
            logger.info(f"{entry.name}: measuring its speed")
            known = measure(plan, entry, tests.main, device=device, threads=threads)
        speeds[entry.name] = known
    page = write_report(
        plan,
        tests,
        {entry.name: sat(plan, entry) or {} for entry in plan.entries},
        speeds,
        command=shlex.join(["dhyan", *sys.argv[1:]]),
        on_progress=throttled(logger.info),
    )
    return f"{page}  {len(plan.entries)} models; every number is in {page.with_suffix('.json')}"
