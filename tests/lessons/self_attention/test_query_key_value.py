"""Query, key and value: the soft dictionary, the turned vector, and who learns to fetch."""

from dataclasses import replace
from math import e, inf

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.self_attention.query_key_value import RetrievalRun, query_key_value


def quick(**arguments):
    return query_key_value(**{"steps": 0, **arguments})


def test_a_sharp_query_returns_the_dictionary_value_two():
    result = quick(sharpness=[1, 50])
    assert result.answers.tolist() == pytest.approx([(2 * e + 3 + 4) / (e + 2), 2])


@pytest.mark.parametrize(("query", "value"), [("a", 2), ("b", 3), ("c", 4)])
def test_every_key_finds_its_value(query, value):
    assert quick(query=query, sharpness=[50]).answers.tolist() == pytest.approx([value])


def test_the_sharper_the_nearer():
    errors = (quick().answers - 2).abs()
    assert (errors.diff() < 0).all()


def test_weights_of_a_soft_lookup_sum_to_1():
    assert torch.allclose(quick().weights.sum(1), torch.ones(5, dtype=torch.float64))


def test_a_scalar_keeps_the_direction_and_a_matrix_changes_it():
    degrees = quick().degrees
    assert degrees[:2].max() < 1e-4
    assert degrees[2:].min() > 1
    assert quick().transformed.tolist() == [[9, 3], [18, 6], [21, 15], [42, 39], [42, 12]]


def test_matrices_that_only_scale_are_described_as_such():
    stretch = [[3, 0], [0, 3]]
    result = quick(w_query=stretch, w_key=stretch, w_value=stretch)
    assert "These matrices do not change the direction of x" in " ".join(result.text().split())


def test_the_sentence_about_the_roles_follows_the_figures():
    runs = [
        RetrievalRun("x", 1, 1.0, 0.5),
        RetrievalRun("xW", 1, 1.0, 0.5),
        RetrievalRun("3", 1, 0.0, 0.9),
    ]
    result = quick()
    assert "accuracy of 90%" in " ".join(replace(result, retrieval=tuple(runs)).text().split())
    runs[2] = replace(runs[2], share=0.5)
    assert "no clear difference" in " ".join(replace(result, retrieval=tuple(runs)).text().split())


@pytest.mark.slow
def test_separate_projections_retrieve_what_a_shared_one_cannot():
    plain, shared, three = query_key_value().retrieval
    assert three.parameters <= shared.parameters
    assert three.share > 0.95
    assert max(plain.share, shared.share) < 0.75


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"query": "z"}, "query: 'z' is not a key of the dictionary; the keys are a, b, c"),
        ({"dictionary": {}}, "dictionary: give keys with numbers"),
        ({"dictionary": {"a": inf}}, "dictionary: has a number that is not finite"),
        ({"vector": [0, 0]}, "has no direction"),
        ({"vector": [1, 2, 3]}, "w_query: has 2 rows, but the numbers of the vector are 3"),
        ({"sharpness": []}, r"sharpness: not numbers in one row, such as \[1, 0\]"),
        ({"vector": []}, r"vector: not numbers in one row, such as \[1, 0\]"),
        ({"vector": [1, inf]}, "vector: has a number that is not finite"),
        ({"steps": -1}, "steps is -1: give a whole number of at least 0"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        quick(**arguments)
