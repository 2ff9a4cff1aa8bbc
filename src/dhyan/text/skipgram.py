"""Skip-gram with negative sampling (Mikolov et al., 2013): word vectors trained on a corpus.

A word's vector v is trained to tell context words c from negatives n, sampled at random:
log σ(u_c · v) + Σ_n log σ(−u_n · v) is maximised. Negatives are sampled by their counts to the power
of 3/4; frequent words are subsampled before windows are formed.
Two deviations from the paper, both for speed: neighbouring pairs share negatives, and updates are
minibatch Adagrad.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice

import torch
from jaxtyping import Float32, Float64, Int64
from torch import Tensor
from torch.nn import functional

from dhyan.errors import UserError
from dhyan.text.word_vectors import WordVectors

BATCH_PAIRS = 4096  # pairs of a minibatch
NEGATIVES_SHARED_BY = 16  # pairs that share negatives, for speed
CHUNK_WORDS = 2**19  # words whose pairs are in memory at once
EPOCHS = 5
LEARNING_RATE = 0.1


def train_skip_gram(
    sentences: Iterable[Sequence[str]],
    *,
    width: int = 64,
    window: int = 5,
    negatives: int = 5,
    min_count: int = 5,
    subsample: float = 1e-3,
    steps: int | None = None,
    seed: int = 1,
    on_progress: Callable[[str], None] | None = None,
) -> WordVectors:
    """The vectors of all words with at least `min_count` occurrences, the most frequent first.

    Two words make a pair if they are at most `window` words apart, nearer ones more often; a word
    whose share of the corpus is larger than `subsample` is left out the more, the larger it is. Five
    passes over the corpus are made, or so many steps, each over 4,096 pairs.
    """
    sizes = {"width": width, "window": window, "negatives": negatives, "steps": steps}
    for name, size in sizes.items():
        if size is not None and (not isinstance(size, int) or size < 1):
            raise UserError(f"{name} is {size!r}; give a whole number from 1 on")
    corpus = Corpus.of(sentences, min_count)
    rng = torch.Generator().manual_seed(seed)
    model = SkipGram.initial(corpus.counts, width, negatives, rng)
    done = 0
    with single_thread():
        for number in range(1, (EPOCHS if steps is None else steps) + 1):
            left = None if steps is None else steps - done
            batches = islice(corpus.batches(window, subsample, rng), left)
            losses = [model.step(pairs) for pairs in batches]
            done += len(losses)
            if on_progress and losses:
                on_progress(f"epoch {number}, step {done:,}: loss {sum(losses) / len(losses):.3f}")
            if done == steps:
                break
    if not done:
        raise UserError("the corpus has no two words within the window: give longer sentences")
    return WordVectors(corpus.words, model.inputs.values.numpy(), frozenset())


@contextmanager
def single_thread() -> Iterator[None]:
    """Run the block in one thread: steps are too small to gain from more."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@dataclass(frozen=True)
class Corpus:
    """A corpus as one row of word ids, with the sentence index of each word."""

    words: tuple[str, ...]
    counts: Int64[Tensor, " V"]
    ids: Int64[Tensor, " N"]
    sentence: Int64[Tensor, " N"]

    @classmethod
    def of(cls, sentences: Iterable[Sequence[str]], min_count: int) -> "Corpus":
        """A corpus without its rare words."""
        sentence_list = list(sentences)
        counts = Counter(word for sentence in sentence_list for word in sentence)
        frequent = [(word, count) for word, count in counts.most_common() if count >= min_count]
        if len(frequent) < 2:
            raise UserError(
                f"of {len(counts):,} words {len(frequent)} occur {min_count} times or more: "
                "give more text, or a smaller min_count"
            )
        ids_by_word = {word: id for id, (word, _) in enumerate(frequent)}
        id_lists = [
            [ids_by_word[word] for word in sentence if word in ids_by_word]
            for sentence in sentence_list
        ]
        lengths = torch.tensor([len(sentence) for sentence in id_lists])
        return cls(
            tuple(ids_by_word),
            torch.tensor([count for _, count in frequent]),
            torch.tensor([id for sentence in id_lists for id in sentence]),
            torch.arange(len(id_lists)).repeat_interleave(lengths),
        )

    def batches(
        self, window: int, subsample: float, rng: torch.Generator
    ) -> Iterator[Int64[Tensor, "B 2"]]:
        """One epoch of (word, context) pairs, shuffled within chunks."""
        share = self.counts / self.counts.sum()
        keep_prob = (subsample / share).sqrt()
        for start in range(0, len(self.ids), CHUNK_WORDS):
            ids, sentence = (
                self.ids[start : start + CHUNK_WORDS],
                self.sentence[start : start + CHUNK_WORDS],
            )
            keep_mask = torch.rand(len(ids), generator=rng) < keep_prob[ids]
            word_pairs = pairs(ids[keep_mask], sentence[keep_mask], window, rng)
            if len(word_pairs):
                yield from word_pairs[torch.randperm(len(word_pairs), generator=rng)].split(
                    BATCH_PAIRS
                )


def pairs(
    ids: Int64[Tensor, " N"], sentence: Int64[Tensor, " N"], window: int, rng: torch.Generator
) -> Int64[Tensor, "P 2"]:
    """Each word with its neighbours in the sentence; the window is sampled from 1 to `window`."""
    windows = torch.randint(1, window + 1, (len(ids),), generator=rng)
    word_pairs = [ids.new_empty(0, 2)]
    for distance in range(1, min(window, len(ids) - 1) + 1):
        candidates = torch.stack((ids[:-distance], ids[distance:]), 1)
        same_sentence = sentence[:-distance] == sentence[distance:]
        word_pairs.append(candidates[same_sentence & (windows[:-distance] >= distance)])
        word_pairs.append(candidates[same_sentence & (windows[distance:] >= distance)].flip(1))
    return torch.cat(word_pairs)


@dataclass(frozen=True)
class EmbeddingTable:
    """Embeddings with their summed squared gradients (Adagrad: Duchi et al., 2011)."""

    values: Float32[Tensor, "V D"]
    squares: Float32[Tensor, "V D"]

    def descend(self, ids: Int64[Tensor, " N"], gradients: Float32[Tensor, "N D"]) -> None:
        """An Adagrad step on these rows; gradients of a repeated row add up."""
        rows, which = ids.unique(return_inverse=True)
        total = gradients.new_zeros(len(rows), gradients.shape[1]).index_add_(0, which, gradients)
        squares = self.squares[rows] + total.square()
        self.squares[rows] = squares
        self.values[rows] -= LEARNING_RATE * total / (squares.sqrt() + 1e-8)


@dataclass(frozen=True)
class SkipGram:
    """The skip-gram model: input vectors v of words, output vectors u of context words."""

    inputs: EmbeddingTable
    outputs: EmbeddingTable
    cumulative_probs: Float64[Tensor, " V"]  # of a word and all before it
    negatives: int
    rng: torch.Generator

    @classmethod
    def initial(
        cls, counts: Int64[Tensor, " V"], width: int, negatives: int, rng: torch.Generator
    ) -> "SkipGram":
        """Small random v, zero u, and the cumulative distribution that negatives are sampled from."""
        values = (torch.rand(len(counts), width, generator=rng) - 0.5) / width
        cumulative_probs = counts.double().pow(0.75)
        return cls(
            EmbeddingTable(values, torch.zeros_like(values)),
            EmbeddingTable(torch.zeros_like(values), torch.zeros_like(values)),
            (cumulative_probs / cumulative_probs.sum()).cumsum(0),
            negatives,
            rng,
        )

    def step(self, near: Int64[Tensor, "B 2"]) -> float:
        """A gradient step on a minibatch of pairs; returns the mean loss."""
        word, context = near.unbind(1)
        share = 1 if len(near) % NEGATIVES_SHARED_BY else NEGATIVES_SHARED_BY
        random = self._random(len(near) // share)
        v, u, n = (
            self.inputs.values[word],
            self.outputs.values[context],
            self.outputs.values[random],
        )
        grouped = v.unflatten(0, (-1, share))
        positive, negative = (u * v).sum(1, keepdim=True), grouped @ n.mT
        grad_positive, grad_negative = positive.sigmoid() - 1, negative.sigmoid()
        same = context.unflatten(0, (-1, share)).unsqueeze(2) == random.unsqueeze(1)
        grad_negative.masked_fill_(same, 0)  # a sampled negative that is the positive word
        grad_v = grad_positive * u + (grad_negative @ n).flatten(0, 1)
        grad_u, grad_n = grad_positive * v, (grad_negative.mT @ grouped).flatten(0, 1)
        self.outputs.descend(torch.cat((context, random.flatten())), torch.cat((grad_u, grad_n)))
        self.inputs.descend(word, grad_v)
        loss = functional.softplus(-positive).sum() + functional.softplus(negative).sum()
        return loss.item() / len(near)

    def _random(self, groups: int) -> Int64[Tensor, "G K"]:
        """Negatives for each group of pairs, sampled from the cumulative distribution."""
        dice = torch.rand(groups, self.negatives, generator=self.rng, dtype=torch.float64)
        return torch.searchsorted(self.cumulative_probs, dice).clamp_(
            max=len(self.cumulative_probs) - 1
        )
