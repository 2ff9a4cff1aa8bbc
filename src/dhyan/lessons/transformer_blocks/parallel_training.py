"""Training on all words at once is training word by word: same loss, same gradients, one run."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

import torch
from jaxtyping import Float64
from torch import Tensor, nn
from torch.nn import functional

from dhyan.batch import Batch, Tokens
from dhyan.insight.blocks import Curve, Lines, Words, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_ints, parse_words
from dhyan.lessons.provenance import Machine, this_machine
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.tiny_models import number_words, tiny_transformer
from dhyan.models.seq2seq import Seq2Seq
from dhyan.special_tokens import BOS, EOS, NAMES
from dhyan.training.scheduled_sampling import decode_stepwise

SENTENCE, TARGET = "we are friends", "हम दोस्त हैं"
LENGTHS = (3, 30, 100, 300)
VOCABULARY = 20  # words of the sentences that are only timed
SAME = 1e-9


@dataclass(frozen=True)
class TrainingPass:
    """One way through a sentence: runs of the decoder, seconds, and what training gets from it.

    The seconds of a way that was gone several times are their median.
    """

    runs: int
    seconds: float
    losses: Float64[Tensor, " T"]
    gradient: Float64[Tensor, " P"]

    @property
    def loss(self) -> float:
        """The mean over all words."""
        return float(self.losses.mean())


@dataclass(frozen=True)
class PassPair:
    """A sentence of so many words, learned from word by word and all at once."""

    length: int
    in_turn: TrainingPass
    at_once: TrainingPass

    @property
    def loss_difference(self) -> float:
        """How far the two mean losses are apart."""
        return abs(self.in_turn.loss - self.at_once.loss)

    @property
    def gradient_difference(self) -> float:
        """The largest difference between the two gradients of any weight."""
        return float((self.in_turn.gradient - self.at_once.gradient).abs().max())

    @property
    def times_faster(self) -> float:
        """How often the parallel way fits into the other's time."""
        return self.in_turn.seconds / self.at_once.seconds


@dataclass(frozen=True)
class ParallelTraining(LessonResult):
    """A sentence both ways, and longer ones timed."""

    words: tuple[str, ...]
    own: PassPair
    timed: tuple[PassPair, ...]
    repeats: int
    machine: Machine

    @property
    def same(self) -> bool:
        """Whether losses and gradients are equal but for rounding, at every length."""
        apart = [(one.loss_difference, one.gradient_difference) for one in (self.own, *self.timed)]
        return max(max(pair) for pair in apart) < SAME

    def page(self, text: Text) -> Page:
        """Equal first, then how many runs and how long."""
        turn, once = text("parallel_training.one_by_one"), text("parallel_training.parallel")
        ways = (turn, once)
        lengths = [str(one.length) for one in self.timed]
        named = [text("parallel_training.words", one=length) for length in lengths]
        worst = max(one.gradient_difference for one in (self.own, *self.timed))
        last = self.timed[-1]
        return Page(
            text("parallel_training.title"),
            (
                Words(text("parallel_training.training_right_words_known")),
                table(
                    text("parallel_training.loss_word"),
                    torch.stack([self.own.in_turn.losses, self.own.at_once.losses]),
                    ways,
                    self.words,
                    digits=4,
                ),
                Words(
                    text("parallel_training.loss_gradients_same_largest", worst=worst)
                    if self.same
                    else text("parallel_training.loss_gradients_differ_up", worst=worst)
                ),
                table(
                    text("parallel_training.runs_decoder"),
                    [[float(one.in_turn.runs), float(one.at_once.runs)] for one in self.timed],
                    named,
                    ways,
                ),
                table(
                    text("parallel_training.milliseconds"),
                    [
                        [1000 * one.in_turn.seconds, 1000 * one.at_once.seconds]
                        for one in self.timed
                    ],
                    named,
                    ways,
                    digits=1,
                ),
                Lines(
                    text("parallel_training.time_learn_sentence"),
                    tuple(
                        Curve(name, [1000 * seconds for seconds in found])
                        for name, found in (
                            (turn, [one.in_turn.seconds for one in self.timed]),
                            (once, [one.at_once.seconds for one in self.timed]),
                        )
                    ),
                    tuple(lengths),
                    text("parallel_training.words_2"),
                    text("parallel_training.milliseconds"),
                ),
                Words(
                    text(
                        "parallel_training.sentence_words_takes_runs",
                        length=last.length,
                        runs=last.in_turn.runs,
                        at_once_runs=last.at_once.runs,
                        times_faster=last.times_faster,
                        repeats=self.repeats,
                        machine=self.machine.describe(text),
                    )
                ),
            ),
        )


def parallel_training(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    target: str | Sequence[str] = TARGET,
    lengths: Sequence[int] = LENGTHS,
    repeats: int = 3,
    seed: int = 1,
) -> ParallelTraining:
    """Loss and gradients of a pair both ways, then of random words of each length, timed.

    Every time is the median of some `repeats`. The defaults take a few seconds.
    """
    source, said = parse_words(sentence), parse_words(target)
    lengths, seed = parse_ints("lengths", lengths), parse_int("seed", seed, least=0)
    repeats = parse_int("repeats", repeats)
    heard, names = number_words([source]), number_words([said])
    model = tiny_transformer(len(heard), len(names), seed=seed)
    own = _both_passes(
        model, _batch([heard[word] for word in source], [names[word] for word in said])
    )
    timed = tuple(_timed(lengths, repeats, seed))
    return ParallelTraining((*said, NAMES[EOS]), own, timed, repeats, this_machine())


def _timed(lengths: Sequence[int], repeats: int, seed: int) -> list[PassPair]:
    """Random words of each length; the first pass, which warms up, does not count."""
    model = tiny_transformer(VOCABULARY, VOCABULARY, seed=seed)
    draw = torch.Generator().manual_seed(seed)
    batches = []
    for length in lengths:
        ids = torch.randint(VOCABULARY, (2, length), generator=draw) + len(NAMES)
        batches.append(_batch(*ids.tolist()))
    _both_passes(model, min(batches, key=lambda batch: batch.target.count))
    return [_typical([_both_passes(model, batch) for _ in range(repeats)]) for batch in batches]


def _typical(pairs: Sequence[PassPair]) -> PassPair:
    """The last of several equal ones, with the median of their times."""
    turn, once = (
        replace(ways[-1], seconds=median(way.seconds for way in ways))
        for ways in ([pair.in_turn for pair in pairs], [pair.at_once for pair in pairs])
    )
    return PassPair(pairs[-1].length, turn, once)


def _batch(source: list[int], target: list[int]) -> Batch:
    return Batch(Tokens.pad([[*source, EOS]]), Tokens.pad([[BOS, *target, EOS]]))


def _both_passes(model: Seq2Seq, batch: Batch) -> PassPair:
    """Word by word, told the right words; then all at once."""
    told = torch.ones_like(batch.inputs.ids, dtype=torch.bool)
    in_turn = _run_pass(model, batch, lambda: decode_stepwise(model, batch, told))
    at_once = _run_pass(model, batch, lambda: model(batch))
    return PassPair(batch.target.count - 2, in_turn, at_once)


def _run_pass(model: Seq2Seq, batch: Batch, think: Callable[[], Tensor]) -> TrainingPass:
    """Forward and backward, with the runs of the decoder counted."""
    runs: list[None] = []
    decoder = model.decoder
    assert isinstance(decoder, nn.Module)
    counting = decoder.register_forward_hook(lambda *_: runs.append(None))
    model.zero_grad()
    try:
        began = perf_counter()
        losses = functional.cross_entropy(
            think().flatten(0, 1), batch.labels.ids.flatten(), reduction="none"
        )
        losses.mean().backward()
        seconds = perf_counter() - began
    finally:
        counting.remove()
    found = [weight.grad for weight in model.parameters() if weight.grad is not None]
    gradient = torch.cat([one.flatten() for one in found])
    return TrainingPass(len(runs), seconds, losses.detach(), gradient)
