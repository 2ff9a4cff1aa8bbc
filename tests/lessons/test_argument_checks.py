"""An argument of the wrong type is an error of one line, from Python and from the terminal."""

import pytest

import dhyan
from dhyan.errors import UserError
from tests.docs.test_guides import in_process


@pytest.mark.parametrize(
    ("lesson", "given", "said"),
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
def test_an_argument_of_the_wrong_type_is_named_with_the_right_one(lesson, given, said):
    with pytest.raises(UserError, match=said):
        getattr(dhyan.lessons, lesson)(**given)


@pytest.mark.parametrize(
    "words",
    [
        ("self_attention_by_hand", "--sentence", ""),
        ("greedy_decoding", "--give", "sentence=5"),
        ("seq2seq_training", "--give", "on_progress=5"),
        ("word_embeddings", "--give", "words=5"),
    ],
)
def test_the_command_answers_in_one_line(words, tmp_path):
    code, said = in_process(("lesson", *words), tmp_path)
    assert code == 2
    assert said.count("\n") == 1


def test_arguments_of_the_right_type_pass():
    assert dhyan.lessons.self_attention_by_hand(
        ["money", "bank"], embeddings=[[1, 2], [3, 4]]
    ).words == (
        "money",
        "bank",
    )
    assert dhyan.lessons.cross_entropy(probabilities=(0.5, 1)).total > 0
