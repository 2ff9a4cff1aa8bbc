"""`dhyan evaluate`: score translations, of one system or of several."""

import logging
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.evaluation_table import results_json, results_table
from dhyan.cli.messages import ProgressLines, log_to_stderr
from dhyan.cli.options import (
    AsJson,
    Beam,
    Columns,
    Device,
    Threads,
    check_models,
    load_model,
    option,
    split_columns,
)
from dhyan.cli.progress import interruptible, throttled
from dhyan.config import Data
from dhyan.errors import UserError

if TYPE_CHECKING:
    from collections import Counter

    from dhyan.run.evaluate import SystemOutput

logger = logging.getLogger(__name__)

SEED = 12345  # sacreBLEU's own


class SignificanceTest(StrEnum):
    """How the difference of two systems is tested."""

    bootstrap = "bootstrap"
    randomisation = "randomisation"


Systems = Annotated[
    list[Path],
    typer.Argument(
        metavar="SYSTEM",
        help="Run folders, or text files of finished translations; the first is the baseline.",
    ),
]
Metrics = Annotated[str, typer.Option(help="Metrics: bleu, chrf, ter; the last is slow.")]
Resamples = Annotated[
    int, typer.Option(min=0, help="Bootstrap resamples for confidence intervals; 0 for none.")
]
Paired = Annotated[
    SignificanceTest | None,
    typer.Option(help="Significance test against the first system.", show_default="bootstrap"),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Random seed of the resampling.", show_default=str(SEED))
]
TrainSource = Annotated[
    Path | None, typer.Option(help="Training text, source side: adds scores by word frequency.")
]
Gold = Annotated[
    Path | None,
    typer.Option(help="Gold word alignments, as 0-0 1?2: adds the alignment error rate."),
]
AttentionStatistics = Annotated[
    bool, typer.Option("--attention-statistics", help="Add entropy and coverage of attention.")
]

OUT_OF_ORDER = (
    "shares no more words with its references than with the lines beside them; see that line N "
    "translates line N"
)


@interruptible()
def evaluate(
    systems: Systems,
    source: Annotated[Path, option(Data, "source")],
    target: Annotated[Path | None, typer.Option(help="References, line by line.")] = None,
    columns: Columns = "",
    beam: Beam = None,
    language: Annotated[
        str, typer.Option(help="Target language code.", show_default="the recipe's")
    ] = "",
    metrics: Metrics = "bleu,chrf,ter",
    bootstrap: Resamples = 1000,
    test: Paired = None,
    seed: Seed = None,
    train_source: TrainSource = None,
    gold_alignment: Gold = None,
    attention_statistics: AttentionStatistics = False,
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Score translations with sacreBLEU: one system, or several against the first.

    Example: dhyan evaluate runs/bahdanau2015-small --source test.en --target test.hi
    """
    log_to_stderr(quiet=False)
    _check_exist(systems)
    check_models(*(path for path in systems if path.is_dir()))
    from dhyan.data.pairs import ReadReport
    from dhyan.evaluation.metrics import check_metrics
    from dhyan.evaluation.significance import Resampling
    from dhyan.run.evaluate import (
        is_out_of_order,
        read_test_set,
        read_translations,
        score_systems,
        translate_test_set,
    )
    from dhyan.text.languages import language_of, parse_language

    named_language, chosen = parse_language(language), check_metrics(metrics.split(","))
    _check_options(systems, beam, bootstrap, test, seed)
    report, method = ReadReport(), test or SignificanceTest.bootstrap
    resampling = Resampling(bootstrap, SEED if seed is None else seed, method.value)
    reference_set = read_test_set(
        source, target, columns=split_columns(columns), gold=gold_alignment, report=report
    )
    _check_models_only(systems, attention=attention_statistics, gold=gold_alignment is not None)
    resampling.check(len(reference_set.pairs))
    training_counts = _frequencies(train_source, reference_set.sources)
    from_files = {
        path: read_translations(path, reference_set) for path in systems if path.is_file()
    }
    outputs = []
    for path in systems:
        if path in from_files:
            outputs.append(from_files[path])
            continue
        translator = load_model(path, device, threads)
        progress = ProgressLines(lines=lambda: len(reference_set.pairs))
        outputs.append(
            translate_test_set(
                translator,
                str(path),
                reference_set,
                beam=beam or 0,
                attention=attention_statistics,
                on_progress=progress.update,
            )
        )
    results = score_systems(
        outputs,
        reference_set,
        language=named_language or _language(outputs) or language_of(str(target or "")),
        metrics=chosen,
        resampling=resampling,
        training_counts=training_counts,
        on_progress=throttled(logger.info),
    )
    for line in report.lines():
        print(line, file=sys.stderr)
    for system in from_files.values():
        if is_out_of_order(system, reference_set):
            print(f"{system.name}: {OUT_OF_ORDER}", file=sys.stderr)
    typer.echo((results_json if as_json else results_table)(results, resampling))


def _check_exist(systems: Iterable[Path]) -> None:
    """Raise an error for a path that is neither a folder nor a file."""
    from dhyan.data.read_text import file_error, suggest_path

    for path in systems:
        if not path.exists():
            reason = "neither a model folder nor a file of translations"
            raise file_error(path, 0, f"{reason}; {suggest_path(path)}")


def _check_options(
    systems: Iterable[Path],
    beam: int | None,
    bootstrap: int,
    test: SignificanceTest | None,
    seed: int | None,
) -> None:
    """Raise an error for an option that would have no effect."""
    if beam and all(path.is_file() for path in systems):
        raise UserError(
            "--beam is for models, and only files of translations are named; leave it out"
        )
    for flag, value in (("--test", test), ("--seed", seed)):
        if value is not None and not bootstrap:
            raise UserError(f"{flag} has no effect with --bootstrap 0; leave one out")


def _check_models_only(systems: Iterable[Path], *, attention: bool, gold: bool) -> None:
    """Raise an error for a file of translations where attention is needed."""
    flag = "--attention-statistics" if attention else "--gold-alignment" if gold else ""
    for path in systems:
        if flag and path.is_file():
            raise UserError(f"{path}: a file of translations has no attention; leave out {flag}")


def _frequencies(file: Path | None, sentences: list[str]) -> "Counter[str] | None":
    """How often each word of the sentences occurs in a training text."""
    from dhyan.data.read_text import TABLE_SUFFIXES, file_error, format_suffix, read_lines
    from dhyan.evaluation.slices import frequencies

    if file is None:
        return None
    if format_suffix(file) in TABLE_SUFFIXES:
        raise file_error(file, 0, "is a table; give the source side alone, one sentence a line")
    return frequencies(read_lines(file), sentences)


def _language(systems: "Iterable[SystemOutput]") -> str:
    """The target language of the models, which must agree on it."""
    languages = {system.language: system.name for system in systems if system.language}
    if len(languages) > 1:
        (language, first), (other, second), *_ = languages.items()
        both = f"{first} translates into {language!r}, {second} into {other!r}"
        raise UserError(f"{both}: compare systems of one language, or name it with --language")
    return next(iter(languages), "")
