"""`dhyan evaluate`: what translations are worth, those of one system or of several."""

import logging
import sys
from collections.abc import Iterable
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.evaluation_table import as_json_text, as_table
from dhyan.cli.interrupts import interruptible, throttled
from dhyan.cli.shared_options import (
    AsJson,
    Beam,
    Columns,
    Device,
    Threads,
    check_models,
    load_model,
    two_columns,
)
from dhyan.cli.warnings import Pace, log_to_stderr
from dhyan.errors import UserError

if TYPE_CHECKING:
    from collections import Counter

    from dhyan.run.evaluate import System

logger = logging.getLogger(__name__)

SEED = 12345  # sacreBLEU's own


class Test(StrEnum):
    """How two systems are compared."""

    bootstrap = "bootstrap"
    randomisation = "randomisation"


Systems = Annotated[
    list[Path],
    typer.Argument(
        metavar="SYSTEM",
        help="Run folders, or text files of finished translations; the first is the baseline.",
    ),
]
Metrics = Annotated[str, typer.Option(help="Of bleu, chrf and ter; the last is slow.")]
Resamples = Annotated[int, typer.Option(min=0, help="How often to resample; 0 for never.")]
Paired = Annotated[
    Test | None,
    typer.Option(help="How systems are compared with the first.", show_default="bootstrap"),
]
Seed = Annotated[
    int | None, typer.Option(min=0, help="Of all that is drawn.", show_default=str(SEED))
]
TrainSource = Annotated[
    Path | None, typer.Option(help="Training sentences: adds scores by the rarest word.")
]
Gold = Annotated[
    Path | None, typer.Option(help="Links such as 0-0 1?2: adds the alignment error rate.")
]
Looks = Annotated[
    bool, typer.Option("--attention", help="Add the entropy and coverage of the attention.")
]

OUT_OF_ORDER = (
    "shares no more words with its references than with the lines beside them; see that line N "
    "translates line N"
)


@interruptible()
def evaluate(
    systems: Systems,
    source: Annotated[Path, typer.Option(help="Sentences, one a line; or one .tsv/.csv/.jsonl.")],
    target: Annotated[Path | None, typer.Option(help="Their translations, line by line.")] = None,
    columns: Columns = "",
    beam: Beam = 0,
    language: Annotated[str, typer.Option(help="Of the target; else the recipe's.")] = "",
    metrics: Metrics = "bleu,chrf,ter",
    bootstrap: Resamples = 1000,
    test: Paired = None,
    seed: Seed = None,
    train_source: TrainSource = None,
    gold_alignment: Gold = None,
    attention: Looks = False,
    as_json: AsJson = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Score translations with sacreBLEU: one system, or several against the first.

    Example: dhyan evaluate runs/bahdanau2015-small --source test.en --target test.hi
    """
    log_to_stderr(quiet=False)
    _check_there(systems)
    check_models(*(path for path in systems if path.is_dir()))
    from dhyan.data.pairs import Tally
    from dhyan.evaluation.metrics import check_metrics
    from dhyan.evaluation.significance import Resampling
    from dhyan.run.evaluate import answers, compare, disordered, examine, read_exam
    from dhyan.text.languages import known_language, language_of

    asked, wanted = known_language(language), check_metrics(metrics.split(","))
    _check_of_use(systems, beam, bootstrap, test, seed)
    how, drawn = test or Test.bootstrap, SEED if seed is None else seed
    resampling, tally = Resampling(bootstrap, drawn, how.value), Tally()
    exam = read_exam(source, target, columns=two_columns(columns), gold=gold_alignment, tally=tally)
    _only_models(systems, attention=attention, gold=gold_alignment is not None)
    resampling.check(len(exam.pairs))
    seen = _frequencies(train_source, exam.sources)
    finished = {path: answers(path, exam) for path in systems if path.is_file()}
    entered = []
    for path in systems:
        if path in finished:
            entered.append(finished[path])
        else:
            translator = load_model(path, device, threads)
            progress = Pace(lines=lambda: len(exam.pairs)).hear
            entered.append(
                examine(
                    translator,
                    str(path),
                    exam,
                    beam=beam,
                    attention=attention,
                    on_progress=progress,
                )
            )
    tongue = asked or _language(entered) or language_of(str(target or ""))
    results = compare(
        entered,
        exam,
        language=tongue,
        metrics=wanted,
        resampling=resampling,
        seen=seen,
        on_progress=throttled(logger.info),
    )
    doubts = [f"{one.name}: {OUT_OF_ORDER}" for one in finished.values() if disordered(one, exam)]
    for line in (*tally.lines(), *doubts):
        print(line, file=sys.stderr)
    typer.echo((as_json_text if as_json else as_table)(results, resampling))


def _check_there(systems: Iterable[Path]) -> None:
    """Refuse a path to nothing: a system may be a folder or a file."""
    from dhyan.data.read_text import fault, nearest

    for path in systems:
        if not path.exists():
            reason = "neither a model folder nor a file of translations"
            raise fault(path, 0, f"{reason}; {nearest(path)}")


def _check_of_use(
    systems: Iterable[Path], beam: int, bootstrap: int, test: Test | None, seed: int | None
) -> None:
    """Refuse options that would do nothing."""
    if beam and all(path.is_file() for path in systems):
        raise UserError(
            "--beam is for models, and only files of translations are named; leave it out"
        )
    for option, given in (("--test", test), ("--seed", seed)):
        if given is not None and not bootstrap:
            raise UserError(
                f"{option} is about what is drawn, and --bootstrap 0 draws nothing; leave one out"
            )


def _only_models(systems: Iterable[Path], *, attention: bool, gold: bool) -> None:
    """Refuse files of translations where a model is needed."""
    asked = "--attention" if attention else "--gold-alignment" if gold else ""
    for path in systems:
        if asked and path.is_file():
            raise UserError(f"{path}: a file of translations has no attention; leave out {asked}")


def _frequencies(file: Path | None, sentences: list[str]) -> "Counter[str] | None":
    """How often the words of the sentences come in a training text."""
    from dhyan.data.read_text import TABLES, fault, kind_of, text_lines
    from dhyan.evaluation.slices import frequencies

    if file is None:
        return None
    if kind_of(file) in TABLES:
        raise fault(file, 0, "is a table; give the source side alone, one sentence a line")
    return frequencies(text_lines(file), sentences)


def _language(systems: "Iterable[System]") -> str:
    """The target language of the models, which must agree on it."""
    known = {system.language: system.name for system in systems if system.language}
    if len(known) > 1:
        (one, first), (other, second), *_ = known.items()
        both = f"{first} translates into {one!r}, {second} into {other!r}"
        raise UserError(f"{both}: compare systems of one language, or name it with --language")
    return next(iter(known), "")
