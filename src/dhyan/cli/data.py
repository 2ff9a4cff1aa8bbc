"""`dhyan data`: check a corpus, encode it before training, or generate an English–Hindi corpus."""

import json
import logging
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, get_args

import typer

from dhyan.cli.messages import Exit, log_to_stderr
from dhyan.cli.options import (
    AsJson,
    Columns,
    Dedupe,
    Delimiter,
    Header,
    InitFrom,
    InitVocabulary,
    Overrides,
    Quiet,
    TestSource,
    TestTarget,
    Unescape,
    split_columns,
    with_data_options,
)
from dhyan.cli.progress import interruptible
from dhyan.cli.recipe import override_recipe
from dhyan.config import Data
from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.data.corpus_statistics import CorpusStatistics, LengthStatistics
    from dhyan.data.leakage import LeakageDetector, LeakageReport
    from dhyan.data.read_report import Occurrences

logger = logging.getLogger(__name__)

MIN_PAIRS_FOR_UNKNOWN_RATE = 10
TRAINING_FILES = (("source", "train.en"), ("target", "train.hi"))

app = typer.Typer(
    help="Check a corpus, prepare it for training, or write the primer.",
    no_args_is_help=True,
    rich_markup_mode=None,
)


@app.callback()
def group() -> None:
    """Check a corpus, prepare it for training, or write the primer."""


@app.command()
@interruptible()
def check(
    source: Annotated[
        Path,
        typer.Argument(metavar="SOURCE", help="Source sentences, or a .tsv, .csv, .jsonl or .tmx."),
    ],
    target: Annotated[
        Path | None, typer.Argument(metavar="TARGET", help="Target sentences, line by line.")
    ] = None,
    test_source: TestSource = "",
    test_target: TestTarget = "",
    columns: Columns = "",
    header: Header = "",
    delimiter: Delimiter = "",
    unescape: Unescape = False,
    dedupe: Dedupe = False,
    as_json: AsJson = False,
) -> None:
    """Check a corpus: errors, lengths, duplicates, leakage.

    Also HTML entities, invisible characters and unknown words.

    The exit code is 2 if training would refuse the corpus.

    Example: dhyan data check train.en train.hi
    """
    from dhyan.config.declare_settings import parse_section
    from dhyan.data.corpus_files import check_columns, named_languages, training_files
    from dhyan.data.corpus_statistics import corpus_statistics
    from dhyan.data.read_report import ReadReport
    from dhyan.data.text_lines import printable

    settings = {
        "source": str(source),
        "target": str(target or ""),
        "test_source": test_source,
        "test_target": test_target,
        "columns": list(split_columns(columns) or ()),
        "header": header or "auto",
        "delimiter": delimiter,
        "unescape": unescape,
        "dedupe": dedupe,
    }
    data, report = parse_section(Data, settings, "data"), ReadReport(tolerant=True)
    check_columns(data)
    detector = _leakage_detector(data)
    pairs = training_files(data).read(report)
    if test_source:
        pairs = detector.scan_while_reading(pairs, printable(source), printable(target or ""))
    statistics = corpus_statistics(pairs, report, languages=named_languages(data))
    if not statistics.pairs:
        raise UserError(report.errors[0])
    leakage = detector.report()
    if as_json:
        typer.echo(_report_json(statistics, leakage if test_source else None))
    else:
        lines = _leakage_lines(leakage) if test_source else ()
        for line in (*_report_lines(statistics), *lines):
            typer.echo(line)
    if report.error_count or leakage.significant:
        raise typer.Exit(Exit.USER_ERROR)


def _leakage_detector(data: Data) -> "LeakageDetector":
    """A detector of the sentences of a test set, if one is named."""
    from dhyan.data.corpus_files import test_files
    from dhyan.data.leakage import LeakageDetector
    from dhyan.data.read_report import ReadReport
    from dhyan.data.text_lines import printable

    detector = LeakageDetector()
    if data.test_target and not data.test_source:
        raise UserError(f"{data.test_target}: has no source side; add --test-source FILE")
    if files := test_files(data):
        names = printable(files.source), printable(files.target)
        detector.add_test(files.read(ReadReport()), *names)
    return detector


def _report_lines(statistics: "CorpusStatistics") -> Iterator[str]:
    """Errors and dropped pairs, lengths, and suspicious pairs."""
    yield from statistics.report.lines()
    if statistics.scripts.swapped:
        yield "source and target seem to be swapped: each is in the script of the other"
    yield f"\n{'words':<8} {'fewest':>7} {'median':>7} {'mean':>7} {'95 %':>7} {'most':>7}"
    yield _length_row("source", statistics.source)
    yield _length_row("target", statistics.target)
    yield ""
    counts = {
        "duplicate pairs": statistics.duplicates,
        "copies (target = source)": statistics.copies,
        "unequal (over 3 times as long)": statistics.unequal,
        **{name: where for name, where in statistics.invisible.items() if where.count},
        **({"HTML entities": statistics.entities} if statistics.entities.count else {}),
    }
    scripts = {"source": statistics.scripts.source, "target": statistics.scripts.target}
    for side, where in statistics.wrong_script.items():
        if where.count and (script := scripts[side]):
            counts[f"{side}s without {script.name}"] = where
    for name, where in counts.items():
        yield f"{name:<32} {where.count:>7,}  {where}".rstrip()
    yield f"{'sources with several targets':<32} {statistics.ambiguous:>7,}"
    if statistics.pairs >= MIN_PAIRS_FOR_UNKNOWN_RATE:
        rates = f"{statistics.unknown_source:.1%} source, {statistics.unknown_target:.1%} target"
        yield f"unknown words: {rates} (of every tenth pair, not in the others)"
    advice = {
        "--unescape replaces the HTML entities": statistics.entities,
        "--dedupe drops the duplicate pairs": statistics.duplicates,
    }
    if options := ", ".join(option for option, where in advice.items() if where.count):
        yield f"options of dhyan train, data prepare and data check: {options}"


def _leakage_lines(report: "LeakageReport") -> Iterator[str]:
    """How much of a test set occurs in the corpus, by source, by target and as pairs."""
    from dhyan.data.leakage import MATCH_KINDS, MatchSide

    yield f"\n{'test in the corpus':<18} {'exact':>7} {'folded':>7} {'near':>7}"
    for side in get_args(MatchSide):
        counts = " ".join(f"{report.count(side, kind):>7,}" for kind in MATCH_KINDS)
        yield f"{side + 's':<18} {counts}  {report.occurrences(side)}".rstrip()
    if report.all:
        by_chance = ": short sentences, as expected by chance"
        remedy = "; dhyan train and data prepare leave them out with --drop-leaks"
        yield f"{report}{remedy if report.significant else by_chance}"


def _report_json(statistics: "CorpusStatistics", leakage: "LeakageReport | None") -> str:
    """The same report as JSON."""
    from dhyan.data.leakage import MATCH_KINDS, MatchSide

    report = statistics.report
    fields: dict[str, Any] = {
        "pairs": statistics.pairs,
        "fingerprint": report.fingerprint,
        "errors": {"count": report.error_count, "first": report.errors},
        "notes": report.notes,
        "dropped": _as_dicts(report.dropped),
        "words": {"source": asdict(statistics.source), "target": asdict(statistics.target)},
        "unknown": {"source": statistics.unknown_source, "target": statistics.unknown_target},
        "duplicates": asdict(statistics.duplicates),
        "copies": asdict(statistics.copies),
        "unequal": asdict(statistics.unequal),
        "ambiguous": statistics.ambiguous,
        "invisible_characters": _as_dicts(statistics.invisible),
        "html_entities": asdict(statistics.entities),
        "unescaped": asdict(report.unescaped),
        "wrong_script": _as_dicts(statistics.wrong_script),
        "swapped": statistics.scripts.swapped,
    }
    if leakage is not None:
        fields["leakage"] = {
            side: {kind: leakage.count(side, kind) for kind in MATCH_KINDS}
            for side in get_args(MatchSide)
        }
        fields["refused_for_leakage"] = leakage.significant
    return json.dumps(fields, ensure_ascii=False, indent=2)


def _as_dicts(occurrences: "Mapping[Any, Occurrences]") -> dict[str, Any]:
    return {str(name): asdict(where) for name, where in occurrences.items()}


def _length_row(name: str, lengths: "LengthStatistics") -> str:
    return (
        f"{name:<8} {lengths.shortest:>7} {lengths.median:>7.0f} {lengths.mean:>7.1f} "
        f"{lengths.percentile_95:>7.0f} {lengths.longest:>7}"
    )


@app.command()
@interruptible()
@with_data_options
def prepare(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="Recipe, as for dhyan train.")],
    out: Annotated[Path, typer.Option(help="Output folder; new, or an interrupted one.")],
    *,
    data: dict[str, Any],
    overrides: Overrides = None,
    init_from: InitFrom = "",
    init_vocabulary: InitVocabulary = "",
    workers: Annotated[
        int, typer.Option(min=0, help="Processes that encode a large corpus; 0: one per core.")
    ] = 0,
    quiet: Quiet = False,
) -> None:
    """Tokenize a corpus into files, if it is larger than memory.

    The files are memory-mapped shards. The same command continues an interrupted one.

    Example: dhyan data prepare transformer2017-small --source a.en --target a.hi --out prepared
    """
    options = {
        **data,
        "training.init_from": init_from,
        "training.init_vocabulary": init_vocabulary,
    }
    chosen = override_recipe(recipe, overrides, options)

    from dhyan.data.prepare import prepare as start
    from dhyan.run.fine_tune import first_codecs
    from dhyan.tasks import with_task

    log_to_stderr(quiet=quiet)
    counts = start(with_task(chosen), out, choose_codecs=first_codecs, workers=workers)
    typer.echo(f"{out}  {counts.training:,} pairs, {counts.validation:,} to validate on")
    init = _init_options(chosen.training.init_from, chosen.training.init_vocabulary)
    name, folder = shlex.quote(recipe), shlex.quote(str(out))
    logger.info(f"next: dhyan train {name} --set data.prepared={folder}{init}")


@app.command()
@interruptible()
def primer(
    out: Annotated[Path, typer.Option(help="Output folder; it must not exist.")],
    pairs: Annotated[
        int, typer.Option(min=1, help="Size of the training set, in pairs.")
    ] = 100_000,
    test_pairs: Annotated[int, typer.Option(min=1, help="Size of each test set, in pairs.")] = 1000,
    min_words: Annotated[
        int, typer.Option(min=2, help="Minimum length of a sentence, in English words.")
    ] = 2,
    max_words: Annotated[
        int, typer.Option(min=10, help="Maximum length of a sentence, in English words.")
    ] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Random seed of the sentences.")] = 1,
    quiet: Quiet = False,
) -> None:
    """Write the primer: English–Hindi pairs with word alignments.

    Example: dhyan data primer --pairs 20000 --max-words 15 --out primer
    """
    from dhyan.data.primer.splits import write_primer

    log_to_stderr(quiet=quiet)
    counts = write_primer(
        out, pairs=pairs, tests=test_pairs, seed=seed, min_words=min_words, max_words=max_words
    )
    held_out = sum(counts.values()) - counts["train"]
    typer.echo(f"{out}  {counts['train']:,} pairs to train on, {held_out:,} to validate and test")
    files = " ".join(f"--{side} {shlex.quote(str(out / name))}" for side, name in TRAINING_FILES)
    logger.info(f"next: dhyan train bahdanau2015-small {files}")


def _init_options(init_from: str, vocabulary: str) -> str:
    """The options of fine-tuning with the vocabularies that were prepared for it."""
    if not init_from:
        return ""
    learned = "" if vocabulary == "keep" else " --init-vocabulary new"
    return f" --init-from {shlex.quote(init_from)}{learned}"
