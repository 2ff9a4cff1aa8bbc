"""A word as a mixture of its sentence: the notes' two tables, and what holds for any."""

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.self_attention.weighted_sum import OTHER_WEIGHTS, VECTORS, WEIGHTS, weighted_sum


def test_the_two_tables_are_those_of_the_notes():
    found = weighted_sum()
    assert found.first.weights.tolist() == [[0.7, 0.2, 0.1], [0.25, 0.7, 0.05], [0.1, 0.2, 0.7]]
    assert found.second.weights.tolist() == [
        [0.8, 0.15, 0.05],
        [0.2, 0.78, 0.02],
        [0.4, 0.01, 0.59],
    ]


def test_every_row_sums_to_one():
    found = weighted_sum()
    for one in (found.first, found.second):
        assert torch.allclose(one.sums, torch.ones_like(one.sums))


def test_bank_is_the_weighted_sum_of_its_sentence():
    found = weighted_sum()
    for one, weights in ((found.first, WEIGHTS), (found.second, OTHER_WEIGHTS)):
        pairs = zip(weights[1], one.words, strict=True)
        terms = [share * torch.tensor(VECTORS[word]) for share, word in pairs]
        assert torch.allclose(one.mixed[1], sum(terms).double())


def test_bank_had_one_vector_and_has_two():
    found = weighted_sum()
    assert torch.equal(found.first.vectors[1], found.second.vectors[1])
    assert found.shared == ("bank",)
    assert found.first.mixed[1].tolist() == pytest.approx([7, 4.25])
    assert found.second.mixed[1].tolist() == pytest.approx([9.64, 1.66])
    assert found.distances.tolist() == pytest.approx([3.698], abs=5e-4)


def test_a_mixture_stays_within_the_reach_of_its_vectors():
    one = weighted_sum().first
    assert (one.mixed <= one.vectors.max(0).values).all()
    assert (one.mixed >= one.vectors.min(0).values).all()


def test_the_same_sentence_twice_leaves_nothing_apart():
    found = weighted_sum(other="money bank grows", other_weights=WEIGHTS)
    assert found.shared == ("money", "bank", "grows")
    assert found.distances.max() == 0
    assert "same mixture in both" in " ".join(found.text().split())


def test_sentences_of_ones_own_may_share_nothing():
    found = weighted_sum(
        "hot tea",
        "cold",
        weights=[[0.5, 0.5], [0, 1]],
        other_weights=[[1]],
        vectors={"hot": [1, 0], "tea": [0, 1], "cold": [-1, 0]},
    )
    assert found.first.mixed.tolist() == [[0.5, 0.5], [0, 1]]
    assert "share no word" in " ".join(found.text().split())


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"weights": [[1, 0, 0], [0.5, 0.4, 0], [0, 0, 1]]}, "row of 'bank' sums to 0.9"),
        ({"weights": [[1, 0, 0], [1.5, -0.5, 0], [0, 0, 1]]}, "a weight below 0"),
        ({"weights": [[1, 0], [0, 1]]}, "weights: has 2 rows, but the words of .* are 3"),
        ({"sentence": "money bank sinks"}, "vectors: 'sinks' has none"),
        ({"sentence": ""}, "the sentence is empty"),
    ],
)
def test_wrong_arguments_are_errors(given, message):
    with pytest.raises(UserError, match=message):
        weighted_sum(**given)


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_page_is_rendered(lang):
    assert "3.698" in " ".join(weighted_sum().text(lang).split())
