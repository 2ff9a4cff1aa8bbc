"""Slices hold every sentence once, and each is scored as a corpus of its own."""

import pytest
import torch
from torch.nn.functional import one_hot

from dhyan.batch import Batch, Tokens
from dhyan.evaluation.metrics import count
from dhyan.evaluation.slices import (
    accuracy_by_position,
    by_length,
    by_rarity,
    fifths,
    frequencies,
    slices,
)
from dhyan.special_tokens import BOS, EOS

REFERENCE = "वह घर जाता है ।"


def counted(sentences):
    return count([REFERENCE] * sentences, [REFERENCE] * sentences, language="hi")


def bounds(parts):
    return [(part.least, part.most, part.sentences) for part in parts]


def test_length_slices_contain_every_sentence_once():
    sources = [" ".join(["w"] * n) for n in (1, 5, 6, 10, 11, 60)]
    parts = by_length(counted(6), sources)
    assert bounds(parts) == [(1, 5, 2), (6, 10, 2), (11, 15, 1), (51, None, 1)]
    assert all(part.scores["bleu"].value == pytest.approx(100) for part in parts)
    assert all(part.scores["ter"].value == 0 for part in parts)


def test_every_slice_is_scored_by_the_same_tokenizer():
    texts = ["iPhone है।", "यह एक बहुत लंबा वाक्य है जिसमें हिंदी के शब्द हैं।"]
    parts = by_length(count(texts, texts), ["one two", "one two three four five six seven"])
    assert len(parts) == 2
    assert all("tok:intl" in part.scores["bleu"].signature for part in parts)


def test_a_sentence_is_as_rare_as_its_rarest_word():
    frequency = {"the": 900, "cat": 30, "sat": 100, "purred": 4}
    sources = ["the unicorn", "the cat purred", "The cat.", "the sat", "the cat sat"]
    parts = by_rarity(counted(5), sources, frequency)
    assert bounds(parts) == [(0, 0, 1), (1, 4, 1), (20, 99, 2), (100, None, 1)]


def test_a_sentence_without_words_is_in_the_last_slice():
    assert bounds(by_rarity(counted(1), ["…!"], {})) == [(100, None, 1)]


def test_the_worst_slice_is_where_the_mistakes_are():
    hypotheses = [REFERENCE, "कुछ और", REFERENCE, "नहीं"]
    counts = count(hypotheses, [REFERENCE] * 4, language="hi")
    rare, common = by_rarity(counts, ["odd", "rare", "the", "rare"], {"odd": 200, "the": 200})
    assert (rare.scores["bleu"].value, common.scores["bleu"].value) == (0, pytest.approx(100))


def test_smaller_measures_belong_to_the_first_slice():
    assert bounds(slices(counted(3), [0, 1, 7], (2, 5))) == [(2, 4, 2), (5, None, 1)]


def test_words_are_counted_without_case_and_punctuation():
    lines = ["The cat, the CAT!", "a dog", "पानी। पानी"]
    assert frequencies(lines, ["cat the", "पानी?"]) == {"the": 2, "cat": 2, "पानी": 2}


def test_two_encodings_of_a_character_are_one_word():
    assert frequencies(["ल\u095cका"], ["लड़का"]) == {"लड़का": 1}


def test_fifths_are_fifths_of_the_sentence():
    assert fifths(torch.tensor([10]), 10).tolist() == [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]
    assert fifths(torch.tensor([5, 2]), 5).tolist() == [[0, 1, 2, 3, 4], [0, 2, 4, 4, 4]]


def test_accuracy_counts_real_tokens_without_eos():
    targets = [[BOS, 5, 6, 7, 8, 9, EOS], [BOS, 5, 6, EOS]]
    batch = Batch(Tokens.pad([[5, EOS], [6, EOS]]), Tokens.pad(targets))
    predicted = batch.labels.ids.clone()
    predicted[0, 4] = 4  # the last word of the first sentence
    predicted[1, 0] = 4  # the first word of the second
    predicted[:, -1] = 4  # an end, and padding
    accuracy = accuracy_by_position([(one_hot(predicted, 12).float(), batch)])
    assert accuracy.tokens == (2, 1, 2, 1, 1)
    assert accuracy.shares == (0.5, 1.0, 1.0, 1.0, 0.0)
