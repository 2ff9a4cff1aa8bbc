"""Lines on their way through a translator: as many come out as went in, whatever is in them."""

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dhyan.cli.input_lines import Line, find_term
from dhyan.cli.output import Style, unsaid, written
from dhyan.cli.warnings import Pace, Warnings
from dhyan.errors import UserError

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator
    from dhyan.errors import UnsupportedOption

FLAGS = {"forbidden": "--forbid"}


@dataclass(kw_only=True)
class Job:
    """An input on its way through a translator, and how far it has come.

    `files` are those of options that name terms. A fault of what was asked for ends the job before
    its first line; later, and where it is a line's own, that line is left empty and named.
    """

    name: str
    style: Style
    options: Mapping[str, Any]
    paragraphs: bool
    files: Mapping[str, Path | None]
    beginnings: Iterator[str] | None
    pace: Pace
    warnings: Warnings = field(default_factory=Warnings)
    done: int = 0
    skipped: int = 0

    def translate(self, translator: "Translator", lines: Sequence[Line]) -> None:
        """Print the next lines' translations."""
        first = self.done
        for at, (line, one) in enumerate(zip(lines, self._said(translator, lines), strict=True)):
            print(self._written(translator, line.text, one))
            self.done = first + at + 1
        sys.stdout.flush()
        self.pace.hear(self.done)

    def check_end(self) -> None:
        """Refuse prefixes that are left over, and lines that could not be translated."""
        prefixes = self.files.get("prefixes")
        if prefixes and next(self.beginnings or iter(()), None) is not None:
            count = f"the {self.done} of {self.name}"
            raise UserError(f"{prefixes}: has more lines than {count}; give one for each")
        if self.skipped:
            count = f"{self.skipped:,} of {self.done:,} lines"
            raise UserError(f"{count} could not be translated and were left empty")

    def _written(self, translator: "Translator", text: str, one: "Translation | UserError") -> str:
        """A line of output; what could not be translated is named, and left empty."""
        number = self.done + 1
        if not isinstance(one, UserError):
            try:
                line = written(translator, number, text, one, self.style)
                self.warnings.note(f"{self.name}:{number}", one)
                return line
            except UserError as fault:
                if not self.done:
                    raise
                one = fault
        place, why = self._told(one, number)
        self.warnings.say(place, why, "are left empty")
        self.skipped += 1
        return unsaid(number, text, str(one), self.style)

    def _told(self, fault: UserError, number: int) -> tuple[str, str]:
        """The place of a line's fault, and its reason with what may help."""
        from dhyan.decoding.translator import TooLong
        from dhyan.errors import UnsupportedOption

        if isinstance(fault, UnsupportedOption) and (file := self.files.get(fault.option)):
            return f"{file}:{number}", fault.spelled(flag)
        if isinstance(fault, UnsupportedOption):
            return f"{self.name}:{number}", fault.spelled(flag)
        helps = isinstance(fault, TooLong) and not self.paragraphs
        return f"{self.name}:{number}", f"{fault}{', or try --paragraphs' if helps else ''}"

    def _said(
        self, translator: "Translator", lines: Sequence[Line]
    ) -> "list[Translation | UserError]":
        """A translation for each line, or the reason why there is none."""
        call: dict[str, Any] = {"numbers": range(self.done, self.done + len(lines))}
        faults: dict[int, UserError] = {
            at: line.error for at, line in enumerate(lines) if line.error
        }
        if self.beginnings is not None:
            call["prefixes"] = self._prefixes(len(lines), faults)
        texts = ["" if at in faults else line.text for at, line in enumerate(lines)]
        said = self._tried(translator, texts, call)
        return [faults.get(at, one) for at, one in enumerate(said)]

    def _prefixes(self, count: int, faults: dict[int, UserError]) -> list[str]:
        """The next ones; too few are a fault of the whole before the first line, then of each."""
        found = list(islice(self.beginnings or (), count))
        remedy = "give a prefix for each sentence, empty for none"
        missing = UserError(f"{self.files.get('prefixes')}: has too few lines; {remedy}")
        if len(found) < count and not self.done:
            raise missing
        faults.update(dict.fromkeys(range(len(found), count), missing))
        return [*found, *[""] * (count - len(found))]

    def _tried(
        self, translator: "Translator", texts: list[str], call: Mapping[str, Any]
    ) -> "list[Translation | UserError]":
        """Translate all at once; where that fails, without what is too long, or by halves."""
        from dhyan.decoding.translator import TooLong

        try:
            return list(self._call(translator, texts, call))
        except TooLong as fault:
            long = {one.index: one for one in (fault, *fault.others)}
            short = ["" if at in long else text for at, text in enumerate(texts)]
            said = self._tried(translator, short, call)
            return [long.get(at, one) for at, one in enumerate(said)]
        except (UserError, MemoryError, RuntimeError) as error:
            fault_of_one = self._fault(error)
        if len(texts) == 1:
            return [fault_of_one]
        half = len(texts) // 2
        found: list[Translation | UserError] = []
        for part in (slice(half), slice(half, None)):
            own = {name: values[part] for name, values in call.items()}
            found += self._tried(translator, texts[part], own)
        return found

    def _fault(self, error: Exception) -> UserError:
        """What may befall a line; what befalls all of them, and all else, is raised again."""
        from dhyan.cli import ran_out_of_memory
        from dhyan.errors import UnsupportedOption

        if isinstance(error, UnsupportedOption) and not self.done:
            of_all = error.option == "prefixes" and not self.files.get("prefixes")
            if error.number is None or of_all:
                raise error
        if isinstance(error, UserError):
            return error
        if not ran_out_of_memory(error):
            raise error
        return UserError("out of memory; translate it by itself, with a smaller --beam")

    def _call(
        self, translator: "Translator", texts: Sequence[str], call: Mapping[str, Any]
    ) -> "list[Translation]":
        """Translate sentences, batch by batch, or paragraphs."""
        from dhyan.decoding.paragraphs import translate_paragraphs

        if self.paragraphs:
            return translate_paragraphs(translator, texts, **self.options, **call)
        return translator(texts, on_progress=self._hear, **self.options, **call)

    def _hear(self, count: int) -> None:
        self.pace.hear(self.done + count)


def place_of(fault: "UnsupportedOption", file: Path | None) -> str:
    """Where a mistake in what was asked for is: a line with a term, or nowhere."""
    return f"{find_term(file, fault.term)}: " if file else ""


def flag(name: str) -> str:
    """A setting as it is typed."""
    return FLAGS.get(name, f"--{name.replace('_', '-')}")
