"""`dhyan translate --shards`: every file of a folder, by many processes, resumable."""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from dhyan.cli.messages import REPORT_SECONDS, Exit, warn
from dhyan.config import DecodingChanges
from dhyan.errors import UnsupportedOption, UserError
from dhyan.training.progress_display import format_duration

if TYPE_CHECKING:
    from dhyan.batch_translation import Engine, Progress

NAMED_FAILURES = 5

Shards = Annotated[
    Path | None,
    typer.Option(
        metavar="FOLDER",
        show_default="none",
        help="Shards: translate every file of this folder, a sentence per line, plain or compressed; "
        "the same command continues an interrupted job.",
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        "--out",
        metavar="FOLDER",
        show_default="none",
        help="Output folder of --shards: a file for each, of the same name, and a manifest.",
    ),
]
EngineName = Annotated[
    str,
    typer.Option(
        "--engine",
        metavar="local|dask|ray",
        help="Engine of --shards: processes of this machine, Dask distributed, or Ray.",
    ),
]
Workers = Annotated[
    int,
    typer.Option(
        min=0, help="Worker processes of --shards; 0: one per GPU, without one per CPU core."
    ),
]
Address = Annotated[
    str,
    typer.Option(
        metavar="HOST:PORT",
        show_default="processes of this machine",
        help="Address of a Dask scheduler or a Ray cluster whose workers to use.",
    ),
]


@dataclass(frozen=True, kw_only=True)
class ShardOptions:
    """The options of the command that are about shards."""

    shards: Path | None
    out: Path | None
    engine: str
    workers: int
    address: str

    def check_unused(self) -> None:
        """Refuse them where no shards are translated."""
        given = {"--out": self.out, "--workers": self.workers, "--address": self.address}
        for option, value in {**given, "--engine": self.engine != "local"}.items():
            if value:
                raise UserError(f"{option}: is about a folder of many files; add --shards FOLDER")


def translate_shards(
    options: ShardOptions,
    model: str,
    changes: DecodingChanges,
    *,
    refused: Mapping[str, object],
    spell: Any,
    device: str,
    threads: int,
    **job_options: Any,
) -> None:
    """Translate the shards; `refused` are options that do not go with them."""
    from dhyan.batch_translation import make_job
    from dhyan.batch_translation import translate_shards as start

    for option, value in refused.items():
        if value:
            raise UserError(f"{option}: does not go with --shards; leave it out")
    if options.shards is None or options.out is None:
        raise UserError("--shards: needs a folder to write; add --out FOLDER")
    progress = None
    try:
        job = make_job(model, **job_options, **changes)
        report = _ProgressReport()
        for progress in start(
            options.shards,
            options.out,
            job,
            engine=cast("Engine", options.engine),
            workers=options.workers,
            address=options.address,
            device=device,
            threads=threads,
        ):
            report.update(progress)
    except UnsupportedOption as error:
        raise UserError(error.spelled(spell)) from None
    except KeyboardInterrupt:
        warn("stopped; the same command continues")
        raise typer.Exit(Exit.INTERRUPTED) from None
    if progress is not None:
        _finish(options.out, progress)


def _finish(out: Path, progress: "Progress") -> None:
    """Print what was translated; what was not is an error."""
    from dhyan.batch_translation import Ledger

    typer.echo(f"{out}  {progress.shards:,} shards, {progress.lines:,} lines")
    problems = Ledger.open(out).failures()
    more = len(problems) - NAMED_FAILURES
    lines = [*problems[:NAMED_FAILURES], *([f"… and {more:,} more"] if more > 0 else [])]
    if problems:
        raise UserError(
            f"{progress.failed:,} of {progress.all_shards:,} shards were not translated; mend them and "
            f"run the same command again: {'; '.join(lines)}"
        )
    if progress.left_empty:
        count = f"{progress.left_empty:,} of {progress.lines:,} lines"
        raise UserError(
            f"{count} could not be translated and were left empty; {out}/.ledger/records says which"
        )


class _ProgressReport:
    """The count of shards and lines, throughput and time left: one line that changes, or several."""

    def __init__(self) -> None:
        self._live = sys.stderr is not None and sys.stderr.isatty()
        self._last = monotonic()

    def update(self, progress: "Progress") -> None:
        """Show the progress, unless it was shown a moment ago."""
        now = monotonic()
        if self._live:
            end = "\n" if progress.shards + progress.failed == progress.all_shards else ""
            print(f"\r\x1b[2K{describe(progress)}", end=end, file=sys.stderr, flush=True)
        elif now - self._last >= REPORT_SECONDS:
            self._last = now
            warn(describe(progress))


def describe(progress: "Progress") -> str:
    """The progress in one line."""
    failed = f", {progress.failed:,} failed" if progress.failed else ""
    shards = f"{progress.shards:,}/{progress.all_shards:,} shards{failed}"
    left = progress.seconds_left
    remaining = "" if left is None else f"  {format_duration(left)} left"
    speed = f"{progress.lines_per_second:,.0f} lines/s"
    return f"{shards}  {progress.lines:,} lines  {speed}{remaining}"
