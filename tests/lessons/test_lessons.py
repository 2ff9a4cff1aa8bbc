"""Lessons are found, told in two languages, drawn, and answer what does not fit in one line."""

import inspect
import re

import pytest

import dhyan
from dhyan.errors import UserError
from dhyan.lessons.contents import LESSONS, lesson
from dhyan.lessons.given import matrix, words_of
from tests.docs.test_guides import in_process


def test_the_list_is_in_the_order_of_the_ladder_and_names_each_once():
    assert len({one.name for one in LESSONS}) == len(LESSONS)
    for one in LESSONS:
        assert re.fullmatch(r"[A-F]\d+b?(, [A-F]\d+b?)*", one.rung), one.rung
        assert one.english
        assert re.search("[\u0900-\u097f]", one.hindi), one.name
    first = [re.match(r"([A-F])(\d+)", one.rung).groups() for one in LESSONS]
    places = [(letter, int(number)) for letter, number in first]
    assert places == sorted(places)


def test_every_rung_of_the_ladder_has_a_lesson():
    rungs = {rung for one in LESSONS for rung in one.rung.split(", ")}
    whole = {"A": 10, "B": 6, "C": 3, "D": 8, "E": 5, "F": 8}
    assert {
        f"{letter}{number + 1}" for letter, count in whole.items() for number in range(count)
    } <= rungs


@pytest.mark.parametrize("one", LESSONS, ids=lambda one: one.name)
def test_every_lesson_is_a_function_that_says_what_it_is(one):
    found = getattr(dhyan.lessons, one.name)
    assert found is one.load()
    assert inspect.getdoc(found)
    assert one.name in dir(dhyan.lessons)


def test_the_command_lists_them_all(tmp_path):
    for lang in ("en", "hi"):
        code, said = in_process(("lesson", "--lang", lang), tmp_path)
        assert code == 0
        assert all(one.name in said for one in LESSONS)


def test_the_command_prints_and_draws(tmp_path):
    words = ("lesson", "by-hand", "--sentence", "money bank", "--give", "embeddings=[[2,7],[9,3]]",
             "--give", "scale=false", "--lang", "hi", "--dark", "-o", "seen.png")  # fmt: skip
    code, said = in_process(words, tmp_path)
    assert code == 0, said
    assert "भार" in said
    assert (tmp_path / "seen.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("by_hnd",), "no lesson 'by_hnd'; did you mean by_hand? `dhyan lesson` lists"),
        (("by_hand", "--give", "w"), "--give w: write NAME=VALUE"),
        (("by_hand", "--give", "wq=2"), "takes no 'wq'; it takes sentence, embeddings"),
        (("by_hand", "--give", "embeddings=[[1],[1,2]]"), "embeddings: not numbers in rows of one"),
        (("by_hand", "--give", "embeddings=[[1]]"), "1 rows, but the words of 'The cat sat' are 3"),
        (("by_hand", "--sentence", " "), "the sentence is empty"),
        (("by_hand", "--lang", "fr"), "lessons are told in en and hi, not in 'fr'"),
        (("by_hand", "--give", "w_key=[[1],[1],[1],[1]]"), "queries have 4 numbers and keys 1"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_one_line(words, said, tmp_path):
    code, found = in_process(("lesson", *words), tmp_path)
    assert code == 2
    assert said in found
    assert found.count("\n") == 1


def test_a_notebook_is_shown_a_figure():
    assert dhyan.lessons.by_hand()._repr_svg_().startswith("<?xml")


def test_what_is_given_is_looked_at():
    assert words_of(["a", "b"]) == ("a", "b")
    with pytest.raises(UserError, match="not finite"):
        matrix("w", [[float("nan")]])
    with pytest.raises(UserError, match="not a matrix"):
        matrix("w", [1.0, 2.0])
    with pytest.raises(UserError, match="has 2 columns; give 3"):
        matrix("w", [[1, 2]], columns=3)
    with pytest.raises(UserError, match="there is no lesson"):
        lesson("zzz")
