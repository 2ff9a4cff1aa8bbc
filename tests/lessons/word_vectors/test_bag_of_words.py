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
    words = vocabulary(map(words_in, TEXTS))
    ours = tf_idf(word_counts([*map(words_in, TEXTS)], words))
    theirs = text.TfidfVectorizer(analyzer=words_in, vocabulary=words).fit_transform(TEXTS)
    assert torch.allclose(ours, torch.from_numpy(theirs.toarray()), atol=1e-12)


def test_counts_are_those_of_scikit_learn():
    words = vocabulary(map(words_in, TEXTS))
    ours = word_counts([*map(words_in, TEXTS)], words)
    for binary, weights in ((False, ours), (True, presence(ours))):
        counter = text.CountVectorizer(analyzer=words_in, vocabulary=words, binary=binary)
        assert weights.tolist() == counter.fit_transform(TEXTS).toarray().tolist()


def test_a_bag_is_the_sum_of_its_one_hot_vectors():
    result = bag_of_words(["the cat saw the dog", "no dog"])
    sums = torch.stack([rows.sum(0) for rows in result.one_hot])
    assert torch.equal(sums, result.counts)


def test_a_bag_knows_no_order():
    first, other = (bag_of_words([text, "x"], vocabulary="dog bites man x") for text in SENTENCES)
    assert torch.equal(first.counts, other.counts)
    assert torch.equal(first.tf_idf, other.tf_idf)
    assert not torch.equal(first.one_hot[0], other.one_hot[0])


SENTENCES = ("dog bites man", "man bites dog")


def test_rows_have_norm_1_and_an_empty_row_stays_zero():
    weights = tf_idf(torch.tensor([[3.0, 1.0], [0.0, 0.0]], dtype=torch.float64))
    assert weights.norm(dim=1).tolist() == pytest.approx([1, 0])


def test_punctuation_is_removed_in_every_script():
    assert words_in("“बैंक गया।” Don't — stop!") == ["बैंक", "गया", "don't", "stop"]
    assert one_hot(["गया"], ["बैंक", "गया"]).tolist() == [[0, 1]]


@pytest.mark.parametrize(
    ("arguments", "message"),
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
def test_wrong_sizes_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        bag_of_words(**arguments)


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_story_has_the_numbers(lang):
    assert ".942  .335" in bag_of_words().text(lang)
