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
from dhyan.cli.input_lines import (
    count_lines,
    in_chunks,
    read_glossary,
    read_input,
    read_lines,
    read_terms,
)
from dhyan.cli.options import (
    AsJson,
    Beam,
    Device,
    Model,
    Threads,
    load_model,
    option,
    recipe_option,
)
from dhyan.cli.output import Style
from dhyan.cli.warnings import Pace, warn
from dhyan.config import DecodingOptions
from dhyan.errors import UserError

LINES_AT_A_TIME = 512
DECODING_OPTIONS = (
    *("beam", "nbest", "length_penalty", "coverage_penalty", "min_length", "max_length"),
    *("no_repeat_ngram", "beam_groups", "diversity_penalty", "sample", "temperature"),
    *("top_k", "top_p", "seed"),
)


def translate(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Sentences, one per line; else stdin.")
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option("--with", metavar="MODEL", help="Further model of an ensemble; repeatable."),
    ] = None,
    beam: Beam = None,
    nbest: Annotated[int, option(DecodingOptions, "nbest")] = 1,
    length_penalty: Annotated[
        float | None, recipe_option(DecodingOptions, "length_penalty")
    ] = None,
    coverage_penalty: Annotated[
        float | None, recipe_option(DecodingOptions, "coverage_penalty")
    ] = None,
    min_length: Annotated[int | None, recipe_option(DecodingOptions, "min_length")] = None,
    max_length: Annotated[int | None, recipe_option(DecodingOptions, "max_length")] = None,
    no_repeat_ngram: Annotated[
        int | None, recipe_option(DecodingOptions, "no_repeat_ngram")
    ] = None,
    beam_groups: Annotated[int | None, recipe_option(DecodingOptions, "beam_groups")] = None,
    diversity_penalty: Annotated[
        float | None, recipe_option(DecodingOptions, "diversity_penalty")
    ] = None,
    sample: Annotated[
        bool | None, recipe_option(DecodingOptions, "sample", "--sample/--no-sample")
    ] = None,
    temperature: Annotated[float | None, recipe_option(DecodingOptions, "temperature")] = None,
    top_k: Annotated[int | None, recipe_option(DecodingOptions, "top_k")] = None,
    top_p: Annotated[float | None, recipe_option(DecodingOptions, "top_p")] = None,
    seed: Annotated[int | None, recipe_option(DecodingOptions, "seed")] = None,
    prefix: Annotated[str, typer.Option(help="Prefix of every translation.")] = "",
    prefixes: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Prefix of each line's translation, or empty."),
    ] = None,
    glossary: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Glossary: TSV of source and target term.")
    ] = None,
    forbid: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Forbidden target terms, one per line.")
    ] = None,
    paragraphs: Annotated[
        bool, typer.Option("--paragraphs", help="Split each line into sentences.")
    ] = False,
    align: Annotated[
        bool, typer.Option("--align", help="Add word alignments by attention, as 0-0 1-2.")
    ] = False,
    where: Annotated[
        str,
        typer.Option(
            help="With --align: attention maps whose name contains this.",
            show_default="the last cross-attention",
        ),
    ] = "",
    words: Annotated[
        bool, typer.Option("--words", help="Add the probability of each word.")
    ] = False,
    as_json: AsJson = False,
    plain: Annotated[
        bool,
        typer.Option(
            "--plain", help="On a GPU: plain search in full precision, without the engine."
        ),
    ] = False,
    device: Device = "auto",
    threads: Threads = 0,
) -> None:
    """Translate a file or stdin, line by line.

    With --nbest N, each line gives up to N lines: number, score and translation, tab-separated.
    The defaults of the search are those of the recipe's section [decoding].

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
        beginnings=read_lines(prefixes) if prefixes else repeat(prefix) if prefix else None,
        pace=Pace(lines=lines, quiet=talking or not (file or watched)),
    )
    try:
        with as_typed(files):
            translator = load_model(model, device, threads, beside or ())
            translator = replace(translator, fast=translator.fast and not plain)
            translator.options.changed(**{name: options[name] for name in DECODING_OPTIONS})
            for chunk in in_chunks(read_input(file), 1 if talking else LINES_AT_A_TIME):
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
        "glossary": read_glossary(glossary) if glossary else None,
        "forbidden": read_terms(forbid) if forbid else (),
    }


def same_count(file: Path | None, prefixes: Path) -> None:
    """Refuse prefixes that cannot be read, are too few or too many, before all else."""
    found = sum(1 for _ in read_lines(prefixes))
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
