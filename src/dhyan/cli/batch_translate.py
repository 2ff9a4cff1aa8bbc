"""Translating the lines of an input: one line out for every line in, errors included."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from dhyan.cli.input_lines import Line, find_term
from dhyan.cli.messages import ProgressLines, TranslationWarnings
from dhyan.cli.output import OutputStyle, format_failure, format_translation
from dhyan.config import DecodingOptions
from dhyan.errors import UnsupportedOption, UserError

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator

OPTION_NAMES = {"forbidden": "--forbid"}


@dataclass(kw_only=True)
class TranslationJob:
    """An input being translated, with the number of lines done so far.

    `files` are those of options that name terms. An error in the options stops the job before its
    first line; later, or if it concerns one line, that line is left empty and reported.
    """

    name: str
    style: OutputStyle
    paragraphs: bool
    glossary: Mapping[str, str] | None
    forbidden: Sequence[str]
    files: Mapping[str, Path | None]
    prefixes: Iterator[str] | None
    progress: ProgressLines
    warnings: TranslationWarnings = field(default_factory=TranslationWarnings)
    done: int = 0
    skipped: int = 0

    def translate(
        self, translator: "Translator", options: DecodingOptions, lines: Sequence[Line]
    ) -> None:
        """Print the translations of the next lines."""
        first, results = self.done, self._results(translator, options, lines)
        for at, (line, result) in enumerate(zip(lines, results, strict=True)):
            print(self._output(translator, line.text, result))
            self.done = first + at + 1
        sys.stdout.flush()
        self.progress.update(self.done)

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
        self, translator: "Translator", text: str, result: "Translation | UserError"
    ) -> str:
        """A line of output; a line that was not translated is reported and left empty."""
        number = self.done + 1
        if not isinstance(result, UserError):
            try:
                line = format_translation(translator, number, text, result, self.style)
                self.warnings.check(f"{self.name}:{number}", result)
                return line
            except UserError as error:
                if not self.done:
                    raise
                result = error
        place, reason = self._place_and_reason(result, number)
        self.warnings.warn(place, reason, "are left empty")
        self.skipped += 1
        return format_failure(number, text, str(result), self.style)

    def _place_and_reason(self, error: UserError, number: int) -> tuple[str, str]:
        """Where the error of a line is, and its message with what may help."""
        from dhyan.decoding.translator import TooLong

        if isinstance(error, UnsupportedOption):
            file = self.files.get(error.option)
            return f"{file or self.name}:{number}", error.spelled(option_name)
        hint = isinstance(error, TooLong) and not self.paragraphs
        return f"{self.name}:{number}", f"{error}{', or try --paragraphs' if hint else ''}"

    def _results(
        self, translator: "Translator", options: DecodingOptions, lines: Sequence[Line]
    ) -> "list[Translation | UserError]":
        """A translation for each line, or the error it caused."""
        errors: dict[int, UserError] = {
            at: line.error for at, line in enumerate(lines) if line.error
        }
        prefixes = self._next_prefixes(len(lines), errors)
        call = _Call(
            self,
            translator,
            options,
            ["" if at in errors else line.text for at, line in enumerate(lines)],
            range(self.done, self.done + len(lines)),
            prefixes,
        )
        return [errors.get(at, result) for at, result in enumerate(call.results())]

    def _next_prefixes(self, count: int, errors: dict[int, UserError]) -> list[str] | None:
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
        from dhyan.cli import ran_out_of_memory

        if isinstance(error, UnsupportedOption) and not self.done:
            shared_prefix = error.option == "prefixes" and not self.files.get("prefixes")
            if error.number is None or shared_prefix:
                raise error
        if isinstance(error, UserError):
            return error
        if not ran_out_of_memory(error):
            raise error
        return UserError("out of memory; translate it by itself, with a smaller --beam")


@dataclass(frozen=True)
class _Call:
    """Lines that are translated together; where that fails, without the cause or by halves."""

    job: TranslationJob
    translator: "Translator"
    options: DecodingOptions
    texts: list[str]
    numbers: range
    prefixes: list[str] | None

    def results(self) -> "list[Translation | UserError]":
        """A translation for each line, or the error it caused."""
        from dhyan.decoding.translator import TooLong

        try:
            return list(self._translate())
        except TooLong as error:
            too_long = {own.index: own for own in (error, *error.others)}
            shorter = ["" if at in too_long else text for at, text in enumerate(self.texts)]
            results = self._with(shorter, self.numbers, self.prefixes).results()
            return [too_long.get(at, result) for at, result in enumerate(results)]
        except (UserError, MemoryError, RuntimeError) as error:
            error_of_line = self.job.error_of_line(error)
        if len(self.texts) == 1:
            return [error_of_line]
        half = len(self.texts) // 2
        return [*self._part(slice(half)), *self._part(slice(half, None))]

    def _part(self, part: slice) -> "list[Translation | UserError]":
        prefixes = None if self.prefixes is None else self.prefixes[part]
        return self._with(self.texts[part], self.numbers[part], prefixes).results()

    def _with(self, texts: list[str], numbers: range, prefixes: list[str] | None) -> "_Call":
        return _Call(self.job, self.translator, self.options, texts, numbers, prefixes)

    def _translate(self) -> "list[Translation]":
        job = self.job
        if job.paragraphs:
            return self.translator.translate_paragraphs(
                self.texts,
                self.options,
                glossary=job.glossary,
                forbidden=job.forbidden,
                numbers=self.numbers,
            )
        return self.translator.translate(
            self.texts,
            self.options,
            prefixes=self.prefixes,
            glossary=job.glossary,
            forbidden=job.forbidden,
            numbers=self.numbers,
            on_progress=lambda count: job.progress.update(job.done + count),
        )


def place_of(error: UnsupportedOption, file: Path | None) -> str:
    """The line of the file that holds the offending term, as the start of a message."""
    return f"{find_term(file, error.term)}: " if file else ""


def option_name(name: str) -> str:
    """A decoding option as it is written on the command line."""
    return OPTION_NAMES.get(name, f"--{name.replace('_', '-')}")
