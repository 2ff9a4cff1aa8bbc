"""`dhyan compare`: train several recipes (configurations) under one budget, and report."""

import json
import logging
import os
import shlex
import signal
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dhyan.cli.messages import REPORT_SECONDS, Exit, ProgressLines, log_to_stderr
from dhyan.cli.options import (
    Columns,
    Delimiter,
    Device,
    Header,
    Overrides,
    Quiet,
    Seed,
    Source,
    Target,
    Threads,
    option,
    table_settings,
)
from dhyan.cli.progress import (
    EXIT_CODES,
    plain_lines,
    progress_bar,
    sigterm_as_interrupt,
    stopped_by_signals,
    throttled,
)
from dhyan.cli.recipe import override_recipe
from dhyan.config import Data
from dhyan.errors import UserError
from dhyan.training.progress_display import event_lines, format_duration, format_speed

if TYPE_CHECKING:
    from dhyan.compare.budget import Budget
    from dhyan.compare.ladder import Preset, Rung
    from dhyan.compare.plan import Candidate, Entry, Plan
    from dhyan.compare.train import BudgetedRun
    from dhyan.config import Recipe
    from dhyan.run import Run
    from dhyan.training.events import Event

logger = logging.getLogger(__name__)

COMPARE_ONE = "compare-one"  # the command of each process with --jobs


def compare(
    out: Annotated[Path, typer.Option(help="Output folder of the models and the report.")],
    recipes: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="RECIPE…",
            help="Recipes to compare: shipped names, .toml files or model folders.",
        ),
    ] = None,
    ladder: Annotated[
        bool,
        typer.Option("--ladder", help="Ladder: 13 models, from no attention to a Transformer."),
    ] = False,
    rungs: Annotated[
        str, typer.Option(help="Rungs of the ladder to train, as a,b.", show_default="all")
    ] = "",
    quick: Annotated[
        bool,
        typer.Option("--quick", help="Quick preset: small models, short sentences, for a CPU."),
    ] = False,
    data: Annotated[str, option(Data, "synthetic", "--data")] = "",
    source: Source = "",
    target: Target = "",
    columns: Columns = "",
    header: Header = "",
    delimiter: Delimiter = "",
    test_source: Annotated[
        Path | None, typer.Option(help="Test set, source side; else pairs are held out.")
    ] = None,
    test_target: Annotated[
        Path | None, typer.Option(help="Test set, target side.", show_default="none, for a table")
    ] = None,
    gold_alignment: Annotated[
        Path | None,
        typer.Option(
            show_default="none",
            help="Gold word alignments (0-0 1?2, a line each): adds the error rate.",
        ),
    ] = None,
    budget: Annotated[
        str,
        typer.Option(
            help="Training budget of each model: steps, or a time as 90s, 10m, 1h.",
            show_default="the preset's",
        ),
    ] = "",
    parameters: Annotated[
        str,
        typer.Option(
            help="Size of each model in parameters, as 2M.",
            show_default="the preset's, else that of the smallest",
        ),
    ] = "",
    jobs: Annotated[
        int, typer.Option(min=1, help="Parallel processes, each training one model.")
    ] = 1,
    overrides: Overrides = None,
    device: Device = "auto",
    threads: Threads = 0,
    seed: Seed = None,
    quiet: Quiet = False,
) -> None:
    """Train and test recipes under one budget, and report.

    All get the same pairs, vocabularies, number of parameters and training. The same command
    resumes an interrupted comparison.

    Example: dhyan compare --ladder --quick --data primer --out ladder
    """
    from dhyan.compare.budget import parse_budget, parse_count
    from dhyan.compare.evaluate import read_result
    from dhyan.compare.plan import PlanRequest, make_plan
    from dhyan.compare.test_sets import EvaluationOptions

    log_to_stderr(quiet=quiet)
    preset = _preset(ladder=ladder, quick=quick)
    allowed = parse_budget(budget or preset.budget)
    table = table_settings(columns, header, delimiter)
    options = {
        "data.synthetic": data or ("primer" if ladder and not source else ""),
        "data.source": source,
        "data.target": target,
        "data.columns": list(table.columns),
        "data.header": header,
        "data.delimiter": delimiter,
        "training.seed": seed,
    }
    chosen = _candidates(
        recipes or [], _rungs(rungs, ladder=ladder), preset, allowed, overrides, options
    )
    tests = EvaluationOptions(
        source=str(test_source or ""),
        target=str(test_target or ""),
        gold=str(gold_alignment or ""),
        columns=table.columns,
        header=table.header,
        delimiter=table.delimiter,
        quick=quick,
    )
    size = parse_count(parameters or preset.parameters)
    plan = make_plan(PlanRequest(tuple(chosen), allowed, size, tests), out)
    unfinished = [entry for entry in plan.entries if not read_result(plan, entry)]
    if jobs > 1 and len(unfinished) > 1:
        _train_in_parallel(plan, unfinished, jobs, device, threads)
    else:
        for entry in unfinished:
            train_and_test(plan, entry, device=device, threads=threads, quiet=quiet)
    typer.echo(_write_report(plan, device=device, threads=threads))


def _preset(*, ladder: bool, quick: bool) -> "Preset":
    from dhyan.compare.ladder import FULL, PLAIN, QUICK

    return QUICK if quick else FULL if ladder else PLAIN


def _rungs(names: str, *, ladder: bool) -> "Sequence[Rung]":
    """The rungs of the ladder, or those named; none without it."""
    from dhyan.compare.ladder import LADDER

    chosen = [name.strip() for name in names.split(",") if name.strip()]
    if chosen and not ladder:
        raise UserError(f"--rungs {names}: needs --ladder")
    by_name = {rung.name: rung for rung in LADDER}
    for name in chosen:
        if name not in by_name:
            raise UserError(f"--rungs {name}: the ladder has {', '.join(by_name)}")
        if chosen.count(name) > 1:
            raise UserError(f"--rungs {names}: {name} is named twice; name each once")
    return [by_name[name] for name in chosen] or (LADDER if ladder else ())


def _candidates(
    recipes: Sequence[str],
    rungs: "Sequence[Rung]",
    preset: "Preset",
    budget: "Budget",
    overrides: Sequence[str] | None,
    options: dict[str, Any],
) -> "list[Candidate]":
    """The recipes named, then those of the ladder; options and `--set` override both."""
    from dhyan.compare.plan import Candidate, name_candidates

    usual = preset.shared_settings(budget, primer=options["data.synthetic"] == "primer")

    def configure(name: str, settings: Mapping[str, Any]) -> "Recipe":
        shared = [f"{key}={json.dumps(value)}" for key, value in {**usual, **settings}.items()]
        return override_recipe(name, [*shared, *(overrides or [])], options)

    candidates = name_candidates([(Path(name).stem, configure(name, {})) for name in recipes])
    for rung in rungs:
        ours = configure(rung.recipe, rung.settings_for(preset))
        candidates.append(Candidate(rung.name, ours, rung.about))
    if len(candidates) < 2 and rungs:
        name = candidates[0].name
        raise UserError(f"nothing to compare {name} with: name another rung, or a recipe")
    if len(candidates) < 2:
        raise UserError("nothing to compare: name two recipes or more, or add --ladder")
    names = [candidate.name for candidate in candidates]
    for name in names:
        if names.count(name) > 1:
            raise UserError(f"{name!r} is a rung of the ladder: give your recipe another name")
    return candidates


def compare_one(folder: Path, name: str, device: str, threads: int) -> None:
    """Train and test one model of a comparison, in a process that stops when its parent ends."""
    from dhyan.compare.plan import read_plan

    plan, parent = read_plan(folder), os.getppid()
    if plan is None:
        raise UserError(f"{folder}: no plan of a comparison here; start one with dhyan compare")

    def parent_ended() -> bool:
        return os.getppid() != parent

    log_to_stderr(quiet=False)
    train_and_test(
        plan, plan.entry(name), device=device, threads=threads, parent_ended=parent_ended
    )


def train_and_test(
    plan: "Plan",
    entry: "Entry",
    *,
    device: str,
    threads: int,
    quiet: bool = False,
    parent_ended: Callable[[], bool] = lambda: False,
) -> None:
    """Train a model to the end of its budget, resuming if it was interrupted, and test it."""
    from dhyan.compare.evaluate import evaluate_model
    from dhyan.compare.test_sets import read_tests
    from dhyan.compare.train import start_run

    logger.info(f"\n{entry.name}: {entry.about}")
    run = start_run(plan, entry, device=device, threads=threads)
    with stopped_by_signals(run.trainer) as received, _run_progress(run, quiet) as report:
        for event in run:
            report(event)
            if parent_ended() and not run.trainer.stop_reason:
                run.trainer.stop("the comparison was stopped")
    if received or parent_ended():
        logger.info("stopped, with a checkpoint; the same command resumes it")
        raise typer.Exit(EXIT_CODES[received[0]] if received else Exit.TERMINATED)
    logger.info(f"{entry.name}: testing")
    tests = read_tests(plan.folder)
    evaluate_model(
        plan,
        entry,
        tests,
        device=device,
        threads=threads,
        on_progress=ProgressLines(quiet=quiet).update,
    )


def _run_progress(
    run: "BudgetedRun", quiet: bool
) -> AbstractContextManager[Callable[["Event"], None]]:
    """The report of progress: by steps, or by time if that is the budget."""
    if run.seconds:
        return _time_lines(run)
    show = progress_bar if sys.stderr.isatty() and not quiet else plain_lines
    return show(cast("Run", run))


@contextmanager
def _time_lines(run: "BudgetedRun") -> Iterator[Callable[["Event"], None]]:
    """A line for every event but steps, and one with the time spent every few seconds."""
    from dhyan.training.events import Stepped

    last_report = monotonic()

    def report(event: "Event") -> None:
        nonlocal last_report
        if not isinstance(event, Stepped):
            for line in event_lines(event):
                logger.info(line)
        elif monotonic() - last_report >= REPORT_SECONDS:
            last_report = monotonic()
            spent = f"{format_duration(run.spent())} of {format_duration(run.seconds)}"
            logger.info(f"step {event.step:,}  {format_speed(event)}  {spent}")

    yield report


def _train_in_parallel(
    plan: "Plan",
    entries: "Sequence[Entry]",
    jobs: int,
    device: str,
    threads: int,
) -> None:
    """Train several models at once; on a CPU they share its cores."""
    from dhyan.compare.train import train_in_parallel

    plugins = sys.argv[1 : sys.argv.index("compare")]
    threads_each = threads or max(1, (os.cpu_count() or 1) // jobs)

    def arguments(entry: "Entry") -> list[str]:
        return [*plugins, COMPARE_ONE, str(plan.folder), entry.name, device, str(threads_each)]

    with sigterm_as_interrupt() as received:
        try:
            train_in_parallel(plan, entries, jobs, arguments)
        except KeyboardInterrupt:
            logger.info("stopped, with checkpoints; the same command resumes the comparison")
            raise typer.Exit(EXIT_CODES[received[0] if received else signal.SIGINT]) from None


def _write_report(plan: "Plan", *, device: str, threads: int) -> str:
    """Measure the speed of each model, write the report, and return where it is."""
    from dhyan.compare.evaluate import read_result
    from dhyan.compare.report import write_report
    from dhyan.compare.speed import measure_speed, read_speed
    from dhyan.compare.test_sets import read_tests

    tests, speeds = read_tests(plan.folder), {}
    for entry in plan.entries:
        speed = read_speed(plan, entry, device=device, threads=threads)
        if not speed:
            logger.info(f"{entry.name}: measuring its speed")
            speed = measure_speed(plan, entry, tests.main, device=device, threads=threads)
        speeds[entry.name] = speed
    page = write_report(
        plan,
        tests,
        {entry.name: read_result(plan, entry) or {} for entry in plan.entries},
        speeds,
        command=shlex.join(["dhyan", *sys.argv[1:]]),
        on_progress=throttled(logger.info),
    )
    return f"{page}  {len(plan.entries)} models; every number is in {page.with_suffix('.json')}"
