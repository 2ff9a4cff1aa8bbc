"""`dhyan translate`: as many lines out as come in."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any

import typer

from dhyan.cli.batch_translate import Job, flag, place_of
from dhyan.cli.exit_codes import Exit
from dhyan.cli.output import Style
from dhyan.cli.shared_options import (
    AsJson,
    Beam,
    Device,
    Model,
    Threads,
    any_lines,
    count_lines,
    glossary_in,
    in_chunks,
    lines_of,
    load_model,
    terms_in,
)
from dhyan.cli.warnings import Pace, warn
from dhyan.config.decoding import DecodingOptions
from dhyan.config.settings import settings_of
from dhyan.errors import UserError

LINES_AT_A_TIME = 512
DECODING_OPTIONS = (
    *("beam", "nbest", "length_penalty", "coverage_penalty", "min_length", "max_length"),
    *("no_repeat_ngram", "beam_groups", "diversity_penalty", "sample", "temperature"),
    *("top_k", "top_p", "seed"),
)


def help_of(option: str) -> str:
    """The help line of a decoding option, as it is declared."""
    return settings_of(DecodingOptions)[option].help_line()


def translate(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Sentences, one a line; else stdin.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="MODEL", help="One more to average with; may be repeated."),
    ] = None,
    beam: Beam = 0,
    nbest: Annotated[int, typer.Option(min=1, max=1000, help=help_of("nbest"))] = 1,
    length_penalty: Annotated[float | None, typer.Option(help=help_of("length_penalty"))] = None,
    coverage_penalty: Annotated[
        float | None, typer.Option(help=help_of("coverage_penalty"))
    ] = None,
    min_length: Annotated[int | None, typer.Option(min=0, help=help_of("min_length"))] = None,
    max_length: Annotated[int | None, typer.Option(min=0, help=help_of("max_length"))] = None,
    no_repeat_ngram: Annotated[
        int | None, typer.Option(min=0, help=help_of("no_repeat_ngram"))
    ] = None,
    beam_groups: Annotated[int | None, typer.Option(min=1, help=help_of("beam_groups"))] = None,
    diversity_penalty: Annotated[
        float | None, typer.Option(help=help_of("diversity_penalty"))
    ] = None,
    sample: Annotated[
        bool | None, typer.Option("--sample/--no-sample", help=help_of("sample"))
    ] = None,
    temperature: Annotated[float | None, typer.Option(help=help_of("temperature"))] = None,
    top_k: Annotated[int | None, typer.Option(help=help_of("top_k"))] = None,
    top_p: Annotated[float | None, typer.Option(help=help_of("top_p"))] = None,
    seed: Annotated[int | None, typer.Option(help=help_of("seed"))] = None,
    prefix: Annotated[str, typer.Option(help="Every translation begins with this.")] = "",
    prefixes: Annotated[
        Path | None, typer.Option(metavar="FILE", help="A prefix for each line; may be empty.")
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Source term, tab, term to be said.")
    ] = None,
    forbid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Terms not to be said, one a line.")
    ] = None,
    paragraphs: Annotated[
        bool, typer.Option("--paragraphs", help="Lines hold several sentences.")
    ] = False,
    align: Annotated[
        bool, typer.Option("--align", help="Add which word comes from which: 0-0 1-2.")
    ] = False,
    where: Annotated[str, typer.Option(help="Align by attentions whose name contains this.")] = "",
    words: Annotated[
        bool, typer.Option("--words", help="Add how sure the model is of each word.")
    ] = False,
    as_json: AsJson = False,
    plain: Annotated[
        bool, typer.Option("--plain", help="On a GPU: search step by step, in full precision.")
    ] = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Translate a file or stdin, line by line.

    With --nbest N, each line gives up to N lines: number, score and translation, tab-separated.
    What is left out is as the model's recipe says, in its section [decoding].

    Example: echo "how are you" | dhyan translate runs/bahdanau2015-small
    """
    style = Style(nbest=nbest, align=align, where=where, words=words, as_json=as_json)
    style.check(paragraphs=paragraphs)
    if (prefix or prefixes) and paragraphs or (prefix and prefixes):
        raise UserError("one of --prefix, --prefixes and --paragraphs: they do not go together")
    options = asked_for(locals())
    if prefixes:
        same_count(file, prefixes)
    talking = file is None and sys.stdin is not None and sys.stdin.isatty()
    watched = sys.stderr is not None and sys.stderr.isatty()
    lines = (lambda: count_lines(file)) if file else None
    files = {"glossary": glossary, "forbidden": forbid, "prefixes": prefixes}
    job = Job(
        name=str(file or "stdin"),
        style=style,
        options=options,
        paragraphs=paragraphs,
        files=files,
        beginnings=lines_of(prefixes) if prefixes else repeat(prefix) if prefix else None,
        pace=Pace(lines=lines, quiet=talking or not (file or watched)),
    )
    try:
        with as_typed(files):
            translator = load_model(model, device, threads, beside or ())
            translator = replace(translator, fast=translator.fast and not plain)
            translator.options.changed(**{name: options[name] for name in DECODING_OPTIONS})
            for chunk in in_chunks(any_lines(file), 1 if talking else LINES_AT_A_TIME):
                job.translate(translator, chunk)
    except KeyboardInterrupt:
        sys.stdout.flush()
        warn(f"stopped; {job.done:,} lines are written")
        raise typer.Exit(Exit.INTERRUPTED) from None
    job.warnings.sum_up()
    job.check_end()


def asked_for(given: Mapping[str, Any]) -> dict[str, Any]:
    """The options of the command that are a translator's, its terms read from their files."""
    glossary, forbid = given["glossary"], given["forbid"]
    return {
        **{name: given[name] for name in DECODING_OPTIONS},
        "beam": given["beam"] or None,
        "glossary": glossary_in(glossary) if glossary else None,
        "forbidden": terms_in(forbid) if forbid else (),
    }


def same_count(file: Path | None, prefixes: Path) -> None:
    """Refuse prefixes that cannot be read, are too few or too many, before all else."""
    found = sum(1 for _ in lines_of(prefixes))
    wanted = count_lines(file) if file else found
    if found != wanted:
        few = f"too few lines, {found:,} for {wanted:,}" if found < wanted else ""
        many = f"more lines than the {wanted:,} of {file}"
        raise UserError(f"{prefixes}: has {few or many}; give a prefix for each, empty for none")


@contextmanager
def as_typed(files: Mapping[str, Path | None]) -> Iterator[None]:
    """Faults of what was asked for name options as they are typed, and lines of files."""
    try:
        yield
    except UserError as fault:
        from dhyan.errors import UnsupportedOption

        if not isinstance(fault, UnsupportedOption):
            raise
        raise UserError(place_of(fault, files.get(fault.option)) + fault.spelled(flag)) from None
