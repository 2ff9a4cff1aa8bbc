"""The catalogue: the list of lessons, and texts in both languages for every key in the code."""

import ast
import dataclasses
import inspect
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from string import Formatter

import pytest

import dhyan.lessons
from dhyan.errors import UserError
from dhyan.lessons.catalogue import LANGUAGES, LESSONS, Text, find_lesson, read_catalogue
from dhyan.lessons.lesson import LessonResult
from tests.docs.test_guides import in_process

PACKAGE = Path(dhyan.lessons.__file__).parent
DEVANAGARI = re.compile("[\u0900-\u097f]")


def test_every_lesson_has_a_name_of_its_own_and_a_summary_in_both_languages():
    assert len({lesson.name for lesson in LESSONS}) == len(LESSONS)
    for lesson in LESSONS:
        assert lesson.summary("en")
        assert DEVANAGARI.search(lesson.summary("hi")), lesson.name


def test_the_list_has_every_function_that_is_registered_as_a_lesson():
    registered = {
        node.name
        for path in PACKAGE.glob("*/*.py")
        for node in ast.parse(path.read_text(encoding="utf-8")).body
        if isinstance(node, ast.FunctionDef)
        and any(isinstance(mark, ast.Name) and mark.id == "lesson" for mark in node.decorator_list)
    }
    assert registered == {lesson.name for lesson in LESSONS}


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_lesson_is_a_function_with_a_docstring(lesson):
    function = getattr(dhyan.lessons, lesson.name)
    assert function is lesson.load()
    assert inspect.getdoc(function)
    assert lesson.name in dir(dhyan.lessons)


def test_the_command_lists_every_lesson(tmp_path):
    for lang in ("en", "hi"):
        code, output = in_process(("lesson", "--lang", lang), tmp_path)
        assert code == 0
        assert all(lesson.name in output for lesson in LESSONS)


def test_the_list_needs_no_torch():
    program = "import sys, dhyan.lessons; dir(dhyan.lessons); assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", program], check=True)


def test_an_unknown_name_is_an_error():
    with pytest.raises(UserError, match="there is no lesson"):
        find_lesson("zzz")


def calls():
    """Every use of a text with a literal key: file, key, the names of its values, its result class.

    The class is None outside a lesson's result; inside one, its attributes are values too.
    """
    for path in sorted(PACKAGE.rglob("*.py")):
        module = ".".join(path.relative_to(PACKAGE.parents[1]).with_suffix("").parts)
        tree = ast.parse(path.read_text(encoding="utf-8"))
        classes = {
            id(node): getattr(import_module(module), cls.name)
            for cls in tree.body
            if isinstance(cls, ast.ClassDef)
            for node in ast.walk(cls)
        }
        for node in ast.walk(tree):
            keys, values = literal_keys(node)
            for key in keys:
                key = key if "." in key else f"{path.stem}.{key}"
                yield path.name, key, values, classes.get(id(node))


def literal_keys(node):
    """The keys of a call of a text, or of a class with a title, and the names of the values."""
    if isinstance(node, ast.ClassDef):
        return [word.value.value for word in node.keywords if word.arg == "title"], set()
    if isinstance(node, ast.Call) and is_text(node.func):
        values = {keyword.arg for keyword in node.keywords}
        return [node.args[0].value] if isinstance(node.args[0], ast.Constant) else [], values
    return [], set()


def is_text(function):
    """Whether a call is `text(...)` or `text.paragraph(...)`."""
    if isinstance(function, ast.Attribute) and function.attr == "paragraph":
        function = function.value
    return isinstance(function, ast.Name) and function.id == "text"


def attributes(cls):
    """The fields and properties of a lesson's result."""
    if cls is None or not issubclass(cls, LessonResult):
        return set()
    return {*dir(cls), *(field.name for field in dataclasses.fields(cls))}


def fields(template):
    """The names of the fields, with those inside a choice or a format."""
    names = set()
    for _, field, spec, _ in Formatter().parse(template):
        if field is not None:
            names |= {field.partition(".")[0], *fields(spec)}
    return names


def test_both_languages_have_the_same_keys():
    english, hindi = (read_catalogue(lang) for lang in LANGUAGES)
    assert {lesson: list(texts) for lesson, texts in english.items()} == {
        lesson: list(texts) for lesson, texts in hindi.items()
    }


def test_every_call_finds_its_text_and_fills_its_fields():
    uses = list(calls())
    assert len(uses) > 600
    for lang in LANGUAGES:
        catalogue = read_catalogue(lang)
        for file, key, values, cls in uses:
            lesson, _, name = key.partition(".")
            assert name in catalogue[lesson], (file, key, lang)
            assert fields(catalogue[lesson][name]) <= values | attributes(cls), (file, key, lang)


def test_every_value_is_used_by_a_language():
    for file, key, values, _ in calls():
        lesson, _, name = key.partition(".")
        used = set().union(*(fields(read_catalogue(lang)[lesson][name]) for lang in LANGUAGES))
        assert values <= used, (file, key, values - used)


def test_a_choice_follows_its_value(monkeypatch):
    texts = {"a": {"b": "{count:,} {one:word|words} of {share:.1%}{none:, alas|}"}}
    monkeypatch.setattr("dhyan.lessons.catalogue.read_catalogue", lambda lang: texts)
    text = Text("en")
    assert text("a.b", count=1000, one=False, share=0.5, none=0) == "1,000 words of 50.0%"
    assert text("a.b", count=1, one=True, share=0.25, none=1) == "1 word of 25.0%, alas"


def test_a_field_without_a_value_is_an_attribute_of_the_result(monkeypatch):
    texts = {"a": {"b": "{real} and {imag}"}}
    monkeypatch.setattr("dhyan.lessons.catalogue.read_catalogue", lambda lang: texts)
    assert Text("en", "a", complex(1, 2))("b", real=7) == "7 and 2.0"


def test_an_unknown_language_is_an_error():
    with pytest.raises(UserError, match="lessons are written in en and hi, not in 'fr'"):
        Text("fr")
