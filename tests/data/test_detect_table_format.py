"""Headers and delimiters of tables: detected, noted, and overridden."""

import gzip

import pytest

from dhyan.config import load_recipe
from dhyan.data.corpus import load_corpus
from dhyan.data.detect_table_format import header_columns
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_report import ReadReport
from dhyan.errors import UserError
from tests.tiny_models import tiny_settings

ROWS = [("Where are you going?", "Bạn đi đâu vậy?"), ("I like tea, too.", "Tôi cũng thích trà.")]


def read(path, *rest, **options):
    """The texts of a corpus, and the notes of its report."""
    report = ReadReport(tolerant=True)
    pairs = [
        (pair.source, pair.target) for pair in read_pairs(path, *rest, report=report, **options)
    ]
    assert not report.errors
    return pairs, report.notes


def write_table(path, rows, delimiter="\t"):
    path.write_text("".join(delimiter.join(row) + "\n" for row in rows), encoding="utf-8")
    return path


HEADERS = [
    *(("en", "vi"), ("EN", "VI"), ("English", "Vietnamese"), ("english", "VIETNAMESE")),
    *(
        ("source", "target"),
        ("src", "tgt"),
        ("Source text", "Target text"),
        ("src_text", "tgt_text"),
    ),
    *(("eng_Latn", "vie_Latn"), ("en-US", "vi-VN"), ("English sentence", "Tiếng Việt")),
    *(("English", "Français"), ("हिन्दी", "English"), ("text", "translation"), ('"en"', '"vi"')),
]


@pytest.mark.parametrize("names", HEADERS)
def test_a_header_is_not_a_pair(tmp_path, names):
    path = write_table(tmp_path / "a.tsv", [names, *ROWS])
    pairs, notes = read(path)
    assert pairs == ROWS
    remedy = "if it is a pair, add header='no'"
    assert notes == [f"line 1 is the header: {', '.join(names)}; {remedy}"]
    pairs, notes = read(path, header="no")
    assert pairs == [names, *ROWS]
    assert notes == []


@pytest.mark.parametrize("names", HEADERS)
def test_the_names_of_a_header_are_columns(tmp_path, names):
    path = write_table(tmp_path / "a.tsv", [names, *ROWS])
    pairs, _ = read(path, columns=names[::-1])
    assert pairs == [row[::-1] for row in ROWS]


@pytest.mark.parametrize(
    "first",
    [
        ("English", "Anglais"),
        ("German", "Deutsch"),
        ("Hindi", "हिन्दी"),
        ("English", "English"),
        ("no text", "kein Text"),
        ("I speak English", "Vietnamese"),
        ("Is it?", "es"),
        ("Hello", "vi"),
    ],
)
def test_a_first_pair_of_words_is_a_pair(tmp_path, first):
    pairs, notes = read(write_table(tmp_path / "a.tsv", [first, *ROWS]))
    assert pairs == [first, *ROWS]
    assert notes == []


def test_codes_above_words_as_short_are_taken_as_a_pair_and_noted(tmp_path):
    rows = [("it", "es"), ("he", "er"), ("you", "du"), ("we", "wir")]
    pairs, notes = read(write_table(tmp_path / "a.tsv", rows))
    assert pairs == rows
    assert notes == [
        "line 1 looks like a header and is taken as a pair: it, es; if it is one, add header='yes'"
    ]
    assert read(tmp_path / "a.tsv", header="yes")[0] == rows[1:]


def test_an_unusual_header_is_left_out_on_request(tmp_path):
    path = write_table(tmp_path / "a.tsv", [("left", "right"), *ROWS])
    assert read(path)[0] == [("left", "right"), *ROWS]
    assert read(path, header="yes")[0] == ROWS


def test_two_languages_are_found_among_other_columns(tmp_path):
    rows = [("id", "en", "vi"), *((str(n), *row) for n, row in enumerate(ROWS))]
    pairs, notes = read(write_table(tmp_path / "a.tsv", rows))
    assert pairs == ROWS
    assert notes[1] == "of 3 columns en and vi are taken"
    many = [("en", "vi", "de"), *((*row, "x") for row in ROWS)]
    remedy = r"name two with columns=\('a', 'b'\) of en, vi, de"
    with pytest.raises(UserError, match=f"3 columns; {remedy}"):
        list(read_pairs(write_table(tmp_path / "b.tsv", many)))


def test_columns_are_named_by_number(tmp_path):
    rows = [(str(n), *row) for n, row in enumerate(ROWS)]
    path = write_table(tmp_path / "a.tsv", rows)
    assert read(path, columns=("3", "2"))[0] == [row[::-1] for row in ROWS]
    write_table(tmp_path / "b.csv", [("x", "Yes", "Có")], ",")
    assert read(tmp_path / "b.csv", columns=("2", "3"), header="no")[0] == [("Yes", "Có")]
    with pytest.raises(UserError, match=r"columns=\('2', '4'\), but there are 3 columns; give two"):
        list(read_pairs(path, columns=("2", "4")))
    reason = r"columns=\('en', 'vi'\) with header='no'"
    with pytest.raises(UserError, match=f"{reason}; .* numbers such as 1,2"):
        list(read_pairs(path, columns=("en", "vi"), header="no"))


def test_a_header_of_two_text_files_is_noted(tmp_path):
    for name, first, side in (("a.en", "English", 0), ("a.vi", "Vietnamese", 1)):
        write_table(tmp_path / name, [(first,), *((row[side],) for row in ROWS)])
    files = tmp_path / "a.en", tmp_path / "a.vi"
    pairs, notes = read(*files)
    assert pairs[0] == ("English", "Vietnamese")
    assert notes == [
        "line 1 looks like a header and is taken as a pair: English, Vietnamese; if it is one, add "
        "header='yes'"
    ]
    pairs, notes = read(*files, header="yes")
    assert pairs == ROWS
    assert notes[0].startswith("line 1 is the header: English, Vietnamese")


def test_a_header_is_not_trained_on(tmp_path, log):
    rows = [(f"line number {n}", f"dòng số {n}") for n in range(30)]
    path = write_table(tmp_path / "a.tsv", [("English", "Vietnamese"), *rows])
    corpus = load_corpus(load_recipe("bahdanau2015-small", tiny_settings("rnn", path, "")))
    assert [(pair.source, pair.target) for pair in corpus.training] == rows
    assert any("a.tsv: line 1 is the header: English, Vietnamese" in line for line in log.messages)


QUOTED = [('"Where, then?"', '"Ở đâu, vậy?"'), ('"He said ""no"""', '"Anh ấy nói; ""không"""')]
UNQUOTED = [("Where, then?", "Ở đâu, vậy?"), ('He said "no"', 'Anh ấy nói; "không"')]


@pytest.mark.parametrize(
    ("name", "delimiter", "note"),
    [
        ("a.csv", ";", "semicolon, not by comma as usual in a .csv"),
        ("a.csv", "\t", "tab, not by comma as usual in a .csv"),
        ("a.csv", "|", "pipe, not by comma as usual in a .csv"),
        ("a.tsv", ",", "comma, not by tab as usual in a .tsv"),
        ("a.tsv", ";", "semicolon, not by tab as usual in a .tsv"),
        ("a.csv", ",", ""),
    ],
)
@pytest.mark.parametrize("names", [("en", "vi"), ("English", "Vietnamese")])
def test_the_delimiter_is_detected(tmp_path, name, delimiter, note, names):
    pairs, notes = read(write_table(tmp_path / name, [names, *QUOTED], delimiter))
    assert pairs == UNQUOTED
    assert notes[0].startswith(f"columns are separated by {note}; ") if note else len(notes) == 1


def test_the_delimiter_of_a_compressed_table_is_detected(tmp_path):
    path = write_table(tmp_path / "a.csv", [("en", "vi"), *QUOTED], ";")
    (tmp_path / "b.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    assert read(tmp_path / "b.csv.gz")[0] == UNQUOTED


def test_a_delimiter_that_is_named_is_taken(tmp_path):
    rows = [("a,1", "b,1"), ("c,2", "d,2")]
    path = write_table(tmp_path / "a.csv", [("x,y", "z,w"), *rows], ";")
    assert read(path, delimiter="semicolon")[0] == rows
    assert read(path, delimiter="comma", columns=("1", "3"))[0] == [("a", "1"), ("c", "2")]


def test_an_ambiguous_delimiter_is_named_in_the_error(tmp_path):
    path = write_table(tmp_path / "a.tsv", [("left;1", "right"), ("a;2", "b"), ("c;3", "d")], ",")
    reason = "may be separated by comma or semicolon; name one with delimiter='comma'"
    with pytest.raises(UserError, match=rf"a\.tsv:1: its columns {reason}"):
        list(read_pairs(path))
    assert read(path, delimiter="comma", header="no")[0][1] == ("a;2", "b")


def test_a_row_of_too_many_columns_names_the_delimiter(tmp_path):
    path = write_table(tmp_path / "a.csv", [("en", "vi"), ("a, b", "c"), ("d", "e")], ",")
    remedy = "separate them by one comma, and quote texts that hold a comma, or name another"
    with pytest.raises(UserError, match=f"a.csv:2: .* 3, not 2; {remedy} one with delimiter"):
        list(read_pairs(path))


def test_the_separator_line_of_a_spreadsheet_is_followed(tmp_path):
    (tmp_path / "a.csv").write_text("sep=;\nen;vi\nYes, sir;Vâng\n", encoding="utf-8")
    assert read(tmp_path / "a.csv")[0] == [("Yes, sir", "Vâng")]


@pytest.mark.parametrize(
    ("cells", "columns"),
    [
        (("en", "vi"), [0, 1]),
        (("id", "en", "vi", "score"), [1, 2]),
        (("en", "id"), [0, 1]),
        (("en", "en"), []),
        (("en",), []),
        ((), []),
        (("one", "two"), []),
        (("x" * 10_000, "vi"), []),
    ],
)
def test_header_columns(cells, columns):
    assert header_columns(cells) == columns
