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


def talk(count=600):
    """Sentences of two worlds that share no words but one."""
    dice = np.random.default_rng(1)
    worlds = (["mango", "plum", "ripe", "sweet"], ["train", "bus", "fast", "late"])
    return [["the", *dice.permutation(worlds[number % 2])] for number in range(count)]


def test_a_word_is_paired_with_all_in_its_reach_and_none_of_another_sentence():
    ids, sentence = torch.tensor([0, 1, 2, 3, 4]), torch.tensor([0, 0, 0, 1, 1])
    found = pairs(ids, sentence, 1, rng())
    assert sorted(map(tuple, found.tolist())) == [(0, 1), (1, 0), (1, 2), (2, 1), (3, 4), (4, 3)]


def test_nearer_words_are_paired_more_often():
    ids, sentence = torch.arange(20_000), torch.zeros(20_000, dtype=torch.int64)
    apart = pairs(ids, sentence, 4, rng()).diff(dim=1).abs().flatten()
    shares = apart.bincount(minlength=5)[1:] / (2 * len(ids))
    assert shares.tolist() == pytest.approx([1.0, 0.75, 0.5, 0.25], abs=0.02)


def test_frequent_words_are_left_out_by_the_root_of_their_share():
    corpus = Corpus.of([(["a"] * 9 + ["b"]) * 2000], min_count=1)
    found = torch.cat([*corpus.batches(1, 0.1, rng())])
    seen = found[:, 0].bincount().double()  # a has a share of .9, so that a third of it stays
    assert seen[0] / seen[1] == pytest.approx(9 / 3, rel=0.15)


def test_words_are_drawn_by_their_counts_to_the_power_of_three_quarters():
    cumulative_probs = SkipGram.initial(torch.tensor([16, 1]), 2, 5, rng()).cumulative_probs
    assert cumulative_probs.tolist() == pytest.approx([8 / 9, 1.0])


def test_rare_words_get_no_vector_and_the_most_frequent_come_first():
    corpus = Corpus.of([["b", "a", "c"], ["a", "b", "a"]], min_count=2)
    assert corpus.words == ("a", "b")
    assert corpus.ids.tolist() == [1, 0, 0, 1, 0]
    assert corpus.sentence.tolist() == [0, 0, 1, 1, 1]


@pytest.mark.parametrize("shared", [1, 2, 4])
def test_the_gradients_equal_autograd(monkeypatch, shared):
    moved = []
    monkeypatch.setattr(EmbeddingTable, "descend", lambda self, ids, by: moved.append((ids, by)))
    monkeypatch.setattr(skipgram, "NEGATIVES_SHARED_BY", shared)
    learner = SkipGram.initial(torch.tensor([5, 4, 3, 2]), 3, 2, rng())
    learner.outputs.values.copy_(torch.randn(4, 3, generator=rng()))
    near = torch.tensor([[0, 1], [2, 3], [0, 0], [3, 1]])
    loss = learner.step(near)
    v = learner.inputs.values.clone().requires_grad_()
    u = learner.outputs.values.clone().requires_grad_()
    (looked_at, by_u), (word, by_v) = moved
    beside, random = looked_at[:4], looked_at[4:].unflatten(0, (-1, 2))
    random = random.repeat_interleave(shared, 0)
    real = functional.softplus(-(u[beside] * v[word]).sum(1))
    drawn = functional.softplus((u[random] * v[word].unsqueeze(1)).sum(2))
    (real.sum() + (drawn * (random != beside.unsqueeze(1))).sum()).backward()
    zeros = torch.zeros(4, 3)
    assert torch.allclose(zeros.index_add(0, looked_at, by_u), u.grad, atol=1e-6)
    assert torch.allclose(zeros.index_add(0, word, by_v), v.grad, atol=1e-6)
    assert loss == pytest.approx((real.sum() + drawn.sum()).item() / 4, rel=1e-5)


def test_pairs_that_do_not_fill_a_group_draw_words_of_their_own(monkeypatch):
    drawn = []
    learner = SkipGram.initial(torch.tensor([5, 4, 3]), 2, 7, rng())
    known = SkipGram._random
    monkeypatch.setattr(
        SkipGram, "_random", lambda *given: drawn.append(known(*given)) or drawn[-1]
    )
    learner.step(torch.zeros(17, 2, dtype=torch.int64))
    learner.step(torch.zeros(32, 2, dtype=torch.int64))
    assert [one.shape for one in drawn] == [(17, 7), (2, 7)]


def test_only_rows_with_a_gradient_move_and_gradients_of_one_row_add_up():
    rows = EmbeddingTable(torch.zeros(3, 2), torch.zeros(3, 2))
    rows.descend(torch.tensor([2, 0, 2]), torch.tensor([[1.0, 0], [0, 0], [2.0, -4.0]]))
    assert rows.squares.tolist() == [[0, 0], [0, 0], [9, 16]]
    expected = torch.tensor([[0, 0], [0, 0], [-skipgram.LEARNING_RATE, skipgram.LEARNING_RATE]])
    assert torch.allclose(rows.values, expected)


def test_words_that_stand_together_come_to_lie_together():
    vectors = train_skip_gram(talk(), width=16, subsample=1.0)
    assert {one.word for one in neighbours(vectors, "mango", count=3)} == {"plum", "ripe", "sweet"}
    assert cosine(vectors, "train", "bus") > cosine(vectors, "train", "plum") + 0.5


def test_the_same_seed_gives_the_same_vectors_and_another_others():
    one, again, other = (train_skip_gram(talk(60), width=8, seed=seed).table for seed in (1, 1, 2))
    assert (one == again).all()
    assert (one != other).any()


def test_a_corpus_in_stretches_gives_every_word(monkeypatch):
    monkeypatch.setattr(skipgram, "CHUNK_WORDS", 64)
    assert len(train_skip_gram(talk(60), width=8).words) == 9


def test_epochs_are_reported_and_steps_are_limited(monkeypatch):
    heard = []
    monkeypatch.setattr(skipgram, "BATCH_PAIRS", 100)
    train_skip_gram(talk(60), width=8, subsample=1.0, steps=3, on_progress=heard.append)
    assert len(heard) == 1
    assert heard[0].startswith("epoch 1, step 3: loss ")
    heard.clear()
    train_skip_gram(talk(60), width=8, on_progress=heard.append)
    assert len(heard) == skipgram.EPOCHS


@pytest.mark.parametrize(
    ("sentences", "given", "said"),
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
def test_an_unusable_corpus_is_refused(sentences, given, said):
    with pytest.raises(UserError, match=said):
        train_skip_gram(sentences, **given)
