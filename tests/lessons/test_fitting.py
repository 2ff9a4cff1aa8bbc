"""What is not of the kind a lesson takes is refused in one line, from Python and the terminal."""

import pytest

import dhyan
from dhyan.errors import UserError
from tests.docs.test_guides import in_process


@pytest.mark.parametrize(
    ("lesson", "given", "said"),
    [
        ("one_hot", {"sentence": 5}, "sentence is 5: give a text or a list of words"),
        ("toy", {"seed": "x"}, "seed is 'x': give a whole number"),
        ("toy", {"seed": 1.5}, "seed is 1.5: give a whole number"),
        ("by_hand", {"scale": "abc"}, "scale is 'abc': give true or false"),
        ("luong", {"step": True}, "step is True: give a whole number"),
        ("idioms", {"model": 5}, "model is 5: give a path"),
        ("attachment", {"models": 5}, "models is 5: give a path or a list of paths"),
        ("mixing", {"vectors": [1]}, "vectors is .1.: give names with values"),
        ("fading", {"forget": "abc"}, "forget is 'abc': give a number"),
        ("toy", {"hear": 5}, "hear is 5: give a function"),
        ("roles", {"vector": 5}, "vector is 5: give a list of numbers"),
        ("counts", {"sentence": list(range(99))}, "…: give a text"),
    ],
)
def test_a_value_of_another_kind_is_named_with_what_fits(lesson, given, said):
    with pytest.raises(UserError, match=said):
        getattr(dhyan.lessons, lesson)(**given)


@pytest.mark.parametrize(
    "words",
    [
        ("by_hand", "--sentence", ""),
        ("greedy", "--give", "sentence=5"),
        ("toy", "--give", "hear=5"),
        ("neighbours", "--give", "words=5"),
    ],
)
def test_the_terminal_says_so_in_one_line(words, tmp_path):
    code, said = in_process(("lesson", *words), tmp_path)
    assert code == 2
    assert said.count("\n") == 1


def test_what_fits_passes_as_it_is():
    assert dhyan.lessons.by_hand(["money", "bank"], embeddings=[[1, 2], [3, 4]]).words == (
        "money",
        "bank",
    )
    assert dhyan.lessons.loss(probabilities=(0.5, 1)).total > 0
