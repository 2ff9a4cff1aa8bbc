"""The texts of the lessons: both languages have every key that the code asks for."""

import ast
from pathlib import Path
from string import Formatter

import pytest

import dhyan.lessons
from dhyan.errors import UserError
from dhyan.lessons.catalogue import LANGUAGES, Text, read_catalogue

PACKAGE = Path(dhyan.lessons.__file__).parent


def calls():
    """Every call of `text` with a literal key: the file, the key and the names of its values."""
    for path in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.Call) or getattr(node.func, "id", "") != "text":
                continue
            if isinstance(node.args[0], ast.Constant):
                yield path.name, node.args[0].value, {keyword.arg for keyword in node.keywords}


def fields(template):
    """The names of the fields, with those inside a choice or a format."""
    names = set()
    for _, field, spec, _ in Formatter().parse(template):
        if field is not None:
            names |= {field, *fields(spec)}
    return names


def test_both_languages_have_the_same_keys():
    english, hindi = (read_catalogue(lang) for lang in LANGUAGES)
    assert {lesson: list(texts) for lesson, texts in english.items()} == {
        lesson: list(texts) for lesson, texts in hindi.items()
    }


def test_every_call_finds_its_text_and_fills_its_fields():
    asked = list(calls())
    assert len(asked) > 600
    for lang in LANGUAGES:
        catalogue = read_catalogue(lang)
        for file, key, values in asked:
            lesson, _, name = key.partition(".")
            assert name in catalogue[lesson], (file, key, lang)
            assert fields(catalogue[lesson][name]) <= values, (file, key, lang)


def test_every_value_is_used_by_a_language():
    for file, key, values in calls():
        lesson, _, name = key.partition(".")
        used = set().union(*(fields(read_catalogue(lang)[lesson][name]) for lang in LANGUAGES))
        assert values <= used, (file, key, values - used)


def test_a_choice_follows_its_value(monkeypatch):
    texts = {"a": {"b": "{count:,} {one:word|words} of {share:.1%}{none:, alas|}"}}
    monkeypatch.setattr("dhyan.lessons.catalogue.read_catalogue", lambda lang: texts)
    text = Text("en")
    assert text("a.b", count=1000, one=False, share=0.5, none=0) == "1,000 words of 50.0%"
    assert text("a.b", count=1, one=True, share=0.25, none=1) == "1 word of 25.0%, alas"


def test_an_unknown_language_is_an_error():
    with pytest.raises(UserError, match="lessons are written in en and hi, not in 'fr'"):
        Text("fr")
