"""Right words are counted by the fifth of the sentence they stand in."""

import torch
from torch.nn.functional import one_hot

from dhyan.batch import Batch, Tokens
from dhyan.evaluation.accuracy_by_position import accuracy_by_position, fifths
from dhyan.special_tokens import BOS, EOS


def test_fifths_are_fifths_of_the_sentence():
    assert fifths(torch.tensor([10]), 10).tolist() == [[0, 0, 1, 1, 2, 2, 3, 3, 4, 4]]
    assert fifths(torch.tensor([5, 2]), 5).tolist() == [[0, 1, 2, 3, 4], [0, 2, 4, 4, 4]]


def test_accuracy_counts_real_tokens_without_eos():
    targets = [[BOS, 5, 6, 7, 8, 9, EOS], [BOS, 5, 6, EOS]]
    batch = Batch(Tokens.pad([[5, EOS], [6, EOS]]), Tokens.pad(targets))
    said = batch.labels.ids.clone()
    said[0, 4] = 4  # the last word of the first sentence
    said[1, 0] = 4  # the first word of the second
    said[:, -1] = 4  # an end, and padding
    found = accuracy_by_position([(one_hot(said, 12).float(), batch)])
    assert found.tokens == (2, 1, 2, 1, 1)
    assert found.shares == (0.5, 1.0, 1.0, 1.0, 0.0)
