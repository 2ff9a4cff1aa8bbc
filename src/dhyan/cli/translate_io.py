"""Input and output of `dhyan translate`: sentences, glossaries, prefixes; translations and JSON."""

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from dhyan.cli.messages import warn
from dhyan.config import Data
from dhyan.errors import UNKNOWN_TO_MODEL, UserError
from dhyan.text.compressed_files import OPENERS

if TYPE_CHECKING:
    from dhyan.data.add_table_column import TableColumn, TableRow
    from dhyan.decoding.translator import Translation, Translator
    from dhyan.insight.word_alignment import WordAttention

FIRST_WARNINGS = 3
NAMED_WORDS, MAX_UNKNOWN_WORDS = 10, 10_000  # different words named, and counted
ESCAPED_HASH = re.compile(r"\\+#")
_CONTROL_CODES = (*range(0x7F, 0xA0), *range(0x2028, 0x202F), *range(0x2066, 0x206A))
_ESCAPES = {code: f"\\u{code:04x}" for code in _CONTROL_CODES}


@dataclass(frozen=True)
class Line:
    """A line of input, and the error if it is not valid text; `row` is its row in a table."""

    text: str
    error: UserError | None = None
    row: "TableRow | None" = None


def read_input(file: Path | None) -> Iterator[Line]:
    """Every line of a file or of stdin; lines that are not valid text come with their error."""
    from dhyan.data.text_lines import decode_leniently, read_raw_lines, split_lines

    if file:
        raws = read_raw_lines(file, may_be_empty=True)
    elif sys.stdin is None:
        raise UserError("stdin is closed: name a FILE to read")
    else:
        raws = split_lines(sys.stdin.buffer)
    for number, raw in enumerate(raws, start=1):
        text, problem = decode_leniently(raw, number)
        yield Line(text, UserError(problem) if problem else None)


def read_examples(file: Path) -> list[Line] | None:
    """The sources of a picture, of a folder of pictures or of labelled examples; None for text."""
    from dhyan.data.read_pairs import has_reader, read_pairs
    from dhyan.text.image_frames import SUFFIXES

    if file.is_dir():
        pictures = sorted(path for path in file.iterdir() if path.suffix.lower() in SUFFIXES)
        if not pictures:
            raise UserError(f"{file}: no picture in this folder ({', '.join(sorted(SUFFIXES))})")
        return [Line(str(path)) for path in pictures]
    if file.suffix.lower() in SUFFIXES:
        return [Line(str(file))]
    return [Line(pair.source) for pair in read_pairs(file)] if has_reader(file) else None


def open_table(
    file: Path | None, columns: str, style: "OutputStyle", settings: Data
) -> "TableColumn | None":
    """The column to translate of a table, checked to its end; None for plain text.

    The settings name the table's header and delimiter.
    """
    from dhyan.data.add_table_column import column_names, open_column
    from dhyan.data.text_lines import TABLE_SUFFIXES, format_suffix

    if not columns:
        if file and format_suffix(file) in TABLE_SUFFIXES and file.exists():
            names = ", ".join(column_names(file, settings.delimiter))[:300]
            raise UserError(
                f"{file}: is a table; name the column to translate of {names}: --columns"
            )
        if settings != Data():
            raise UserError("--header and --delimiter are about a table; add --columns")
        return None
    if file is None:
        raise UserError(f"--columns {columns}: is a column of a table; name its FILE")
    if "," in columns and columns not in column_names(file, settings.delimiter):
        raise UserError(f"--columns {columns}: one column is translated; name one")
    style.check_table()
    table = open_column(
        file, columns, style.column, header=settings.header, delimiter=settings.delimiter
    )
    cells = without = 0
    for row in table.rows():
        cells += bool(row.text.strip())
        without += bool(row.text.strip()) and not any(map(str.isalpha, row.text))
    if 2 * without > cells:
        names = ", ".join(column_names(file, settings.delimiter))[:300]
        count = f"{without:,} of {cells:,} cells of column {columns} have no letters"
        warn(f"{file}: {count}; if it is not the one to translate, name another of {names}")
    return table


def read_rows(table: "TableColumn") -> Iterator[Line]:
    """The texts of a column as lines."""
    return (Line(row.text, row=row) for row in table.rows())


def check_output(output: Path | None, file: Path | None) -> None:
    """Raise an error for an output file that cannot be written, or that is the input."""
    if output is None:
        return
    if output.exists() and not output.is_file():
        raise UserError(
            f"--output {output}: is not a regular file; give a file, or redirect stdout"
        )
    if file and output.exists() and file.exists() and output.samefile(file):
        raise UserError(f"--output {output}: is the input file; give another name")
    if output.suffix.lower() in OPENERS:
        raise UserError(f"--output {output}: only plain files are written; compress it afterwards")
    if not output.parent.is_dir():
        raise UserError(f"--output {output}: there is no folder {output.parent}; create it first")
    if not os.access(output.parent, os.W_OK):
        raise UserError(f"--output {output}: {output.parent} is read-only; give another folder")


@contextmanager
def open_output(output: Path | None) -> Iterator[IO[str]]:
    """Stdout, or a file that appears under its name when everything is written."""
    if output is None:
        yield sys.stdout
        return
    path = output.resolve()
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with temporary.open("w", encoding="utf-8", newline="") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)


def in_chunks(lines: Iterator[Line], size: int) -> Iterator[list[Line]]:
    """Chunks of `size` lines; the lines before an error come before it is raised."""
    chunk: list[Line] = []
    try:
        for line in lines:
            chunk.append(line)
            if len(chunk) == size:
                yield chunk
                chunk = []
    except UserError:
        yield chunk
        raise
    yield chunk


def count_lines(file: Path) -> int:
    """The number of lines of a file, valid text or not."""
    from dhyan.data.text_lines import read_raw_lines

    return sum(1 for _ in read_raw_lines(file, may_be_empty=True))


def read_lines(file: Path) -> Iterator[str]:
    """The lines of a text file, compressed or not."""
    from dhyan.data.text_lines import read_lines

    return read_lines(file)


def read_entries(file: Path) -> Iterator[tuple[int, str]]:
    """The lines of a file without comments, with their numbers.

    A line that begins with `#` is a comment; an entry that begins with `#` is written `\\#`, and
    one that begins with `\\#` has another backslash before it.
    """
    for number, line in enumerate(read_lines(file), start=1):
        if not line.startswith("#"):
            yield number, line[1:] if ESCAPED_HASH.match(line) else line


def read_glossary(file: Path) -> dict[str, str]:
    """Source and target terms, a tab-separated pair per line; comments, empty lines are skipped."""
    terms, targets = dict[str, str](), dict[str, str]()
    for number, line in read_entries(file):
        parts = [part.strip() for part in line.split("\t")]
        if not any(parts):
            continue
        if len(parts) != 2 or not all(parts):
            raise UserError(f"{file}:{number}: a source term, a tab, a target term; found {line!r}")
        if targets.setdefault(parts[0].casefold(), parts[1]) != parts[1]:
            raise UserError(f"{file}:{number}: {parts[0]!r} has another target term further up")
        terms[parts[0]] = parts[1]
    return terms


def read_terms(file: Path) -> list[str]:
    """Terms, one per line; comments and empty lines are skipped."""
    return [line.strip() for _, line in read_entries(file) if line.strip()]


def read_prefixes(file: Path) -> Iterator[str]:
    """Prefixes, one per line, empty for none; comments are skipped."""
    return (line for _, line in read_entries(file))


def prefix_line(file: Path, number: int) -> int:
    """The line of a file that holds the prefix of this number, counted from 1."""
    return next(islice((line for line, _ in read_entries(file)), number - 1, None), number)


def find_term(file: Path, term: str) -> str:
    """File and line number of the first line with a term, alone or in a pair."""
    for number, line in read_entries(file):
        if term in (part.strip() for part in line.split("\t")):
            return f"{file}:{number}"
    return str(file)


@dataclass(frozen=True, kw_only=True)
class OutputStyle:
    """What is printed of each translation."""

    nbest: int = 1
    align: bool = False
    attention: str = ""
    words: bool = False
    as_json: bool = False
    column: str = "translation"  # the new one of a table
    tmx: bool = False

    def check(self, *, paragraphs: bool) -> None:
        """Raise an error for options that exclude each other."""
        if self.tmx and (self.nbest > 1 or self.align or self.words or self.as_json):
            reason = "a .tmx holds sources and translations alone"
            raise UserError(f"{reason}; leave out --nbest, --align, --words and --json")
        if self.attention and not self.align:
            raise UserError("--attention chooses the maps to align by; add --align")
        if paragraphs and self.nbest > 1:
            raise UserError("a paragraph has one translation; leave out --nbest or --paragraphs")
        if paragraphs and (self.align or self.words) and not self.as_json:
            raise UserError("--align and --words describe sentences; with --paragraphs, add --json")

    def check_table(self) -> None:
        """Raise an error for options that need more than one new column."""
        if self.tmx:
            raise UserError("--columns: a table is written back, not as .tmx; give its own suffix")
        options = {"--nbest": self.nbest > 1, "--align": self.align, "--words": self.words}
        for option, chosen in {**options, "--json": self.as_json}.items():
            if chosen:
                reason = f"a table gets one new column, {self.column}"
                raise UserError(f"{option}: {reason}; leave out {option} or --columns")


def format_translation(
    translator: "Translator", number: int, text: str, translation: "Translation", style: OutputStyle
) -> str:
    """The output of an input line."""
    nbest = (translation, *translation.others)
    if style.as_json:
        items = [translation_json(translator, text, item, style) for item in nbest]
        record = {"line": number, "source": text, **items[0]}
        if style.nbest > 1:
            record["nbest"] = items
        return _json_line(record)
    return "\n".join("\t".join(_columns(translator, number, text, item, style)) for item in nbest)


def format_failure(number: int, text: str, problem: str, style: OutputStyle) -> str:
    """The output of a line that could not be translated: the same columns, empty."""
    if style.as_json:
        record: dict[str, Any] = {"text": "", "score": None, "finished": False}
        record |= {"unknown_words": [], "error": problem}
        if style.nbest > 1:
            record["nbest"] = []
        return _json_line({"line": number, "source": text, **record})
    columns = [str(number), "", ""] if style.nbest > 1 else [""]
    return "\t".join([*columns, *[""] * (style.align + style.words)])


def _json_line(record: dict[str, Any]) -> str:
    """JSON in one line; control characters and line separators are escaped."""
    return json.dumps(record, ensure_ascii=False, allow_nan=False).translate(_ESCAPES)


def translation_json(
    translator: "Translator", text: str, translation: "Translation", style: OutputStyle
) -> dict[str, Any]:
    """The JSON object of a translation; of a paragraph, with those of its sentences."""
    record: dict[str, Any] = {
        "text": translation.text,
        "score": round(translation.score, 6),
        "finished": translation.finished,
        "unknown_words": translation.unknown_words,
    }
    if translation.missing_placeholders:
        record["missing_placeholders"] = translation.missing_placeholders
    if translation.missing_terms:
        record["missing_terms"] = translation.missing_terms
    if translation.sentences:
        record["sentences"] = [
            {"source": source, **translation_json(translator, source, sentence, style)}
            for source, sentence in translation.sentences
        ]
    elif alignment := _word_attention(translator, text, translation, style):
        if style.words:
            record["words"] = [
                {"text": word.text, "confidence": round(word.confidence, 6)}
                for word in alignment.words
            ]
        if style.align:
            record["alignment"] = alignment.alignment
    return record


def _columns(
    translator: "Translator", number: int, text: str, translation: "Translation", style: OutputStyle
) -> list[str]:
    """With n-best number and score; the text; alignments and word probabilities if requested."""
    columns = [str(number), f"{translation.score:.4f}"] if style.nbest > 1 else []
    columns.append(translation.text)
    if alignment := _word_attention(translator, text, translation, style):
        from dhyan.insight.word_alignment import pharaoh

        if style.align:
            columns.append(pharaoh(alignment.alignment))
        if style.words:
            columns.append(" ".join(f"{word.confidence:.3f}" for word in alignment.words))
    return columns


def _word_attention(
    translator: "Translator", text: str, translation: "Translation", style: OutputStyle
) -> "WordAttention | None":
    """A second pass over a translation, if alignments or word probabilities are requested."""
    if not (style.align or style.words):
        return None
    from dhyan.insight.word_alignment import word_attention

    return word_attention(translator, text, translation, attention=style.attention)


class TranslationWarnings:
    """Warnings about translations: the first few of each sort with their place, then a total.

    Unknown words are counted, and named once.
    """

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.unknown_words: Counter[str] = Counter()
        self.named: set[str] = set()

    def check(self, place: str, translation: "Translation") -> None:
        """Warn about a translation, or one of its n-best list, that is not as it should be."""
        for word in translation.unknown_words:
            if word in self.unknown_words or len(self.unknown_words) < MAX_UNKNOWN_WORDS:
                self.unknown_words[word] += 1
        if translation.no_token_allowed:
            self.warn(place, "stops where no token was allowed", "stop where no token was allowed")
        elif not translation.finished:
            self.warn(place, "cut off at the length limit (--max-length)", "were cut off")
        nbest = (translation, *translation.others)
        if lost := _distinct(item.missing_placeholders for item in nbest):
            self.warn(place, f"lost {lost}", "lost a placeholder")
        if missing := _distinct(item.missing_terms for item in nbest):
            self.warn(place, f"lacks {missing}", "lack a term of the glossary")

    def warn(self, place: str, line: str, summary: str) -> None:
        """Print one of the first few warnings with this summary; count the others."""
        self.counts[summary] = self.counts.get(summary, 0) + 1
        if self.counts[summary] <= FIRST_WARNINGS:
            warn(f"{place}: {line}")

    def name_unknown_words(self, name: str) -> None:
        """Name the most frequent unknown words, each only once."""
        words = [word for word, _ in self.unknown_words.most_common() if word not in self.named]
        if not words:
            return
        self.named.update(words)
        more = " or more" if len(self.unknown_words) == MAX_UNKNOWN_WORDS else ""
        count = f"{len(words):,}{more} word{' is' if len(words) == 1 else 's are'}"
        rest = ", …; --json has those of each line" if len(words) > NAMED_WORDS else ""
        listed = ", ".join(words[:NAMED_WORDS])
        warn(f"{name}: {count} unknown ({UNKNOWN_TO_MODEL}): {listed}{rest}")

    def log_totals(self) -> None:
        """Print how many warnings of each sort there were, if more than were printed."""
        for summary, count in self.counts.items():
            if count > FIRST_WARNINGS:
                warn(f"{count:,} translations in all {summary}")


def _distinct(texts: Iterable[Sequence[str]]) -> str:
    return ", ".join(dict.fromkeys(text for group in texts for text in group))
