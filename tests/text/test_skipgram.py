"""Skip-gram with negative sampling: its pairs, its derivatives, and what it learns."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from dhyan.errors import UserError
from dhyan.text import skipgram
from dhyan.text.nearest_neighbours import cosine, neighbours
from dhyan.text.skipgram import Corpus, EmbeddingTable, SkipGram, pairs, train_skip_gram


def rng(seed=1):
    return torch.Generator().manual_seed(seed)


def two_topics(count=600):
    """Sentences of two topics that share one word."""
    random_generator = np.random.default_rng(1)
    topics = (["mango", "plum", "ripe", "sweet"], ["train", "bus", "fast", "late"])
    return [["the", *random_generator.permutation(topics[number % 2])] for number in range(count)]


def test_words_are_paired_within_the_window_and_the_sentence():
    ids, sentence = torch.tensor([0, 1, 2, 3, 4]), torch.tensor([0, 0, 0, 1, 1])
    word_pairs = pairs(ids, sentence, 1, rng())
    assert sorted(map(tuple, word_pairs.tolist())) == [
        (0, 1),
        (1, 0),
        (1, 2),
        (2, 1),
        (3, 4),
        (4, 3),
    ]


def test_nearer_words_are_paired_more_often():
    ids, sentence = torch.arange(20_000), torch.zeros(20_000, dtype=torch.int64)
    distances = pairs(ids, sentence, 4, rng()).diff(dim=1).abs().flatten()
    shares = distances.bincount(minlength=5)[1:] / (2 * len(ids))
    assert shares.tolist() == pytest.approx([1.0, 0.75, 0.5, 0.25], abs=0.02)


def test_frequent_words_are_subsampled():
    corpus = Corpus.of([(["a"] * 9 + ["b"]) * 2000], min_count=1)
    word_pairs = torch.cat([*corpus.batches(1, 0.1, rng())])
    counts = (
        word_pairs[:, 0].bincount().double()
    )  # a has a share of .9, so that a third of it stays
    assert counts[0] / counts[1] == pytest.approx(9 / 3, rel=0.15)


def test_negatives_are_sampled_by_counts_to_the_three_quarters():
    cumulative_probs = SkipGram.initial(torch.tensor([16, 1]), 2, 5, rng()).cumulative_probs
    assert cumulative_probs.tolist() == pytest.approx([8 / 9, 1.0])


def test_rare_words_have_no_vector():
    corpus = Corpus.of([["b", "a", "c"], ["a", "b", "a"]], min_count=2)
    assert corpus.words == ("a", "b")
    assert corpus.ids.tolist() == [1, 0, 0, 1, 0]
    assert corpus.sentence.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("shared", [1, 2, 4])
def test_the_gradients_equal_autograd(monkeypatch, shared):
    updates = []
    monkeypatch.setattr(
        EmbeddingTable, "descend", lambda self, ids, gradients: updates.append((ids, gradients))
    )
    monkeypatch.setattr(skipgram, "NEGATIVES_SHARED_BY", shared)
    model = SkipGram.initial(torch.tensor([5, 4, 3, 2]), 3, 2, rng())
    model.outputs.values.copy_(torch.randn(4, 3, generator=rng()))
    near = torch.tensor([[0, 1], [2, 3], [0, 0], [3, 1]])
    loss = model.step(near)
    v = model.inputs.values.clone().requires_grad_()
    u = model.outputs.values.clone().requires_grad_()
    (output_ids, grad_u), (word, grad_v) = updates
    context, negatives = output_ids[:4], output_ids[4:].unflatten(0, (-1, 2))
    negatives = negatives.repeat_interleave(shared, 0)
    positive_loss = functional.softplus(-(u[context] * v[word]).sum(1))
    negative_loss = functional.softplus((u[negatives] * v[word].unsqueeze(1)).sum(2))
    (positive_loss.sum() + (negative_loss * (negatives != context.unsqueeze(1))).sum()).backward()
    zeros = torch.zeros(4, 3)
    assert torch.allclose(zeros.index_add(0, output_ids, grad_u), u.grad, atol=1e-6)
    assert torch.allclose(zeros.index_add(0, word, grad_v), v.grad, atol=1e-6)
    assert loss == pytest.approx((positive_loss.sum() + negative_loss.sum()).item() / 4, rel=1e-5)


def test_an_incomplete_group_has_its_own_negatives(monkeypatch):
    samples = []
    model = SkipGram.initial(torch.tensor([5, 4, 3]), 2, 7, rng())
    sample_negatives = SkipGram._random
    monkeypatch.setattr(
        SkipGram,
        "_random",
        lambda *arguments: samples.append(sample_negatives(*arguments)) or samples[-1],
    )
    model.step(torch.zeros(17, 2, dtype=torch.int64))
    model.step(torch.zeros(32, 2, dtype=torch.int64))
    assert [sample.shape for sample in samples] == [(17, 7), (2, 7)]


def test_gradients_of_a_repeated_row_add_up():
    rows = EmbeddingTable(torch.zeros(3, 2), torch.zeros(3, 2))
    rows.descend(torch.tensor([2, 0, 2]), torch.tensor([[1.0, 0], [0, 0], [2.0, -4.0]]))
    assert rows.squares.tolist() == [[0, 0], [0, 0], [9, 16]]
    expected = torch.tensor([[0, 0], [0, 0], [-skipgram.LEARNING_RATE, skipgram.LEARNING_RATE]])
    assert torch.allclose(rows.values, expected)


def test_words_of_a_topic_are_nearest_neighbours():
    vectors = train_skip_gram(two_topics(), width=16, subsample=1.0)
    assert {neighbour.word for neighbour in neighbours(vectors, "mango", count=3)} == {
        "plum",
        "ripe",
        "sweet",
    }
    assert cosine(vectors, "train", "bus") > cosine(vectors, "train", "plum") + 0.5


def test_vectors_follow_from_the_seed():
    first, again, other = (
        train_skip_gram(two_topics(60), width=8, seed=seed).table for seed in (1, 1, 2)
    )
    assert (first == again).all()
    assert (first != other).any()


def test_a_corpus_of_several_chunks_has_every_word(monkeypatch):
    monkeypatch.setattr(skipgram, "CHUNK_WORDS", 64)
    assert len(train_skip_gram(two_topics(60), width=8).words) == 9


def test_epochs_are_reported_and_steps_are_limited(monkeypatch):
    messages = []
    monkeypatch.setattr(skipgram, "BATCH_PAIRS", 100)
    train_skip_gram(two_topics(60), width=8, subsample=1.0, steps=3, on_progress=messages.append)
    assert len(messages) == 1
    assert messages[0].startswith("epoch 1, step 3: loss ")
    messages.clear()
    train_skip_gram(two_topics(60), width=8, on_progress=messages.append)
    assert len(messages) == skipgram.EPOCHS


@pytest.mark.parametrize(
    ("sentences", "options", "message"),
    [
        (
            [["a", "b"]],
            {},
            "of 2 words 0 occur 5 times or more: give more text, or a smaller min_count",
        ),
        ([["a"], ["b"]] * 9, {}, "no two words within the window"),
        ([["a", "b"]] * 9, {"width": 0}, "width is 0; give a whole number from 1 on"),
        ([["a", "b"]] * 9, {"steps": 0}, "steps is 0; give a whole number from 1 on"),
    ],
)
def test_an_unusable_corpus_is_refused(sentences, options, message):
    with pytest.raises(UserError, match=message):
        train_skip_gram(sentences, **options)
