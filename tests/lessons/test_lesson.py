"""The frame of a lesson: checked arguments, and what the command prints, draws and refuses."""

import pytest

import dhyan
from dhyan.errors import UserError
from dhyan.insight.parse_matrix import parse_matrix
from dhyan.lessons.lesson import parse_words
from tests.docs.test_guides import in_process

HAND = "self_attention_by_hand"


@pytest.mark.parametrize(
    ("lesson", "arguments", "message"),
    [
        ("one_hot", {"sentence": 5}, "sentence is 5: give a text or a list of words"),
        ("seq2seq_training", {"seed": "x"}, "seed is 'x': give a whole number"),
        ("seq2seq_training", {"seed": 1.5}, "seed is 1.5: give a whole number"),
        ("self_attention_by_hand", {"scale": "abc"}, "scale is 'abc': give true or false"),
        ("luong", {"step": True}, "step is True: give a whole number"),
        ("idioms", {"model": 5}, "model is 5: give a path"),
        ("pp_attachment", {"models": 5}, "models is 5: give a path or a list of paths"),
        ("weighted_sum", {"vectors": [1]}, "vectors is .1.: give names with values"),
        ("vanishing_gradients", {"forget": "abc"}, "forget is 'abc': give a number"),
        ("seq2seq_training", {"on_progress": 5}, "on_progress is 5: give a function"),
        ("query_key_value", {"vector": 5}, "vector is 5: give a list of numbers"),
        ("bag_of_words", {"sentence": list(range(99))}, "…: give a text"),
    ],
)
def test_an_argument_of_the_wrong_type_is_named_with_the_right_one(lesson, arguments, message):
    with pytest.raises(UserError, match=message):
        getattr(dhyan.lessons, lesson)(**arguments)


@pytest.mark.parametrize(
    "words",
    [
        ("self_attention_by_hand", "--sentence", ""),
        ("greedy_decoding", "sentence=5"),
        ("seq2seq_training", "on_progress=5"),
        ("word_embeddings", "words=5"),
    ],
)
def test_the_command_answers_in_one_line(words, tmp_path):
    code, output = in_process(("lesson", *words), tmp_path)
    assert code == 2
    assert output.count("\n") == 1


def test_arguments_of_the_right_type_pass():
    assert dhyan.lessons.self_attention_by_hand(
        ["money", "bank"], embeddings=[[1, 2], [3, 4]]
    ).words == (
        "money",
        "bank",
    )
    assert dhyan.lessons.cross_entropy(probabilities=(0.5, 1)).total > 0


def test_the_command_prints_and_draws(tmp_path):
    words = ("lesson", "self-attention-by-hand", "--sentence", "money bank",
             "embeddings=[[2,7],[9,3]]",
             "scale=false", "--lang", "hi", "--dark", "-o", "figure.png")  # fmt: skip
    code, output = in_process(words, tmp_path)
    assert code == 0, output
    assert "भार" in output
    assert (tmp_path / "figure.png").stat().st_size > 5000


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("by_hnd",), "no lesson 'by_hnd'"),
        (("luogn",), "no lesson 'luogn'; did you mean luong? `dhyan lesson` lists"),
        ((HAND, "w"), "w: write NAME=VALUE"),
        ((HAND, "wq=2"), "takes no 'wq'; it takes sentence, embeddings"),
        ((HAND, "embeddings=[[1],[1,2]]"), "embeddings: not numbers in rows of one"),
        ((HAND, "embeddings=[[1]]"), "1 rows, but the words of 'The cat sat' are 3"),
        ((HAND, "--sentence", " "), "the sentence is empty"),
        ((HAND, "--lang", "fr"), "lessons are written in en and hi, not in 'fr'"),
        ((HAND, "w_key=[[1],[1],[1],[1]]"), "queries have 4 numbers and keys 1"),
    ],
)  # fmt: skip
def test_a_wrong_argument_is_an_error_of_one_line(words, message, tmp_path):
    code, output = in_process(("lesson", *words), tmp_path)
    assert code == 2
    assert message in output
    assert output.count("\n") == 1


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
