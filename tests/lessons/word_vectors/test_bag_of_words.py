"""One-hot, bags of words and TF-IDF, against scikit-learn."""

import pytest
import torch
from sklearn.feature_extraction import text

from dhyan.errors import UserError
from dhyan.lessons.word_vectors.bag_of_words import bag_of_words
from dhyan.text.bag_of_words import one_hot, presence, tf_idf, vocabulary, word_counts, words_in

TEXTS = ("The cat sat.", "the cat, the dog", "rain", "a cat and a dog and rain")


def test_the_numbers_of_the_notes():
    result = bag_of_words()
    assert result.vocabulary == ("mat", "cat", "rat")
    assert result.counts.tolist() == [[2, 1, 0], [0, 1, 2]]
    assert result.presence.tolist() == [[1, 1, 0], [0, 1, 1]]
    exact = torch.tensor([[0.942, 0.335, 0], [0, 0.335, 0.942]], dtype=torch.float64)
    assert torch.allclose(result.tf_idf, exact, atol=5e-4)
    assert result.rarity.tolist() == pytest.approx([1.405, 1.0, 1.405], abs=5e-4)
    assert result.one_hot[0].tolist() == [[1, 0, 0], [0, 1, 0], [1, 0, 0]]
    assert result.one_hot[1].tolist() == [[0, 1, 0], [0, 0, 1], [0, 0, 1]]


def test_tf_idf_is_that_of_scikit_learn():
    known = vocabulary(map(words_in, TEXTS))
    ours = tf_idf(word_counts([*map(words_in, TEXTS)], known))
    theirs = text.TfidfVectorizer(analyzer=words_in, vocabulary=known).fit_transform(TEXTS)
    assert torch.allclose(ours, torch.from_numpy(theirs.toarray()), atol=1e-12)


def test_counts_are_those_of_scikit_learn():
    known = vocabulary(map(words_in, TEXTS))
    ours = word_counts([*map(words_in, TEXTS)], known)
    for binary, found in ((False, ours), (True, presence(ours))):
        counter = text.CountVectorizer(analyzer=words_in, vocabulary=known, binary=binary)
        assert found.tolist() == counter.fit_transform(TEXTS).toarray().tolist()


def test_a_bag_is_the_sum_of_its_one_hot_vectors():
    result = bag_of_words(["the cat saw the dog", "no dog"])
    sums = torch.stack([one.sum(0) for one in result.one_hot])
    assert torch.equal(sums, result.counts)


def test_a_bag_knows_no_order():
    one, other = (bag_of_words([text, "x"], vocabulary="dog bites man x") for text in ORDERS)
    assert torch.equal(one.counts, other.counts)
    assert torch.equal(one.tf_idf, other.tf_idf)
    assert not torch.equal(one.one_hot[0], other.one_hot[0])


ORDERS = ("dog bites man", "man bites dog")


def test_rows_are_of_length_one_and_an_empty_one_stays_zero():
    found = tf_idf(torch.tensor([[3.0, 1.0], [0.0, 0.0]], dtype=torch.float64))
    assert found.norm(dim=1).tolist() == pytest.approx([1, 0])


def test_words_lose_their_signs_in_every_script():
    assert words_in("“बैंक गया।” Don't — stop!") == ["बैंक", "गया", "don't", "stop"]
    assert one_hot(["गया"], ["बैंक", "गया"]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (
            {"sentence": ["mat cats"], "vocabulary": "mat cat"},
            "'cats' is not .* did you mean 'cat'",
        ),
        ({"sentence": []}, "there is no text: give at least one"),
        ({"sentence": ["cat", " ?"]}, "text 2 has no words: give it at least one"),
        ({"sentence": ["cat"], "vocabulary": "cat cat"}, "the vocabulary has 'cat' twice"),
    ],
)
def test_wrong_sizes_are_errors(given, said):
    with pytest.raises(UserError, match=said):
        bag_of_words(**given)


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_story_has_the_numbers(lang):
    assert ".942  .335" in bag_of_words().text(lang)
