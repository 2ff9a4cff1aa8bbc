"""`dhyan translate`: translate a file or stdin, one output line per input line."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import islice, repeat
from pathlib import Path
from typing import IO, TYPE_CHECKING, Annotated

import typer

from dhyan.cli.messages import Exit, ProgressLines, warn
from dhyan.cli.options import (
    AsJson,
    Beam,
    Delimiter,
    Device,
    Header,
    Model,
    Threads,
    load_model,
    option,
    table_settings,
    with_decoding_options,
)
from dhyan.cli.translate_io import (
    Line,
    OutputStyle,
    TranslationWarnings,
    check_output,
    count_lines,
    find_term,
    format_failure,
    format_translation,
    in_chunks,
    open_output,
    open_table,
    prefix_line,
    read_glossary,
    read_input,
    read_prefixes,
    read_rows,
    read_terms,
)
from dhyan.cli.translate_shards import (
    Address,
    EngineName,
    Out,
    ShardOptions,
    Shards,
    Workers,
    translate_shards,
)
from dhyan.config import DecodingChanges, DecodingOptions
from dhyan.errors import UnsupportedOption, UserError, ran_out_of_memory

if TYPE_CHECKING:
    from dhyan.data.add_table_column import TableColumn
    from dhyan.data.write_tmx import TMXWriter
    from dhyan.decoding.source_language_check import LanguageCheck
    from dhyan.decoding.translator import Translation, Translator

LINES_AT_A_TIME = 512
OPTION_NAMES = {"forbidden": "--forbid"}

File = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="Source text, a sentence per line, plain or compressed; or a table, with --columns.",
        show_default="stdin",
    ),
]
Column = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Column or key of a .csv, .tsv or .jsonl to translate; adds a column translation.",
        show_default="none",
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "-o",
        "--output",
        metavar="FILE",
        help="Output file, complete or not written at all; a .tmx is a translation memory of sources "
        "and translations.",
        show_default="stdout",
    ),
]
OtherModels = Annotated[
    list[str] | None,
    typer.Option(
        "--with",
        show_default="none",
        metavar="MODEL",
        help="Ensemble: a further model, whose probabilities are averaged; repeatable.",
    ),
]
Nbest = Annotated[int, option(DecodingOptions, "nbest")]
Prefix = Annotated[
    str, typer.Option(help="Forced prefix of every translation.", show_default="none")
]
Prefixes = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default="none",
        help="Forced prefixes, one per line of input, empty for none; # begins a comment.",
    ),
]
GlossaryFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default="none",
        help="Glossary: TSV of source and target term; # begins a comment.",
    ),
]
ForbiddenTerms = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        show_default="none",
        help="Forbidden target terms, one per line; # begins a comment.",
    ),
]
SourceLanguage = Annotated[
    str,
    typer.Option(
        metavar="CODE",
        show_default="the model's",
        help="Source language of a multilingual model (M2M100, NLLB, mBART-50), as hi or hin_Deva.",
    ),
]
TargetLanguage = Annotated[
    str,
    typer.Option(
        metavar="CODE", show_default="the model's", help="Target language of a multilingual model."
    ),
]
Paragraphs = Annotated[
    bool,
    typer.Option(
        "--paragraphs",
        help="Paragraphs: split each line into sentences, translate and rejoin them.",
    ),
]
Align = Annotated[
    bool,
    typer.Option(
        "--align", help="Word alignments by attention: adds source-target pairs, as 0-0 1-2."
    ),
]
AttentionName = Annotated[
    str,
    typer.Option(
        metavar="NAME",
        help="Attention maps to align by: those whose name contains this.",
        show_default="all cross-attentions",
    ),
]
WordProbabilities = Annotated[
    bool,
    typer.Option(
        "--words", help="Word probabilities: adds the probability of each word, from 0 to 1."
    ),
]
PlainSearch = Annotated[
    bool,
    typer.Option("--plain", help="Plain search in PyTorch in full precision, without an engine."),
]


@with_decoding_options
def translate(
    model: Model,
    file: File = None,
    columns: Column = "",
    header: Header = "",
    delimiter: Delimiter = "",
    output: Output = None,
    other_models: OtherModels = None,
    beam: Beam = None,
    nbest: Nbest = 1,
    *,
    decoding: DecodingChanges,
    prefix: Prefix = "",
    prefixes: Prefixes = None,
    glossary: GlossaryFile = None,
    forbid: ForbiddenTerms = None,
    source_language: SourceLanguage = "",
    target_language: TargetLanguage = "",
    paragraphs: Paragraphs = False,
    align: Align = False,
    attention: AttentionName = "",
    words: WordProbabilities = False,
    as_json: AsJson = False,
    plain: PlainSearch = False,
    device: Device = "auto",
    threads: Threads = 0,
    shards: Shards = None,
    out: Out = None,
    engine: EngineName = "local",
    workers: Workers = 0,
    address: Address = "",
) -> None:
    """Translate a file or stdin, line by line, or a folder of files.

    With --nbest N, each line gives up to N lines: number, score and translation, tab-separated.
    The defaults of the search are those of the recipe's section [decoding].

    With --shards, several processes translate; killed ones lose and double nothing.

    Example: echo "Where is my key?" | dhyan translate en-hi
    """
    changes: DecodingChanges = {**decoding, "beam": beam, "nbest": nbest}
    shard_options = ShardOptions(
        shards=shards, out=out, engine=engine, workers=workers, address=address
    )
    if shards:
        translate_shards(
            shard_options,
            model,
            changes,
            refused={
                "FILE": file,
                "--columns": columns,
                "--output": output,
                "--with": other_models,
                "--prefix": prefix,
                "--prefixes": prefixes,
                "--align": align,
                "--words": words,
                "--json": as_json,
            },
            spell=_option_name,
            device=device,
            threads=threads,
            glossary=read_glossary(glossary) if glossary else None,
            forbidden=read_terms(forbid) if forbid else (),
            source_language=source_language,
            target_language=target_language,
            paragraphs=paragraphs,
            plain=plain,
        )
        return
    shard_options.check_unused()
    check_output(output, file)
    style = OutputStyle(
        nbest=nbest,
        align=align,
        attention=attention,
        words=words,
        as_json=as_json,
        tmx=output is not None and output.suffix.lower() == ".tmx",
    )
    style.check(paragraphs=paragraphs)
    if (prefix or prefixes) and paragraphs or (prefix and prefixes):
        raise UserError("one of --prefix, --prefixes and --paragraphs: they do not go together")
    table = open_table(file, columns, style, table_settings("", header, delimiter))
    if prefixes:
        _check_prefix_count(file, table, prefixes)
    job = TranslationJob(
        name=str(file or "stdin"),
        style=style,
        table=table,
        paragraphs=paragraphs,
        glossary=read_glossary(glossary) if glossary else None,
        forbidden=read_terms(forbid) if forbid else (),
        files={"input": file, "glossary": glossary, "forbidden": forbid, "prefixes": prefixes},
        prefixes=read_prefixes(prefixes) if prefixes else repeat(prefix) if prefix else None,
        progress=show_progress(file),
    )

    def load() -> "Translator":
        translator = load_model(model, device, threads, other_models or ())
        if source_language or target_language:
            translator = translator.in_languages(source_language, target_language)
        return replace(translator, fast=translator.fast and not plain)

    job.run(load, changes, read_rows(table) if table else read_input(file), output)


def is_interactive(file: Path | None) -> bool:
    """Whether sentences are typed, so that each is to be answered at once."""
    return file is None and sys.stdin is not None and sys.stdin.isatty()


def show_progress(file: Path | None, lines: int | None = None) -> ProgressLines:
    """Progress of a file, or of stdin if someone watches; none while sentences are typed.

    `lines` is the number of sources, if it is not that of lines.
    """
    watched = sys.stderr is not None and sys.stderr.isatty()
    return ProgressLines(
        lines=(lambda: count_lines(file) if lines is None else lines) if file else None,
        quiet=is_interactive(file) or not (file or watched),
    )


def _check_prefix_count(file: Path | None, table: "TableColumn | None", prefixes: Path) -> None:
    """Raise UserError for prefixes that cannot be read, are too few or too many."""
    count = sum(1 for _ in read_prefixes(prefixes))
    sentences = sum(1 for _ in table.rows()) if table else count_lines(file) if file else count
    if count != sentences:
        few = f"too few lines, {count:,} for {sentences:,}" if count < sentences else ""
        many = f"more lines than the {sentences:,} of {file}"
        raise UserError(f"{prefixes}: has {few or many}; give a prefix for each, empty for none")


@contextmanager
def _command_line_names(files: Mapping[str, Path | None]) -> Iterator[None]:
    """Errors name options as on the command line, and the line of a file of terms."""
    try:
        yield
    except UnsupportedOption as error:
        file = files.get(error.option)
        place = f"{find_term(file, error.term)}: " if file else ""
        raise UserError(place + error.spelled(_option_name)) from None


def _option_name(name: str) -> str:
    """A decoding option as it is written on the command line."""
    return OPTION_NAMES.get(name, f"--{name.replace('_', '-')}")


@dataclass(kw_only=True)
class TranslationJob:
    """An input being translated, with the number of lines done so far.

    `files` are those of options that name terms. An error in the options stops the job before its
    first line; later, or if it concerns one line, that line is left empty and reported.
    """

    name: str
    style: OutputStyle
    table: "TableColumn | None"
    progress: ProgressLines
    paragraphs: bool = False
    glossary: Mapping[str, str] | None = None
    forbidden: Sequence[str] = ()
    files: Mapping[str, Path | None] = field(default_factory=dict)
    prefixes: Iterator[str] | None = None
    warnings: TranslationWarnings = field(default_factory=TranslationWarnings)
    language_check: "LanguageCheck | None" = None
    line_ending: str = "\n"
    done: int = 0
    skipped: int = 0
    tmx: "TMXWriter | None" = None

    def run(
        self,
        load: "Callable[[], Translator]",
        changes: DecodingChanges,
        lines: Iterator[Line],
        output: Path | None,
    ) -> None:
        """Translate all lines into a file, or to stdout; typed ones each at once."""
        interactive = is_interactive(self.files.get("input"))
        try:
            with _command_line_names(self.files), open_output(output) as stream:
                translator = load()
                options = translator.options.changed(**changes)
                if self.style.tmx:
                    from dhyan.data.write_tmx import TMXWriter

                    self.tmx = TMXWriter(
                        translator.source_language, translator.language, paragraphs=self.paragraphs
                    )
                    stream.write(self.tmx.start())
                if self.table:
                    self.line_ending = self.table.form.line_ending
                    stream.write(self.table.form.start)
                    if names := self.table.header():
                        print(names, file=stream, end=self.line_ending)
                for chunk in in_chunks(lines, 1 if interactive else LINES_AT_A_TIME):
                    self.translate(translator, options, chunk, stream)
                    if interactive:
                        self.warnings.name_unknown_words(self.name)
                if self.tmx:
                    stream.write(self.tmx.end())
        except KeyboardInterrupt:
            sys.stdout.flush()
            state = f"{output} is not written" if output else f"{self.done:,} lines are written"
            warn(f"stopped; {state}")
            raise typer.Exit(Exit.INTERRUPTED) from None
        self.warnings.name_unknown_words(self.name)
        self.warnings.log_totals()
        self.check_end()

    def translate(
        self,
        translator: "Translator",
        options: DecodingOptions,
        lines: Sequence[Line],
        stream: IO[str],
    ) -> None:
        """Write the translations of the next lines to a stream."""
        self._check_language(translator, lines)
        first, results = self.done, self._results(translator, options, lines)
        for at, (line, result) in enumerate(zip(lines, results, strict=True)):
            print(self._output(translator, line, result), file=stream, end=self.line_ending)
            self.done = first + at + 1
        stream.flush()
        self.progress.update(self.done)

    def _check_language(self, translator: "Translator", lines: Sequence[Line]) -> None:
        """Warn once if the lines so far do not look like the source language of the model."""
        from dhyan.decoding.source_language_check import LanguageCheck

        if self.language_check is None:
            self.language_check = LanguageCheck.of(translator)
        if not self.language_check.complete:
            self.language_check.add(line.text for line in lines if not line.error)
            if warning := self.language_check.warning():
                warn(f"{self.name}: {warning}")
                self.language_check.complete = True

    def check_end(self) -> None:
        """Raise UserError for prefixes left over, and for lines that were not translated."""
        file = self.files.get("prefixes")
        if file and next(self.prefixes or iter(()), None) is not None:
            count = f"the {self.done} of {self.name}"
            raise UserError(f"{file}: has more lines than {count}; give one for each")
        if self.skipped:
            count = f"{self.skipped:,} of {self.done:,} lines"
            raise UserError(f"{count} could not be translated and were left empty")

    def _output(
        self, translator: "Translator", line: Line, result: "Translation | UserError"
    ) -> str:
        """A line of output; a line that was not translated is reported and left empty."""
        number = self.done + 1
        place = f"{self.name}:{line.row.line if line.row else number}"
        if not isinstance(result, UserError):
            try:
                text = self._format(translator, number, line, result)
                self.warnings.check(place, result)
                return text
            except UserError as error:
                if not self.done:
                    raise
                result = error
        place, reason = self._place_and_reason(result, number, place)
        self.warnings.warn(place, reason, "are left empty")
        self.skipped += 1
        if self.table and line.row:
            return self.table.with_value(line.row, "")
        if self.tmx:
            return ""
        return format_failure(number, line.text, str(result), self.style)

    def _format(
        self, translator: "Translator", number: int, line: Line, translation: "Translation"
    ) -> str:
        if self.table and line.row:
            return self.table.with_value(line.row, translation.text)
        if self.tmx:
            return self.tmx.unit(line.text, translation.text)
        return format_translation(translator, number, line.text, translation, self.style)

    def _place_and_reason(self, error: UserError, number: int, place: str) -> tuple[str, str]:
        """Where the error of a line is, and its message with what may help."""
        from dhyan.decoding.translator import TooLong

        if isinstance(error, UnsupportedOption):
            if (file := self.files.get(error.option)) and error.option == "prefixes":
                place = f"{file}:{prefix_line(file, number)}"
            return place, error.spelled(_option_name)
        hint = isinstance(error, TooLong) and not self.paragraphs
        return place, f"{error}{', or try --paragraphs' if hint else ''}"

    def _results(
        self, translator: "Translator", options: DecodingOptions, lines: Sequence[Line]
    ) -> "list[Translation | UserError]":
        """A translation for each line, or the error it caused."""
        from dhyan.decoding.translate_each import translate_each

        errors: dict[int, Translation | UserError] = {
            at: line.error for at, line in enumerate(lines) if line.error
        }
        prefixes = self._next_prefixes(len(lines), errors)

        def translate(indices: list[int]) -> "Sequence[Translation]":
            return self._translate(
                translator,
                options,
                [lines[at].text for at in indices],
                [self.done + at for at in indices],
                None if prefixes is None else [prefixes[at] for at in indices],
            )

        usable = [at for at in range(len(lines)) if at not in errors]
        results = translate_each(translate, usable, self.error_of_line)
        by_line = errors | dict(zip(usable, results, strict=True))
        return [by_line[at] for at in range(len(lines))]

    def _translate(
        self,
        translator: "Translator",
        options: DecodingOptions,
        texts: list[str],
        numbers: list[int],
        prefixes: list[str] | None,
    ) -> "Sequence[Translation]":
        if self.paragraphs:
            return translator.translate_paragraphs(
                texts,
                options,
                glossary=self.glossary,
                forbidden=self.forbidden,
                numbers=numbers,
            )
        return translator.translate_sentences(
            texts,
            options,
            prefixes=prefixes,
            glossary=self.glossary,
            forbidden=self.forbidden,
            numbers=numbers,
            on_progress=lambda count: self.progress.update(self.done + count),
        )

    def _next_prefixes(
        self, count: int, errors: "dict[int, Translation | UserError]"
    ) -> list[str] | None:
        """The prefixes of the next lines; too few stop the job before its first line."""
        if self.prefixes is None:
            return None
        prefixes = list(islice(self.prefixes, count))
        remedy = "give a prefix for each sentence, empty for none"
        missing = UserError(f"{self.files.get('prefixes')}: has too few lines; {remedy}")
        if len(prefixes) < count and not self.done:
            raise missing
        errors.update(dict.fromkeys(range(len(prefixes), count), missing))
        return [*prefixes, *[""] * (count - len(prefixes))]

    def error_of_line(self, error: Exception) -> UserError:
        """The error as one of a line; one that concerns all lines, or is a bug, is raised."""
        if isinstance(error, UnsupportedOption) and not self.done:
            shared_prefix = error.option == "prefixes" and not self.files.get("prefixes")
            if error.number is None or shared_prefix:
                raise error
        if isinstance(error, UserError):
            return error
        if not ran_out_of_memory(error):
            raise error
        return UserError("out of memory; translate it by itself, with a smaller --beam")
