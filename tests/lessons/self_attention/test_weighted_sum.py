"""A word as a mixture of its sentence: the notes' two tables, and what holds for any."""

import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.self_attention.weighted_sum import OTHER_WEIGHTS, VECTORS, WEIGHTS, weighted_sum


def test_the_two_tables_are_those_of_the_notes():
    result = weighted_sum()
    assert result.first.weights.tolist() == [[0.7, 0.2, 0.1], [0.25, 0.7, 0.05], [0.1, 0.2, 0.7]]
    assert result.second.weights.tolist() == [
        [0.8, 0.15, 0.05],
        [0.2, 0.78, 0.02],
        [0.4, 0.01, 0.59],
    ]


def test_every_row_sums_to_1():
    result = weighted_sum()
    for mixture in (result.first, result.second):
        assert torch.allclose(mixture.sums, torch.ones_like(mixture.sums))


def test_bank_is_the_weighted_sum_of_its_sentence():
    result = weighted_sum()
    for mixture, weights in ((result.first, WEIGHTS), (result.second, OTHER_WEIGHTS)):
        pairs = zip(weights[1], mixture.words, strict=True)
        terms = [share * torch.tensor(VECTORS[word]) for share, word in pairs]
        assert torch.allclose(mixture.mixed[1], sum(terms).double())


def test_bank_has_a_mixture_per_sentence():
    result = weighted_sum()
    assert torch.equal(result.first.vectors[1], result.second.vectors[1])
    assert result.shared == ("bank",)
    assert result.first.mixed[1].tolist() == pytest.approx([7, 4.25])
    assert result.second.mixed[1].tolist() == pytest.approx([9.64, 1.66])
    assert result.distances.tolist() == pytest.approx([3.698], abs=5e-4)


def test_a_mixture_stays_in_the_range_of_its_vectors():
    mixture = weighted_sum().first
    assert (mixture.mixed <= mixture.vectors.max(0).values).all()
    assert (mixture.mixed >= mixture.vectors.min(0).values).all()


def test_the_same_sentence_twice_leaves_nothing_apart():
    result = weighted_sum(other="money bank grows", other_weights=WEIGHTS)
    assert result.shared == ("money", "bank", "grows")
    assert result.distances.max() == 0
    assert "same contextual vector in both" in " ".join(result.text().split())


def test_given_sentences_may_share_no_word():
    result = weighted_sum(
        "hot tea",
        "cold",
        weights=[[0.5, 0.5], [0, 1]],
        other_weights=[[1]],
        vectors={"hot": [1, 0], "tea": [0, 1], "cold": [-1, 0]},
    )
    assert result.first.mixed.tolist() == [[0.5, 0.5], [0, 1]]
    assert "have no word in common" in " ".join(result.text().split())


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"weights": [[1, 0, 0], [0.5, 0.4, 0], [0, 0, 1]]}, "row of 'bank' sums to 0.9"),
        ({"weights": [[1, 0, 0], [1.5, -0.5, 0], [0, 0, 1]]}, "a weight below 0"),
        ({"weights": [[1, 0], [0, 1]]}, "weights: has 2 rows, but the words of .* are 3"),
        (
            {"sentence": "money bank sinks", "vectors": {"money": [1], "bank": [2]}},
            "vectors: 'sinks' has none",
        ),
        ({"sentence": ""}, "the sentence is empty"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        weighted_sum(**arguments)


def test_in_other_sentences_a_word_has_one_random_vector_and_softmax_weights():
    result = weighted_sum("tea is hot", "the hot sun")
    assert result.shared == ("hot",)
    assert torch.equal(result.first.vectors[2], result.second.vectors[1])
    x = result.first.vectors
    torch.testing.assert_close(result.first.weights, (x @ x.T).softmax(-1))
    assert result.distances[0] > 0
    text = " ".join(result.text().split())
    assert "The weights are given here" not in text
    assert text.count("they are softmax(X Xᵀ)") == 2


def test_words_of_the_lesson_keep_their_vectors_in_another_order():
    result = weighted_sum("bank grows money")
    assert result.seeded is None
    assert result.first.vectors[0].tolist() == list(VECTORS["bank"])


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_page_is_rendered(lang):
    assert "3.698" in " ".join(weighted_sum().text(lang).split())
