"""Any form of data becomes the same pairs; what is wrong is one line with place and remedy."""

from pathlib import Path

import numpy
import pandas
import polars
import pytest

import dhyan
from dhyan.api.pairs import TableOptions, to_pairs
from dhyan.data.pairs import Pair

PAIRS = [("one", "एक"), ("two", "दो"), ("three", "तीन")]
ENGLISH, HINDI = (list(side) for side in zip(*PAIRS, strict=True))


class FakeDataset:
    """The part of a Hugging Face dataset that is used: columns with names, rows as dictionaries."""

    def __init__(self, rows):
        self.rows, self.column_names = rows, list(rows[0])

    def __iter__(self):
        return iter(self.rows)


def nested_rows():
    return [{"id": "x", "translation": {"en": en, "hi": hi}} for en, hi in PAIRS]


@pytest.mark.parametrize(
    ("data", "columns"),
    [
        (PAIRS, None),
        ([list(pair) for pair in PAIRS], None),
        ((pair for pair in PAIRS), None),
        (zip(ENGLISH, HINDI, strict=True), None),
        ([Pair(en, hi, 0) for en, hi in PAIRS], None),
        (numpy.array(PAIRS), None),
        ({"en": ENGLISH, "hi": HINDI}, None),
        ([{"hi": hi, "en": en} for en, hi in PAIRS], ("en", "hi")),
        ([{"target": hi, "source": en} for en, hi in PAIRS], None),
        (pandas.DataFrame(PAIRS, columns=["en", "hi"]), None),
        (pandas.DataFrame({"hi": HINDI, "n": [1, 2, 3], "en": ENGLISH}), ("en", "hi")),
        (pandas.DataFrame({"n": [1, 2, 3], "en": ENGLISH, "hi": HINDI}), None),
        (pandas.DataFrame(PAIRS, columns=["en", "hi"], index=[7, 8, 9]), None),
        (pandas.DataFrame({"translation": [r["translation"] for r in nested_rows()]}), None),
        (polars.DataFrame({"en": ENGLISH, "hi": HINDI}), None),
        (polars.DataFrame({"hi": HINDI, "en": ENGLISH}), ("en", "hi")),
        (FakeDataset([{"en": en, "hi": hi} for en, hi in PAIRS]), None),
        (
            FakeDataset([r | {"id": "x"} for r in nested_rows()]),
            ("translation.en", "translation.hi"),
        ),
        (FakeDataset([{"translation": r["translation"]} for r in nested_rows()]), None),
        (FakeDataset([{"id": "x", **r} for r in nested_rows()]), None),
    ],
)
def test_every_form_of_data_gives_the_same_pairs(data, columns):
    assert list(to_pairs(data, TableOptions(columns)).pairs) == PAIRS


def test_a_series_of_each_side_can_be_zipped():
    frame = polars.DataFrame({"en": ENGLISH, "hi": HINDI})
    assert list(to_pairs(zip(frame["en"], frame["hi"], strict=True)).pairs) == PAIRS


@pytest.mark.parametrize(
    ("data", "columns", "languages"),
    [
        ([{"en": "a", "hi": "b"}], None, ("en", "hi")),
        ([{"translation": {"en": "a", "vi": "b"}}], None, ("en", "vi")),
        ([{"english": "a", "hi": "b"}], None, ("", "hi")),
        ([("a", "b")], None, ("", "")),
    ],
)
def test_columns_that_are_language_codes_name_the_languages(data, columns, languages):
    assert to_pairs(data, TableOptions(columns)).languages == languages


def test_files_are_read_as_by_the_command_line(tmp_path):
    english, hindi, table = (tmp_path / name for name in ("a.en", "a.hi", "a.tsv"))
    english.write_text("".join(f"{text}\n" for text in ENGLISH))
    hindi.write_text("".join(f"{text}\n" for text in HINDI))
    table.write_text("".join(f"{en}\t{hi}\n" for en, hi in PAIRS))
    assert list(to_pairs((english, str(hindi))).pairs) == PAIRS
    assert to_pairs((english, hindi)).languages == ("en", "hi")
    assert list(to_pairs(str(table)).pairs) == PAIRS


@pytest.mark.parametrize(
    ("data", "columns", "message"),
    [
        ([], None, "data: holds no pairs"),
        (pandas.DataFrame(columns=["en", "hi"]), None, "data: holds no pairs"),
        (5, None, "data: 5 holds no pairs"),
        (["one"], None, "data: row 1: 'one' is not a pair"),
        ([("a", "b"), ("c",)], None, "data: row 2: 1 part, not a pair"),
        ([("a", "b", "c")], None, "data: row 1: 3 parts, not a pair"),
        ([("a", "b"), 7], None, "data: row 2: 7 is not a pair"),
        ([("a", "b"), {"en": "c"}], None, "data: row 2: {'en': 'c'} has keys"),
        ([{"en": "a", "hi": "b"}, ("c", "d")], None, "data: row 2: ('c', 'd') has no keys"),
        ([("a", None)], None, "data: row 1, target: None is not a text"),
        ([(float("nan"), "b")], None, "data: row 1, source: nan is not a text"),
        ([(b"a", "b")], None, "data: row 1, source: b'a' is not a text"),
        ([("a", "b")], ("en", "hi"), "which has no columns; leave out columns"),
        ([("a", "b")], ("en",), "columns: ('en',) are not two names"),
        ([("a", "b")], "en", "columns: 'en' are not two names"),
        ([{"en": "a", "hi": "b"}], ("en", "en"), "columns: both are 'en'"),
        ([{"en": "a", "hi": "b"}, {"en": "c"}], None, "data: row 2: no column is called 'hi'"),
        (pandas.DataFrame({"en": ["a"]}), None, "data: has one column, 'en'"),
        (pandas.DataFrame({"a": [1], "b": [2], "c": [3]}), None, "data: has 3 columns (a, b, c)"),
        (pandas.DataFrame(PAIRS, columns=["en", "hi"]), ("en", "hindi"), "called 'hindi'"),
        (pandas.DataFrame([PAIRS[0]], columns=["en", "en"]), None, "2 columns are called 'en'"),
        (pandas.DataFrame({"en": ["a", None], "hi": ["b", "c"]}), None, "row 2, column 'en'"),
        (polars.DataFrame({"en": ["a", None], "hi": ["b", "c"]}), None, "row 2, column 'en': None"),
        (polars.LazyFrame({"en": ["a"]}), None, "data: is a lazy frame"),
        ({"train": FakeDataset([{"en": "a"}])}, None, "data: has the splits train; give one"),
        ({"en": ["a"], "hi": []}, None, "columns of different lengths"),
        ({"en": 1, "hi": 2}, None, "has columns that are not lists"),
        ("numbers", None, "data: there is no file 'numbers'; for the recipe write recipe="),
        (Path("no.tsv"), None, "data: there is no file 'no.tsv'"),
        (("one", "एक"), None, "data: there is no file 'one'; a tuple names two files"),
    ],
)
def test_wrong_data_are_one_line_with_place_and_remedy(data, columns, message):
    with pytest.raises(dhyan.UserError) as caught:
        list(to_pairs(data, TableOptions(columns)).pairs)
    text = str(caught.value)
    assert message in text
    assert "\n" not in text
    assert ";" in text
