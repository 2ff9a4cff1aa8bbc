import csv
import gzip
import json
import lzma
import os
import random
import re
import sys
import tracemalloc
from contextlib import suppress

import numpy as np
import pytest
import torch
from backports import zstd
from hypothesis import given, settings
from hypothesis import strategies as st

from dhyan.batch import Tokens
from dhyan.data.encode import encode_pairs
from dhyan.data.filters import MAX_CHARACTERS, LengthFilter
from dhyan.data.pairs import Pair
from dhyan.data.read_pairs import read_pairs
from dhyan.data.read_report import ReadReport
from dhyan.data.text_lines import OPENERS
from dhyan.errors import UserError
from dhyan.special_tokens import BOS, EOS
from dhyan.text.tokenizer import Tokenizer

GOOD = b"one\ntwo\nthree\n"
TABLE = b"source,english_sentence,hindi_sentence\n"
BOTH = ("english_sentence", "hindi_sentence")


def write(folder, **files):
    paths = [folder / name.replace("_", ".") for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    return paths


def texts(pairs):
    return [(pair.source, pair.target) for pair in pairs]


# What is wrong with `a.en` beside a good `a.hi`: its bytes, the line named, and what is said of it.
LINES = {
    "latin-1": (b"one\ncaf\xe9\nthree\n", ":2", r"byte 4 .*0xe9.* not UTF-8; .*iconv"),
    "lone continuation": (b"one\ntwo\n\x80\n", ":3", "byte 1 .*0x80.* not UTF-8"),
    "cut character": (b"one\n\xe0\xa4\nthree\n", ":2", "byte 1 .* not UTF-8"),
    "overlong form": (b"one\n\xc0\xaf\nthree\n", ":2", "byte 1 .* not UTF-8"),
    "surrogate": (b"one\ntwo\n\xed\xa0\x80\n", ":3", "byte 1 .* not UTF-8"),
    "beyond Unicode": (b"\xf4\x90\x80\x80\ntwo\nthree\n", ":1", "byte 1 .* not UTF-8"),
    "UTF-16 with a mark": ("one\ntwo\nthree\n".encode("utf-16"), ":1", "UTF-16; .*iconv"),
    "UTF-16, big end first": (b"\xfe\xff\0o\0n\0e\0\n", ":1", "UTF-16; .*iconv"),
    "UTF-16 without a mark": ("one\ntwo\nthree\n".encode("utf-16-le"), ":1", "UTF-16; .*iconv"),
    "NUL": (b"one\ntw\0o\nthree\n", ":2", "byte 3 .* NUL"),
    "gzip under another name": (gzip.compress(GOOD), ":1", r"gzip data; .*\.gz"),
    "xz under another name": (lzma.compress(GOOD), ":1", r"xz data; .*\.xz"),
    "zip": (b"PK\x03\x04\x14\0\0\0", ":1", "zip archive; unpack"),
    "zstd": (b"\x28\xb5\x2f\xfd\x04\x58", ":1", r"zstd data; .*\.zst"),
    "bzip2": (b"BZh91AY&SY\xf1\x9b\n", ":1", "bzip2 data; decompress"),
    "empty": (b"", "", "is empty"),
    "one line short": (b"one\ntwo\n", ":2", r"lines is 2, but .*a\.hi has 3"),
    "all blank": (b"\n \n\t\n", "", "no usable pair .*3 × empty source"),
}

# One table, or a path of its own: files, arguments, the place named, and what is said of it.
FILES = {
    "one line long": ({"a.en": GOOD + b"x\n" * 9, "a.hi": GOOD}, None, "a.hi:3", "but .*has 12"),
    "cut gzip": ({"a.en.gz": gzip.compress(GOOD)[:-9], "a.hi": GOOD}, None, "a.en.gz:", "broken"),
    "bad gzip sum": (
        {"a.en.gz": gzip.compress(GOOD)[:-8] + b"12345678", "a.hi": GOOD},
        None,
        "a.en.gz:",
        r"broken \.gz data",
    ),
    "text called .gz": ({"a.en.gz": GOOD, "a.hi": GOOD}, None, "a.en.gz:1", "broken .*Not a gzip"),
    "spoilt gzip": (
        {"a.en.gz": gzip.compress(GOOD)[:10] + b"\xff" * 30, "a.hi": GOOD},
        None,
        "a.en.gz:1",
        "broken",
    ),
    "cut xz": ({"a.en.xz": lzma.compress(GOOD)[:-9], "a.hi": GOOD}, None, "a.en.xz:", "broken"),
    "text called .xz": ({"a.en.xz": GOOD, "a.hi": GOOD}, None, "a.en.xz:1", "broken .xz data"),
    "one side only": ({"a.en": GOOD}, None, "a.en", "one side; give the target"),
    "columns of plain text": ({"a.en": GOOD, "a.hi": GOOD}, BOTH, "a.hi", "no columns"),
    "two tables": ({"a.tsv": GOOD, "b.tsv": GOOD}, None, "b.tsv", "second file"),
    "TSV with one field": (
        {"a.tsv": b"a\tb\nc\n"},
        None,
        "a.tsv:2",
        "columns is 1, not at least 2",
    ),
    "TSV against its header": (
        {"a.tsv": b"hi\ten\tx\n1\t2\n"},
        ("en", "hi"),
        "a.tsv:2",
        "columns is 2, not 3",
    ),
    "TSV without the column": ({"a.tsv": b"hi\ten\n1\t2\n"}, ("en", "de"), "a.tsv:1", "called de"),
    "TSV of one column twice": (
        {"a.tsv": b"hi\ten\n1\t2\n"},
        ("en", "en"),
        "a.tsv:1",
        "both sides",
    ),
    "CSV with a spelling slip": (
        {"a.csv": TABLE + b"t,a,b\n"},
        ("english_sentense", "hindi_sentence"),
        "a.csv:1",
        "did you mean english_sentence, or another of source, english_sentence, hindi_sentence",
    ),
    "CSV with columns unnamed": (
        {"a.csv": TABLE + b"t,a,b\n"},
        None,
        "a.csv:1",
        "3 columns; name .* of source, english_sentence, hindi_sentence",
    ),
    "CSV with a field missing": ({"a.csv": TABLE + b"t,a,b\nt,c\n"}, BOTH, "a.csv:3", "2, not 3"),
    "CSV with a field too many": ({"a.csv": TABLE + b"t,a,b,c\n"}, BOTH, "a.csv:2", "4, not 3"),
    "CSV with an open quote": ({"a.csv": TABLE + b't,"a,b\nt,c,d\n'}, BOTH, "a.csv:2", "quoting"),
    "CSV with text after a quote": ({"a.csv": TABLE + b't,"a"a,b\n'}, BOTH, "a.csv:2", "quoting"),
    "CSV with an endless quote": (
        {"a.csv": TABLE + b'u,c,d\nt,"a,b\n' + b"t,c,d\n" * 90_000},
        BOTH,
        "a.csv:3",
        "quoting",
    ),
    "CSV with an endless line": (
        {"a.csv": TABLE + b"u,c,d\nt,a," + b"x" * 2_000_000 + b"\n"},
        BOTH,
        "a.csv:3",
        "more than 1,048,576 bytes",
    ),
    "CSV of a header": ({"a.csv": TABLE}, BOTH, "a.csv", "no usable pair .no line"),
    "empty CSV": ({"a.csv": b""}, BOTH, "a.csv", "is empty"),
    "CSV that is not UTF-8": ({"a.csv": TABLE + b'u,"c\n\xe9",d\n'}, BOTH, "a.csv:3", "not UTF-8"),
    "cut zst": ({"a.en.zst": zstd.compress(GOOD)[:-3], "a.hi": GOOD}, None, "a.en.zst:", "broken"),
    "text called .zst": ({"a.en.zst": GOOD, "a.hi": GOOD}, None, "a.en.zst:1", "broken .zst data"),
    "JSONL that is no JSON": (
        {"a.jsonl": b'{"source": "a", "target": "b"}\n{"source": "a", }\n'},
        None,
        "a.jsonl:2",
        r"not JSON at character 17 \(.*\); write one object",
    ),
    "JSONL of lists": ({"a.jsonl": b'["a", "b"]\n'}, None, "a.jsonl:1", "no object; write one"),
    "JSONL too deep": ({"a.jsonl": b"[" * 100_000 + b"\n"}, None, "a.jsonl:1", "JSON"),
    "JSONL with a key missing": (
        {"a.jsonl": b'{"en": "a", "hi": "b"}\n{"en": "c"}\n'},
        None,
        "a.jsonl:2",
        "no key is called hi; name two of en",
    ),
    "JSONL with a spelling slip": (
        {"a.jsonl": b'{"english": "a", "hindi": "b", "by": "me"}\n'},
        ("english", "hindy"),
        "a.jsonl:1",
        "no key is called hindy; did you mean hindi, or another of english, hindi, by",
    ),
    "JSONL with keys unnamed": (
        {"a.jsonl": b'{"en": "a", "hi": "b", "by": "me"}\n'},
        None,
        "a.jsonl:1",
        "3 texts, .*; name two with columns=\\(.a., .b.\\) of en, hi, by",
    ),
    "JSONL of one key twice": ({"a.jsonl": b"{}\n"}, ("en", "en"), "a.jsonl", "both sides are en"),
    "JSONL with the texts inside": (
        {"a.jsonl": b'{"id": 7, "translation": {"en": "a", "hi": "b"}}\n'},
        None,
        "a.jsonl:1",
        "0 texts, .*; give columns=\\(.translation.en., .translation.hi.\\)",
    ),
    "JSONL with a spelling slip inside": (
        {"a.jsonl": b'{"id": 7, "translation": {"en": "a", "hi": "b"}}\n'},
        ("translation.en", "translation.hindi"),
        "a.jsonl:1",
        "did you mean translation.hi, or another of id, translation.en, translation.hi",
    ),
    "JSONL called .json": (
        {"a.json": b'{"source": "a", "target": "b"}\n'},
        None,
        "a.json",
        "one object on each line, rename it to .jsonl",
    ),
    "TSV with a name that stands twice": (
        {"a.tsv": b"en\thi\ten\n1\t2\t3\n"},
        ("en", "hi"),
        "a.tsv:1",
        "2 columns are called en; give each a name of its own",
    ),
    "CSV with one name for both": (
        {"a.csv": b"text,text\n1,2\n"},
        None,
        "a.csv:1",
        "2 columns are called text",
    ),
    "JSONL with a number": (
        {"a.jsonl": b'{"source": "a", "target": 7}\n'},
        None,
        "a.jsonl:1",
        "target is 7, not a text; write it in quotes",
    ),
    "JSONL with half a surrogate pair": (
        {"a.jsonl": b'{"source": "a", "target": "\\ud800"}\n'},
        None,
        "a.jsonl:1",
        "target holds NUL or half a surrogate pair",
    ),
    "CSV with NUL": ({"a.csv": TABLE + b"u,c,\0d\n"}, BOTH, "a.csv:2", "byte 5 .* NUL"),
}


def assert_error(location, pattern, *paths, **options):
    with pytest.raises(UserError) as caught:
        list(read_pairs(*paths, **options))
    message = str(caught.value)
    assert message.isprintable(), "one line without control characters"
    assert re.match(
        re.escape(location) + (r"\d+: " if location.endswith(":") else ": "), message
    ), message
    assert re.search(pattern, message), message
    assert len(message.split("; ")) >= 2, f"no remedy: {message}"


@pytest.mark.parametrize("name", LINES)
def test_a_bad_file_is_named_by_its_line(tmp_path, name):
    content, line, pattern = LINES[name]
    source_path, target_path = write(tmp_path, a_en=content, a_hi=GOOD)
    assert_error(f"{source_path}{line}", pattern, source_path, target_path)
    if name != "all blank":
        assert_error(f"{source_path}{line}", pattern, target_path, source_path)


@pytest.mark.parametrize("name", FILES)
def test_a_bad_table_or_archive_is_named_by_its_line(tmp_path, name):
    files, columns, location, pattern = FILES[name]
    for path, content in files.items():
        (tmp_path / path).write_bytes(content)
    assert_error(f"{tmp_path}/{location}", pattern, *(tmp_path / f for f in files), columns=columns)


def test_an_unreadable_path_is_named(tmp_path, monkeypatch):
    source_path, target_path = write(tmp_path, train_en=GOOD, train_hi=GOOD)
    assert_error(
        f"{tmp_path}/tain.en",
        "no such file; did you mean train.en",
        tmp_path / "tain.en",
        target_path,
    )
    assert_error(f"{tmp_path}/no/x", "no such file; check", source_path, tmp_path / "no/x")
    assert_error(f"{source_path}/x", "Not a directory", source_path / "x", target_path)
    assert_error(f"{tmp_path}", "a folder", tmp_path, target_path)
    assert_error(f"{tmp_path}/{'x' * 300}", "name too long", tmp_path / ("x" * 300), target_path)
    os.mkfifo(tmp_path / "pipe")
    assert_error(f"{tmp_path}/pipe", "not a regular file", source_path, tmp_path / "pipe")

    def refuse(path, mode):
        raise PermissionError(13, "Permission denied")

    monkeypatch.setitem(OPENERS, ".en", refuse)
    assert_error(f"{source_path}", "Permission denied", source_path, target_path)


def test_the_same_file_twice_is_refused(tmp_path):
    (source_path,) = write(tmp_path, a_en=GOOD)
    (tmp_path / "link.hi").symlink_to(source_path)
    assert_error(f"{source_path}", "source file again", source_path, source_path)
    assert_error(f"{tmp_path}/link.hi", "source file again", source_path, tmp_path / "link.hi")


def test_a_name_cannot_break_the_line_of_its_error(tmp_path):
    source_path, target_path = write(tmp_path, a_en=b"", a_hi=GOOD)
    odd = source_path.rename(tmp_path / "a\n\x1b[31m.en")
    assert_error(f"{tmp_path}/a\\n\\x1b[31m.en", "is empty", odd, target_path)


def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path):
    source_path, target_path = write(tmp_path, a_en=GOOD * 9, a_hi=GOOD * 9)
    pairs = read_pairs(source_path, target_path)
    next(pairs)
    os.utime(source_path, (1, 1))
    with pytest.raises(UserError, match=r"a\.en:27: changed while it was read; "):
        list(pairs)


SCRAPS = [
    b";",
    b"|",
    b"&amp;",
    b"en\tvi\n",
    b"<tu><tuv xml:lang='en'><seg>a</seg></tuv>",
    b"<tmx>",
    b"\n",
    b"\r",
    b"\t",
    b",",
    b'"',
    b"a",
    b" ",
    b"\0",
    b"\xe0\xa4\x85",
    b"\xe9",
    b"\xef\xbb\xbf",
    b'{"source": "a", "target": "',
    b'"}',
]


@settings(max_examples=300, deadline=None, derandomize=True, database=None)
@given(
    content=st.lists(st.sampled_from(SCRAPS), max_size=40).map(b"".join),
    name=st.sampled_from(
        ["a.en", "a.tsv", "a.csv", "a.jsonl", "a.tmx", "a.en.gz", "a.csv.xz", "a.en.zst"]
    ),
    tolerant=st.booleans(),
)
def test_random_bytes_only_raise_user_errors(tmp_path_factory, content, name, tolerant):
    folder = tmp_path_factory.mktemp("fuzz", numbered=True)
    (folder / name).write_bytes(content)
    (folder / "a.hi").write_bytes(b"x\n" * content.count(b"\n"))
    target = folder / "a.hi" if ".en" in name else None
    report = ReadReport(tolerant=tolerant)
    pairs: list[Pair] = []
    with suppress(UserError):
        pairs.extend(read_pairs(folder / name, target, report=report, unescape=True, dedupe=True))
    assert report.kept_count == len(pairs)
    assert all(pair.source.strip() and pair.target.strip() for pair in pairs)


def test_only_a_newline_ends_a_line(tmp_path):
    odd = "a\x0bb\x0cc\x1cd\x1de\x85f\u2028g\u2029h\ri"
    source_path, target_path = write(tmp_path, a_en=f"{odd}\n\r\nj".encode(), a_hi=b"1\n2\n3")
    report = ReadReport()
    assert list(read_pairs(source_path, target_path, report=report)) == [
        Pair(odd, "1", 1),
        Pair("j", "3", 3),
    ]
    assert report.lines()[1:] == [f"dropped 1 pair: empty source ({source_path}:2)"]


def test_a_carriage_return_and_a_byte_order_mark_are_stripped(tmp_path):
    source_path, target_path = write(
        tmp_path, a_en=b"\xef\xbb\xbfone\r\ntwo\r\r\n", a_hi="eins\nzwei\ufeff\n".encode()
    )
    assert texts(read_pairs(source_path, target_path)) == [("one", "eins"), ("two\r", "zwei\ufeff")]


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".zst", ".GZ"])
def test_every_file_format_gives_the_same_pairs(tmp_path, suffix):
    compressors = {".gz": gzip.compress, ".xz": lzma.compress, ".zst": zstd.compress}
    compress = compressors.get(suffix.lower(), bytes)
    pairs = [(f"line {i}, “{i}”\u2028 क\u200d्ष", f'पंक्ति "{i}" है।') for i in range(50)]

    def write_rows(name, rows):
        path = tmp_path / (name + suffix)
        path.write_bytes(compress("".join(f"{row}\n" for row in rows).encode()))
        return path

    def quoted(row):
        return ",".join('"' + field.replace('"', '""') + '"' for field in row)

    english, hindi = (
        write_rows("a.en", [p[0] for p in pairs]),
        write_rows("a.hi", [p[1] for p in pairs]),
    )
    plain = write_rows("a.tsv", [f"{a}\t{b}\tCC-BY" for a, b in pairs])
    headed = write_rows("b.tsv", ["hi\tn\ten", *(f"{b}\t7\t{a}" for a, b in pairs)])
    kaggle = write_rows(
        "a.csv", ["source," + ",".join(BOTH), *(quoted(("ted", *p)) for p in pairs)]
    )
    two = write_rows("b.csv", ["en,hi", *map(quoted, pairs)])
    usual = write_rows(
        "a.jsonl", [json.dumps({"id": 7, "target": b, "source": a}) for a, b in pairs]
    )
    only = write_rows("b.jsonl", [json.dumps({"en": a, "n": 1, "hi": b}) for a, b in pairs])
    named = write_rows("c.jsonl", [json.dumps({"x": "y", "hi": b, "en": a}) for a, b in pairs])
    nested = write_rows(
        "d.jsonl", [json.dumps({"t": {"hi": b, "en": a}, "n": 1}) for a, b in pairs]
    )
    fingerprints = set()
    for paths, columns in [
        ((nested,), ("t.en", "t.hi")),
        ((english, hindi), None),
        ((plain,), None),
        ((headed,), ("en", "hi")),
        ((kaggle,), BOTH),
        ((two,), None),
        ((usual,), None),
        ((only,), None),
        ((named,), ("en", "hi")),
    ]:
        report = ReadReport()
        assert texts(read_pairs(*paths, columns=columns, report=report)) == pairs
        assert report.kept_count == 50
        fingerprints.add(report.fingerprint)
    assert len(fingerprints) == 1


def test_a_record_over_several_lines_is_numbered_by_its_first(tmp_path):
    rows = [["two\nlines", "x"], ["after,it", 'a "word"'], ["cr\rin", "quotes\r\nand\n\nmore"]]
    with open(tmp_path / "a.csv", "w", newline="") as file:
        csv.writer(file).writerows([["en", "hi"], *rows])
    assert list(read_pairs(tmp_path / "a.csv")) == [
        Pair("two lines", "x", 2),
        Pair("after,it", 'a "word"', 4),
        Pair("cr\rin", "quotes and  more", 5),
    ]


def test_every_dropped_pair_is_counted_with_its_location(tmp_path):
    long = "x" * (MAX_CHARACTERS + 1)
    source = ["a", "", "c", "d", " \t", long, "x" * MAX_CHARACTERS, "", "h", "i", "j"]
    target = ["1", "2", "", "4", "5", "6", "7", "", "\u3000", long, ""]
    source_path, target_path = write(
        tmp_path, a_en="\n".join(source).encode() + b"\n", a_hi="\n".join(target).encode() + b"\n"
    )
    report = ReadReport()
    assert [pair.line for pair in read_pairs(source_path, target_path, report=report)] == [1, 4, 7]
    assert report.kept_count + sum(drop.count for drop in report.dropped.values()) == len(source)
    assert report.lines() == [
        "kept 3 pairs",
        f"dropped 3 pairs: empty source ({source_path}:2, {source_path}:5, {source_path}:8)",
        f"dropped 3 pairs: empty target ({target_path}:3, {target_path}:9, {target_path}:11)",
        f"dropped 1 pair: source of more than 10,000 characters ({source_path}:6)",
        f"dropped 1 pair: target of more than 10,000 characters ({target_path}:10)",
    ]


def test_dropped_pairs_are_shown_by_the_first_locations(tmp_path):
    source_path, target_path = write(tmp_path, a_en=b"x\n" * 2000, a_hi=b"\n" * 1999 + b"x\n")
    report = ReadReport()
    list(read_pairs(source_path, target_path, report=report))
    first = ", ".join(f"{target_path}:{n}" for n in (1, 2, 3))
    assert report.lines()[1] == f"dropped 1,999 pairs: empty target ({first}, …)"


def test_blank_and_over_long_rows_of_a_table_are_dropped(tmp_path):
    big = b"x" * 3_000_000
    tables = {
        "a.tsv": b"1\t2\n\n" + big + b"\t3\n4\t" + big + b"\n5\t6\tx\n7\t8\n",
        "a.csv": b'a,b\n1,2\n\n3,"' + b"x" * 20_000 + b'"\n5,6\n7,8\n',
    }
    for name, content in tables.items():
        (tmp_path / name).write_bytes(content)
        report = ReadReport()
        expected = [("1", "2"), ("5", "6"), ("7", "8")]
        assert texts(read_pairs(tmp_path / name, report=report)) == expected
        assert report.dropped["blank line"].count == 1


def test_the_fingerprint_changes_with_any_pair(tmp_path):
    prints = set()
    for content in (b"a\tb\nc\td\n", b"a\tb\nc\te\n", b"c\td\na\tb\n", b"a\tb\n", b"ab\tx\nc\td\n"):
        (path,) = write(tmp_path, a_tsv=content)
        report = ReadReport()
        list(read_pairs(path, report=report))
        prints.add(report.fingerprint)
    assert len(prints) == 5


def test_memory_does_not_grow_with_the_line_or_the_file(tmp_path):
    bomb = gzip.compress(b"x" * 30_000_000 + b"\n" + b"good\n" * 5000)
    source_path, target_path = write(tmp_path, a_en_gz=bomb, a_hi=b"y\n" * 5001)
    report = ReadReport()
    tracemalloc.start()
    try:
        count = sum(1 for _ in read_pairs(source_path, target_path, report=report))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert count == 5000
    assert report.dropped["source of more than 10,000 characters"].count == 1
    assert peak < 6_000_000


def test_a_tolerant_report_lists_every_error(tmp_path):
    source_path, target_path = write(
        tmp_path, a_en=b"a\n\xff\nc\nd\0\ne\n", a_hi=b"1\n2\n\xff\n4\n5\n6\n7\n"
    )
    report = ReadReport(tolerant=True)
    assert [pair.line for pair in read_pairs(source_path, target_path, report=report)] == [1, 5]
    locations = [f"{source_path}:2", f"{target_path}:3", f"{source_path}:4", f"{source_path}:5"]
    assert [error.split(": ")[0] for error in report.errors] == locations
    assert report.error_count == 4
    assert report.lines()[:4] == report.errors


def test_a_tolerant_report_survives_broken_records(tmp_path):
    (path,) = write(tmp_path, a_csv=b'a,b\n1,2\n3\n"x"y,4\n5,6\n7,\xff\n8,9\n')
    report = ReadReport(tolerant=True)
    assert texts(read_pairs(path, report=report)) == [("1", "2"), ("5", "6"), ("8", "9")]
    assert [error.split(": ")[0] for error in report.errors] == [f"{path}:{n}" for n in (3, 4, 6)]


def test_a_tolerant_report_stores_the_first_errors(tmp_path):
    source_path, target_path = write(tmp_path, a_en=b"\xff\n" * 500 + b"a\n", a_hi=b"b\n" * 501)
    report = ReadReport(tolerant=True)
    assert len(list(read_pairs(source_path, target_path, report=report))) == 1
    assert report.error_count == 500
    assert report.lines()[50] == "450 more errors like these"


class CharacterTokenizer(Tokenizer):
    """A tokenizer whose tokens are characters, each by its code point."""

    def __init__(self):
        pass

    def encode_batch(self, sentences):
        return [[ord(character) for character in text if character.isalnum()] for text in sentences]


def encode_rows(rows, *, max_tokens=10):
    pairs = [Pair(source, target, line) for line, (source, target) in enumerate(rows, 1)]
    report = ReadReport()
    return encode_pairs(
        iter(pairs),
        CharacterTokenizer(),
        CharacterTokenizer(),
        max_tokens=max_tokens,
        report=report,
    ), report


def test_a_source_ends_in_eos_and_a_target_has_bos_and_eos():
    examples, _ = encode_rows([("ab", "cde"), ("fgh", "i")])
    batch = examples.batch(np.array([1, 0]))
    assert batch.source.ids.tolist() == [[102, 103, 104, EOS], [97, 98, EOS, 0]]
    assert batch.target.ids.tolist() == [[BOS, 105, EOS, 0, 0], [BOS, 99, 100, 101, EOS]]


def test_a_batch_equals_the_padded_sentences():
    rng = random.Random(0)
    rows = [("".join(rng.choices("abc", k=rng.randint(1, 9))), "x") for _ in range(9000)]
    examples, report = encode_rows(rows)
    assert len(examples) == report.kept_count == 9000
    chosen = np.array([8999, 0, 4095, 4096, 17, 17])
    batch = examples.batch(chosen)
    plain = Tokens.pad([[*map(ord, rows[row][0]), EOS] for row in chosen])
    assert torch.equal(batch.source.ids, plain.ids)
    assert torch.equal(batch.source.mask, plain.mask)
    assert examples.lengths(chosen)[0].tolist() == plain.lengths.tolist()
    assert examples.lengths(chosen)[1].tolist() == [3] * 6


def test_pairs_with_too_many_tokens_are_dropped_with_their_line():
    rows = [("a", "b"), ("a" * 11, "b"), ("a", "!"), ("a" * 10, "b" * 10), ("a", "b" * 11)]
    examples, report = encode_rows(rows)
    assert len(examples) == 2
    assert report.lines() == [
        "kept 2 pairs",
        "dropped 1 pair: more than 10 tokens in the source (source:2)",
        "dropped 1 pair: no token in the target (target:3)",
        "dropped 1 pair: more than 10 tokens in the target (target:5)",
    ]


def test_a_corpus_with_no_pair_short_enough_is_an_error():
    with pytest.raises(UserError, match="no pair has 1 to 2 tokens a side; allow longer"):
        encode_rows([("abc", "d")], max_tokens=2)


def test_a_zst_file_of_several_frames_is_read_to_its_end(tmp_path):
    frames = b"".join(zstd.compress(line) for line in (b"one\n", b"two\n", b"three\n"))
    source_path, target_path = write(tmp_path, a_en_zst=frames, a_hi=GOOD)
    assert len(list(read_pairs(source_path, target_path))) == 3


@pytest.mark.skipif(sys.version_info >= (3, 14), reason="Python reads .zst by itself")
def test_zst_without_its_package_names_the_package(tmp_path, monkeypatch):
    source_path, target_path = write(tmp_path, a_en_zst=zstd.compress(GOOD), a_hi=GOOD)
    monkeypatch.setitem(sys.modules, "backports.zstd", None)
    monkeypatch.delattr("backports.zstd", raising=False)
    assert_error(f"{source_path}", "pip install backports.zstd", source_path, target_path)


def test_a_newline_in_a_text_becomes_a_space(tmp_path):
    (path,) = write(tmp_path, a_jsonl=b'{"source": "a\\nb", "target": "c"}\n\n \n')
    report = ReadReport()
    assert list(read_pairs(path, report=report)) == [Pair("a b", "c", 1)]
    assert report.dropped["blank line"].count == 2


def test_a_tolerant_report_names_every_bad_object(tmp_path):
    rows = [b'{"source": "a", "target": "b"}', b"{", b"[]", b'{"source": "a"}', b'{"source": 1}']
    (path,) = write(tmp_path, a_jsonl=b"\n".join(rows))
    report = ReadReport(tolerant=True)
    assert texts(read_pairs(path, report=report)) == [("a", "b")]
    locations = [error.split(": ")[0] for error in report.errors]
    assert locations == [f"{path}:{line}" for line in (2, 3, 4, 5)]


def read_bounded(tmp_path, rows, **bounds):
    (path,) = write(tmp_path, a_tsv="".join(f"{a}\t{b}\n" for a, b in rows).encode())
    report = ReadReport()
    kept_lines = [
        pair.line for pair in read_pairs(path, length_filter=LengthFilter(**bounds), report=report)
    ]
    return kept_lines, report, path


def test_pairs_out_of_bounds_are_dropped_with_reason_and_location(tmp_path):
    rows = [("a b", "c d"), ("a", "c d"), ("a b", "c d e f"), ("a b c d", "e ! ?"), ("a b", "c …")]
    kept_lines, report, path = read_bounded(tmp_path, rows, min_words=2, max_words=3)
    assert kept_lines == [1]
    assert report.lines() == [
        "kept 1 pair",
        f"dropped 1 pair: fewer than 2 words in the source ({path}:2)",
        f"dropped 1 pair: more than 3 words in the target ({path}:3)",
        f"dropped 1 pair: more than 3 words in the source ({path}:4)",
        f"dropped 1 pair: fewer than 2 words in the target ({path}:5)",
    ]


def test_the_maximum_length_ratio_is_symmetric_and_inclusive(tmp_path):
    rows = [("a b", "c d e"), ("a b c", "d e"), ("a", "b c"), ("a b c d", "e f"), ("a", "?")]
    kept_lines, report, path = read_bounded(tmp_path, rows, max_length_ratio=1.5)
    assert kept_lines == [1, 2]
    assert report.lines()[1:] == [
        f"dropped 1 pair: target over 1.5 times as many words ({path}:3)",
        f"dropped 2 pairs: source over 1.5 times as many words ({path}:4, {path}:5)",
    ]


def test_without_bounds_no_pair_is_dropped_for_its_length(tmp_path):
    kept_lines, _, _ = read_bounded(tmp_path, [("a", "b " * 500), ("?", "!")])
    assert kept_lines == [1, 2]


def notes_of(path, columns=None):
    """The notes of the report on a table."""
    report = ReadReport(tolerant=True)
    list(read_pairs(path, columns=columns, report=report))
    return report.notes


def test_a_first_line_of_words_is_not_noted(tmp_path):
    (path,) = write(tmp_path, a_tsv=b"one\teins\nsource\ttarget\n")
    assert notes_of(path) == []


def test_a_line_that_is_not_utf8_in_a_utf8_file_is_to_be_repaired(tmp_path):
    lines = ["naïve", "façade", "über"]
    source_path, target_path = write(
        tmp_path,
        a_en=b"caf\xe9\n" + "".join(f"{line}\n" for line in lines).encode(),
        a_hi=b"x\n" * 4,
    )
    pattern = "byte 4 .*0xe9.* is not UTF-8, but most of the file is; repair the line, or remove it"
    assert_error(f"{source_path}:1", pattern, source_path, target_path)


def test_rows_of_uneven_columns_are_counted(tmp_path):
    (path,) = write(tmp_path, a_tsv=b"one\teins\ntwo\tzwei\tCC\n\nthree\tdrei\tCC\nfour\tvier\n")
    assert notes_of(path) == [f"2 rows with another number of columns than 2 ({path}:2, {path}:4)"]
