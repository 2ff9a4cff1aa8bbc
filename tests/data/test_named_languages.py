"""The languages of a corpus: by the names of its columns, else by the names of its files."""

import pytest

from dhyan.data.corpus import with_languages
from dhyan.data.detect_table_format import column_languages
from tests.tiny_models import tiny_recipe

TABLES = {
    "a.csv": "English,Vietnamese\nI see a house.,một\nWe go home now.,hai\n",
    "b.csv": "id,VI,note,en\n1,một,x,I see a house.\n2,hai,x,We go home now.\n",
    "a.tsv": "en\tvi\nI see a house.\tmột hai ba\nWe go home now.\thai ba một\n",
    "a.jsonl": '{"translation": {"en": "a house", "vi": "một"}}\n',
    "a.tmx": '<tmx version="1.4"><header srclang="en-US"/><body><tu><tuv xml:lang="en-US">'
    '<seg>a house</seg></tuv><tuv xml:lang="vi"><seg>một</seg></tuv></tu></body></tmx>',
    "plain.tsv": "I see a house.\tmột\nWe go home now.\thai\n",
    "roles.csv": "source,target\nI see a house.,một\n",
}


@pytest.mark.parametrize(
    ("table", "columns", "languages"),
    [
        ("a.csv", ("English", "Vietnamese"), ("en", "vi")),
        ("a.csv", ("Vietnamese", "English"), ("vi", "en")),
        ("a.csv", (), ("en", "vi")),
        ("a.csv", ("2", "1"), ("vi", "en")),
        ("b.csv", ("en", "VI"), ("en", "vi")),
        ("a.tsv", (), ("en", "vi")),
        ("a.jsonl", ("translation.en", "translation.vi"), ("en", "vi")),
        ("a.tmx", (), ("en", "vi")),
        ("plain.tsv", (), ("", "")),
        ("roles.csv", (), ("", "")),
    ],
)
def test_columns_name_the_languages(tmp_path, table, columns, languages):
    (tmp_path / table).write_text(TABLES[table])
    recipe = tiny_recipe("rnn", tmp_path / table, "", **{"data.columns": list(columns)})
    data = with_languages(recipe).data
    assert (data.source_language, data.target_language) == languages


def test_languages_that_are_set_are_not_changed(tmp_path):
    (tmp_path / "a.csv").write_text(TABLES["a.csv"])
    recipe = tiny_recipe("rnn", tmp_path / "a.csv", "", **{"data.target_language": "fr"})
    data = with_languages(recipe).data
    assert (data.source_language, data.target_language) == ("en", "fr")


@pytest.mark.parametrize(
    ("names", "languages"),
    [
        (("id", "en"), ("id", "en")),
        (("id", "text"), ("", "")),
        (("English sentence", "हिंदी"), ("en", "hi")),
        (("Hausa", "en_US"), ("ha", "en")),
        (("German", "comment"), ("de", "")),
    ],
)
def test_a_name_of_another_column_is_no_language_alone(names, languages):
    assert column_languages(names) == languages


def test_a_missing_table_has_no_languages(tmp_path):
    data = with_languages(tiny_recipe("rnn", tmp_path / "none.csv", "")).data
    assert (data.source_language, data.target_language) == ("", "")
