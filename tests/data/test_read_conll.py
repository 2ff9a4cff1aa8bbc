"""Tagged sentences in the columns that people have them in, and what is wrong with others."""

import pytest

from dhyan.data.read_pairs import read_pairs, register_format
from dhyan.data.read_report import ReadReport
from dhyan.errors import UserError


def read(folder, text, report=None):
    path = folder / "a.conll"
    path.write_text(text, encoding="utf-8")
    return [(pair.source, pair.target) for pair in read_pairs(path, report=report)]


def test_the_first_column_is_the_word_and_the_last_its_tag(tmp_path):
    text = "-DOCSTART- -X- O O\n\nThe DT B-NP O\nRhine NNP I-NP B-LOC\n\n\nGoa NNP B-NP B-LOC\n"
    assert read(tmp_path, text) == [("The Rhine", "O B-LOC"), ("Goa", "B-LOC")]


def test_tabs_comments_and_a_missing_last_blank_line(tmp_path):
    text = "# id 7 of 9\nगंगा\tB-LOC\nबहती\tO\n\n# \tO\nहै\tO"
    assert read(tmp_path, text) == [("गंगा बहती", "B-LOC O"), ("# है", "O O")]


def test_a_space_inside_a_word_is_replaced_and_noted(tmp_path):
    report = ReadReport()
    assert read(tmp_path, "New Delhi\tB-LOC\n", report) == [("New_Delhi", "B-LOC")]
    assert any("space inside" in note for note in report.notes)


@pytest.mark.parametrize("text", ["word\n", "word\t\n", "\tO\n"])
def test_a_line_without_word_or_tag_is_named(tmp_path, text):
    with pytest.raises(UserError, match=r"a\.conll:1"):
        read(tmp_path, text)


def test_a_suffix_is_read_by_one_reader():
    with pytest.raises(ValueError, match="another reader"):
        register_format(".conll", lambda path, report: iter(()))
    with pytest.raises(ValueError, match="another reader"):
        register_format(".tsv", lambda path, report: iter(()))
