"""The corpus files that a recipe names, as streams of pairs that can be read repeatedly."""

import logging
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from dhyan.config import Data
from dhyan.config.sections import Delimiter, Header
from dhyan.data.detect_table_format import column_languages
from dhyan.data.filters import LengthFilter
from dhyan.data.pairs import Pair
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_report import ReadReport
from dhyan.data.text_lines import has_columns
from dhyan.errors import UserError
from dhyan.text.languages import language_of

logger = logging.getLogger(__name__)

LOG_EVERY = 500_000  # pairs between two messages of progress


@dataclass(frozen=True)
class CorpusFiles:
    """The files of one corpus; they are read anew each time."""

    source: str
    target: str
    columns: tuple[str, ...] = ()
    header: Header = "auto"
    delimiter: Delimiter = ""
    unescape: bool = False
    dedupe: bool = False
    length_filter: LengthFilter = LengthFilter()
    weight: float = 1.0

    def read(self, report: ReadReport) -> Iterator[Pair]:
        """The usable pairs."""
        columns = self.columns if has_columns(Path(self.source)) else ()
        return read_pairs(
            Path(self.source),
            Path(self.target) if self.target else None,
            columns=(columns[0], columns[1]) if columns else None,
            header=self.header,
            delimiter=self.delimiter,
            unescape=self.unescape,
            dedupe=self.dedupe,
            length_filter=self.length_filter,
            report=report,
        )


@dataclass(frozen=True)
class PairStream:
    """The pairs of a corpus, read from its files at each iteration; they must not change."""

    files: CorpusFiles
    fingerprint: str

    def __iter__(self) -> Iterator[Pair]:
        report = ReadReport()
        yield from self.files.read(report)
        if report.fingerprint != self.fingerprint:
            raise UserError(f"{self.files.source}: changed while it was in use; start again")


@dataclass(frozen=True)
class ExcludeSources:
    """Pairs whose source is not among the excluded ones."""

    pairs: Iterable[Pair]
    excluded: frozenset[str]

    def __iter__(self) -> Iterator[Pair]:
        return (pair for pair in self.pairs if pair.source not in self.excluded)


@dataclass(frozen=True)
class ExcludePositions:
    """Pairs without those at the excluded positions, counted from 0."""

    pairs: Iterable[Pair]
    excluded: frozenset[int]

    def __iter__(self) -> Iterator[Pair]:
        return (pair for index, pair in enumerate(self.pairs) if index not in self.excluded)


@dataclass(frozen=True)
class LogProgress:
    """Passes pairs on, and logs their number now and then; `message` has a field `count`."""

    pairs: Iterable[Pair]
    message: str

    def __iter__(self) -> Iterator[Pair]:
        for count, pair in enumerate(self.pairs, 1):
            yield pair
            if count % LOG_EVERY == 0:
                logger.info(self.message.format(count=f"{count:,}"))


@dataclass(frozen=True)
class ReadPairs:
    """Pairs read from files, how many there are, and their fingerprint."""

    pairs: Iterable[Pair]
    count: int
    fingerprint: str


def read_files(files: CorpusFiles, *, stream: bool) -> ReadPairs:
    """Read a corpus and log the report; with `stream` no pair is kept in memory."""
    report = ReadReport()
    message = f"{_escape_braces(files.source)}: read {{count}} pairs"
    pairs: Iterable[Pair] = LogProgress(files.read(report), message)
    if stream:
        for _ in pairs:
            pass
        pairs = PairStream(files, report.fingerprint)
    else:
        pairs = list(pairs)
    for line in report.lines():
        logger.info(f"{files.source}: {line}")
    return ReadPairs(pairs, report.kept_count, report.fingerprint)


def _escape_braces(text: str) -> str:
    return text.replace("{", "{{").replace("}", "}}")


def training_files(data: Data) -> CorpusFiles:
    """The main training corpus of a recipe."""
    return _for_training(_corpus_files(data, data.source, data.target), data)


def mixed_files(data: Data) -> list[CorpusFiles]:
    """The other training corpora of a recipe (data.mix)."""
    return [
        _for_training(
            replace(_corpus_files(data, mixed.source, mixed.target), weight=mixed.weight), data
        )
        for mixed in data.mix
    ]


def validation_files(data: Data) -> CorpusFiles | None:
    """The validation set of a recipe, of any length, duplicates included."""
    return _corpus_files(data, data.valid_source, data.valid_target) if data.valid_source else None


def test_files(data: Data) -> CorpusFiles | None:
    """The test set of a recipe; it is only used to detect leakage."""
    return _corpus_files(data, data.test_source, data.test_target) if data.test_source else None


def _corpus_files(data: Data, source: str, target: str) -> CorpusFiles:
    return CorpusFiles(
        source,
        target,
        columns=data.columns,
        header=data.header,
        delimiter=data.delimiter,
        unescape=data.unescape,
    )


def _for_training(files: CorpusFiles, data: Data) -> CorpusFiles:
    """The files with the filters that only training pairs pass through."""
    length_filter = LengthFilter(data.min_words, data.max_words, data.max_length_ratio)
    return replace(files, length_filter=length_filter, dedupe=data.dedupe)


def read_first_pairs(data: Data) -> None:
    """Read the first pair of each corpus, so that a missing file is reported at once."""
    for files in (
        training_files(data),
        validation_files(data),
        test_files(data),
        *mixed_files(data),
    ):
        if files and files.source:
            next(files.read(ReadReport()))


def named_languages(data: Data) -> tuple[str, str]:
    """The languages that the columns of the training table tell, else the names of its files."""
    report = ReadReport()
    if has_columns(Path(data.source)):
        with suppress(UserError):  # what cannot be read is reported when all is read
            next(_corpus_files(data, data.source, data.target).read(report), None)
    source, target = column_languages(report.columns) if report.columns else ("", "")
    return source or language_of(data.source), target or language_of(data.target)


def check_columns(data: Data) -> None:
    """Refuse column names where no file is a table."""
    files = (data.source, data.valid_source, data.test_source, *(m.source for m in data.mix))
    if data.columns and not any(has_columns(Path(file)) for file in files if file):
        names = ",".join(data.columns)
        reason = "none of the files is a .tsv, .csv, .jsonl or .tmx"
        raise UserError(f"data.columns: {names} are columns of a table, and {reason}; leave it out")
