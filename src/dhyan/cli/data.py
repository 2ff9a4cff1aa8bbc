"""`dhyan data`: look at a corpus before training on it, and prepare a large one."""

import logging
import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from dhyan.cli.exit_codes import Exit
from dhyan.cli.interrupts import interruptible
from dhyan.cli.recipe_options import (
    AllowLeakage,
    InitFrom,
    InitVocabulary,
    TestSource,
    TestTarget,
    chosen_recipe,
)
from dhyan.cli.shared_options import AsJson, Columns, two_columns
from dhyan.cli.warnings import log_to_stderr
from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.data.leakage import Lookout

logger = logging.getLogger(__name__)

TRAINED = (("source", "train.en"), ("target", "train.hi"))

app = typer.Typer(
    help="Look at a corpus, or prepare it.", no_args_is_help=True, rich_markup_mode=None
)


@app.callback()
def group() -> None:
    """Look at a corpus before training on it, or prepare it."""


@app.command()
@interruptible()
def check(
    source: Annotated[
        Path, typer.Argument(metavar="SRC", help="Sentences, or a .tsv/.csv/.jsonl.")
    ],
    target: Annotated[
        Path | None, typer.Argument(metavar="TGT", help="Their translations.")
    ] = None,
    test_source: Annotated[
        Path | None, typer.Option(help="A test whose sentences are looked for in the corpus.")
    ] = None,
    test_target: Annotated[Path | None, typer.Option(help="Their translations.")] = None,
    columns: Columns = "",
    as_json: AsJson = False,
) -> None:
    """Name every fault of a corpus, and describe it: lengths, duplicates, unknown words, leaks.

    The exit code is 2 if training would refuse it.

    Example: dhyan data check train.en train.hi
    """
    from dhyan.cli.data_report import described, facts, told
    from dhyan.data.corpus_statistics import survey
    from dhyan.data.pairs import Tally
    from dhyan.data.read_pairs import read_pairs
    from dhyan.data.read_text import said
    from dhyan.text.languages import language_of

    tally, named = Tally(tolerant=True), two_columns(columns)
    lookout = _lookout(test_source, test_target, named)
    ends = tuple(f"_.{name}" for name in named or ()) or (str(source), str(target or ""))
    languages = language_of(ends[0]), language_of(ends[1])
    pairs = read_pairs(source, target, columns=named, tally=tally)
    if test_source:
        pairs = lookout.passing(pairs, said(source))
    found = survey(pairs, tally, languages=languages)
    if not found.pairs:
        raise UserError(tally.faults[0])
    leaks = lookout.leaks()
    if as_json:
        typer.echo(facts(found, leaks if test_source else None))
    else:
        for line in (*described(found), *(told(leaks) if test_source else ())):
            typer.echo(line)
    if tally.faulty or leaks.telling:
        raise typer.Exit(Exit.MISTAKE)


def _lookout(
    source: Path | None, target: Path | None, columns: tuple[str, str] | None
) -> "Lookout":
    """One that looks for the sentences of a test, if there is one."""
    from dhyan.data.leakage import Lookout
    from dhyan.data.read_pairs import read_pairs
    from dhyan.data.read_text import TABLES, kind_of, said

    lookout = Lookout()
    if target and not source:
        raise UserError(f"{target}: has no source side; add --test-source FILE")
    if source:
        named = columns if kind_of(source) in TABLES else None
        lookout.expect(read_pairs(source, target, columns=named), said(source))
    return lookout


@app.command()
@interruptible()
def prepare(
    recipe: Annotated[str, typer.Argument(metavar="RECIPE", help="As for dhyan train.")],
    out: Annotated[Path, typer.Option(help="The folder to write; it must not be in use.")],
    source: Annotated[str, typer.Option(help="Sentences, or one .tsv/.csv/.jsonl.")] = "",
    target: Annotated[str, typer.Option(help="Their translations, line by line.")] = "",
    valid_source: Annotated[str, typer.Option(help="Sentences to validate on.")] = "",
    valid_target: Annotated[str, typer.Option(help="Their translations.")] = "",
    test_source: TestSource = "",
    test_target: TestTarget = "",
    allow_leakage: AllowLeakage = False,
    columns: Columns = "",
    settings: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="Any key of the recipe; repeatable."),
    ] = None,
    init_from: InitFrom = "",
    init_vocabulary: InitVocabulary = "",
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the result.")] = False,
) -> None:
    """Encode a corpus once, into files that training maps, however large they are.

    Example: dhyan data prepare transformer2017-small --source a.en --target a.hi --out prepared
    """
    given = {
        "data.source": source,
        "data.target": target,
        "data.valid_source": valid_source,
        "data.valid_target": valid_target,
        "data.test_source": test_source,
        "data.test_target": test_target,
        "data.allow_leakage": allow_leakage,
        "data.columns": list(two_columns(columns) or ()),
        "training.init_from": init_from,
        "training.init_vocabulary": init_vocabulary,
    }
    chosen = chosen_recipe(recipe, settings, given)

    from dhyan.data.prepare import prepare as start
    from dhyan.run.fine_tune import first_tokenizers

    log_to_stderr(quiet=quiet)
    done = start(chosen, out, choose=first_tokenizers)
    typer.echo(f"{out}  {done.training:,} pairs, {done.validation:,} to validate on")
    begun = _beginning(chosen.training.init_from, chosen.training.init_vocabulary)
    name, ready = shlex.quote(recipe), shlex.quote(str(out))
    logger.info(f"next: dhyan train {name} --set data.prepared={ready}{begun}")


@app.command()
@interruptible()
def primer(
    out: Annotated[Path, typer.Option(help="The folder to write; it must not be there yet.")],
    pairs: Annotated[int, typer.Option(min=1, help="How many pairs to train on.")] = 100_000,
    tests: Annotated[int, typer.Option(min=1, help="How many pairs each test has.")] = 1000,
    shortest: Annotated[int, typer.Option(min=2, help="Fewest English words.")] = 2,
    longest: Annotated[int, typer.Option(min=10, help="Most English words.")] = 60,
    seed: Annotated[int, typer.Option(min=0, help="Another seed, other sentences.")] = 1,
    quiet: Annotated[bool, typer.Option("--quiet", help="Print only the result.")] = False,
) -> None:
    """Write the primer: English–Hindi pairs made by a grammar, with exact word alignments.

    Example: dhyan data primer --pairs 20000 --longest 15 --out primer
    """
    from dhyan.data.primer.write_files import write_primer

    log_to_stderr(quiet=quiet)
    counts = write_primer(
        out, pairs=pairs, tests=tests, seed=seed, shortest=shortest, longest=longest
    )
    tested = sum(counts.values()) - counts["train"]
    typer.echo(f"{out}  {counts['train']:,} pairs to train on, {tested:,} to validate and test")
    files = " ".join(f"--{side} {shlex.quote(str(out / name))}" for side, name in TRAINED)
    logger.info(f"next: dhyan train bahdanau2015-small {files}")


def _beginning(init: str, vocabulary: str) -> str:
    """How a run takes up the vocabularies that were prepared for it."""
    if not init:
        return ""
    return f" --init-from {shlex.quote(init)}{'' if vocabulary == 'keep' else ' --init-vocabulary new'}"
