"""`dhyan translate`: as many lines out as come in."""

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from itertools import repeat
from pathlib import Path
from typing import Annotated, Any

import typer

from dhyan.cli.batch_translate import TranslationJob, option_name, place_of
from dhyan.cli.exit_codes import Exit
from dhyan.cli.input_lines import (
    count_lines,
    in_chunks,
    read_glossary,
    read_input,
    read_lines,
    read_terms,
)
from dhyan.cli.messages import ProgressLines, warn
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
from dhyan.cli.output import OutputStyle
from dhyan.config import DecodingChanges, DecodingOptions
from dhyan.errors import UnsupportedOption, UserError

LINES_AT_A_TIME = 512


def translate(
    model: Model,
    file: Annotated[
        Path | None, typer.Argument(metavar="FILE", help="Sentences, one per line; else stdin.")
    ] = None,
    other_models: Annotated[
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
    attention: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="With --align: attention maps whose name contains this.",
            show_default="all cross-attentions",
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
    style = OutputStyle(nbest=nbest, align=align, attention=attention, words=words, as_json=as_json)
    style.check(paragraphs=paragraphs)
    if (prefix or prefixes) and paragraphs or (prefix and prefixes):
        raise UserError("one of --prefix, --prefixes and --paragraphs: they do not go together")
    changes: dict[str, Any] = {
        name: value for name, value in locals().items() if name in DecodingChanges.__annotations__
    }
    if prefixes:
        check_prefix_count(file, prefixes)
    interactive = file is None and sys.stdin is not None and sys.stdin.isatty()
    watched = sys.stderr is not None and sys.stderr.isatty()
    files = {"glossary": glossary, "forbidden": forbid, "prefixes": prefixes}
    job = TranslationJob(
        name=str(file or "stdin"),
        style=style,
        paragraphs=paragraphs,
        glossary=read_glossary(glossary) if glossary else None,
        forbidden=read_terms(forbid) if forbid else (),
        files=files,
        prefixes=read_lines(prefixes) if prefixes else repeat(prefix) if prefix else None,
        progress=ProgressLines(
            lines=(lambda: count_lines(file)) if file else None,
            quiet=interactive or not (file or watched),
        ),
    )
    try:
        with command_line_names(files):
            translator = load_model(model, device, threads, other_models or ())
            translator = replace(translator, fast=translator.fast and not plain)
            options = translator.options.changed(**changes)
            for chunk in in_chunks(read_input(file), 1 if interactive else LINES_AT_A_TIME):
                job.translate(translator, options, chunk)
    except KeyboardInterrupt:
        sys.stdout.flush()
        warn(f"stopped; {job.done:,} lines are written")
        raise typer.Exit(Exit.INTERRUPTED) from None
    job.warnings.log_totals()
    job.check_end()


def check_prefix_count(file: Path | None, prefixes: Path) -> None:
    """Raise UserError for prefixes that cannot be read, are too few or too many."""
    count = sum(1 for _ in read_lines(prefixes))
    sentences = count_lines(file) if file else count
    if count != sentences:
        few = f"too few lines, {count:,} for {sentences:,}" if count < sentences else ""
        many = f"more lines than the {sentences:,} of {file}"
        raise UserError(f"{prefixes}: has {few or many}; give a prefix for each, empty for none")


@contextmanager
def command_line_names(files: Mapping[str, Path | None]) -> Iterator[None]:
    """Errors name options as on the command line, and the line of a file of terms."""
    try:
        yield
    except UnsupportedOption as error:
        place = place_of(error, files.get(error.option))
        raise UserError(place + error.spelled(option_name)) from None
