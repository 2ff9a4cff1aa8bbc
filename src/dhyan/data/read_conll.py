"""Read tagged sentences in CoNLL columns: a word and its tag on a line, sentences apart by a blank."""

from collections.abc import Iterator
from pathlib import Path

from dhyan.data.read_report import Occurrences, ReadReport
from dhyan.data.read_table import Row, read_table_lines
from dhyan.data.text_lines import file_error

DOCUMENT = "-DOCSTART-"  # of CoNLL-2003, on a line of its own


def read_conll(path: Path, report: ReadReport) -> Iterator[Row]:
    """The words and the tags of each sentence, separated by spaces, and the line it begins on.

    The word is the first column, the tag the last; columns are separated by tabs, else by spaces.
    A space inside a word becomes an underscore. Comments begin with `# `.
    """
    words, tags, first = list[str](), list[str](), 0
    spaced = Occurrences()
    for number, text in read_table_lines(path, report):
        columns = text.split("\t") if "\t" in text else text.split(" ")
        is_comment = text.startswith("# ") and len(columns) != 2
        if not text.strip() or columns[0] == DOCUMENT:
            if words:
                yield first, " ".join(words), " ".join(tags)
            words, tags = [], []
        elif is_comment:
            continue
        elif len(columns) < 2:
            reason = "one column; give a word and its tag, separated by a tab"
            report.add_error(file_error(path, number, reason))
        elif not columns[0].strip() or not columns[-1].strip():
            report.add_error(file_error(path, number, "the word or the tag is empty; fill it in"))
        else:
            first = number if not words else first
            word = "_".join(columns[0].split())
            if word != columns[0]:
                spaced.add(report.location("source", number))
            words.append(word)
            tags.append("_".join(columns[-1].split()))
    if words:
        yield first, " ".join(words), " ".join(tags)
    if spaced.count:
        report.notes.append(f"{spaced.count:,} words with a space inside, now `_` ({spaced})")
