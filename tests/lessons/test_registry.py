"""The registry of lessons and the command that lists, prints and draws them."""

import inspect
import re
from pathlib import Path

import pytest

import dhyan
from dhyan.errors import UserError
from dhyan.insight.parse_matrix import parse_matrix
from dhyan.lessons.argument_parsing import parse_words
from dhyan.lessons.registry import LESSONS, find_lesson
from tests.docs.test_guides import in_process

HAND = "self_attention_by_hand"
DEVANAGARI = re.compile("[\u0900-\u097f]")


def test_every_lesson_has_a_name_of_its_own_and_a_summary_in_both_languages():
    assert len({lesson.name for lesson in LESSONS}) == len(LESSONS)
    for lesson in LESSONS:
        assert lesson.summary("en")
        assert DEVANAGARI.search(lesson.summary("hi")), lesson.name


def test_every_lesson_stands_in_the_file_of_its_name():
    folder = Path(dhyan.lessons.__file__).parent
    for lesson in LESSONS:
        assert (folder / lesson.section / f"{lesson.name}.py").is_file()


@pytest.mark.parametrize("lesson", LESSONS, ids=lambda lesson: lesson.name)
def test_every_lesson_is_a_function_with_a_docstring(lesson):
    function = getattr(dhyan.lessons, lesson.name)
    assert function is lesson.load()
    assert inspect.getdoc(function)
    assert lesson.name in dir(dhyan.lessons)


def test_the_command_lists_every_lesson(tmp_path):
    for lang in ("en", "hi"):
        code, said = in_process(("lesson", "--lang", lang), tmp_path)
        assert code == 0
        assert all(lesson.name in said for lesson in LESSONS)


def test_the_command_prints_and_draws(tmp_path):
    words = ("lesson", "self-attention-by-hand", "--sentence", "money bank",
             "--give", "embeddings=[[2,7],[9,3]]",
             "--give", "scale=false", "--lang", "hi", "--dark", "-o", "seen.png")  # fmt: skip
    code, said = in_process(words, tmp_path)
    assert code == 0, said
    assert "भार" in said
    assert (tmp_path / "seen.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("by_hnd",), "no lesson 'by_hnd'"),
        (("luogn",), "no lesson 'luogn'; did you mean luong? `dhyan lesson` lists"),
        ((HAND, "--give", "w"), "--give w: write NAME=VALUE"),
        ((HAND, "--give", "wq=2"), "takes no 'wq'; it takes sentence, embeddings"),
        ((HAND, "--give", "embeddings=[[1],[1,2]]"), "embeddings: not numbers in rows of one"),
        ((HAND, "--give", "embeddings=[[1]]"), "1 rows, but the words of 'The cat sat' are 3"),
        ((HAND, "--sentence", " "), "the sentence is empty"),
        ((HAND, "--lang", "fr"), "lessons are written in en and hi, not in 'fr'"),
        ((HAND, "--give", "w_key=[[1],[1],[1],[1]]"), "queries have 4 numbers and keys 1"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_an_error_of_one_line(words, said, tmp_path):
    code, found = in_process(("lesson", *words), tmp_path)
    assert code == 2
    assert said in found
    assert found.count("\n") == 1


def test_a_notebook_displays_a_figure():
    assert dhyan.lessons.self_attention_by_hand()._repr_svg_().startswith("<?xml")


def test_words_and_matrices_are_checked():
    assert parse_words(["a", "b"]) == ("a", "b")
    with pytest.raises(UserError, match="not finite"):
        parse_matrix("w", [[float("nan")]])
    with pytest.raises(UserError, match="not a matrix"):
        parse_matrix("w", [1.0, 2.0])
    with pytest.raises(UserError, match="has 2 columns; give 3"):
        parse_matrix("w", [[1, 2]], columns=3)
    with pytest.raises(UserError, match="there is no lesson"):
        find_lesson("zzz")
