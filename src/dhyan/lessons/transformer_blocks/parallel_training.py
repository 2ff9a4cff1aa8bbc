"""Parallel training: one decoder pass has the same loss and gradient as stepwise decoding."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from statistics import median
from time import perf_counter

import torch
from jaxtyping import Float64
from torch import Tensor, nn
from torch.nn import functional

from dhyan.batch import Batch, Tokens
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import (
    LessonResult,
    Machine,
    lesson,
    parse_int,
    parse_ints,
    parse_words,
    this_machine,
)
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
    """A training pass over a sentence: decoder runs, seconds, losses and gradient.

    The seconds of repeated passes are their median.
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
    """A sentence of `length` words, trained on sequentially and in parallel."""

    length: int
    sequential: TrainingPass
    parallel: TrainingPass

    @property
    def loss_difference(self) -> float:
        """How far the two mean losses are apart."""
        return abs(self.sequential.loss - self.parallel.loss)

    @property
    def gradient_difference(self) -> float:
        """The largest difference between the two gradients of any weight."""
        return float((self.sequential.gradient - self.parallel.gradient).abs().max())

    @property
    def times_faster(self) -> float:
        """Speed-up of the parallel pass."""
        return self.sequential.seconds / self.parallel.seconds


@dataclass(frozen=True)
class ParallelTraining(LessonResult):
    """A sentence in both passes, and longer ones timed."""

    words: tuple[str, ...]
    sentence: PassPair
    timed: tuple[PassPair, ...]
    repeats: int
    machine: Machine

    @property
    def same(self) -> bool:
        """Whether losses and gradients are equal but for rounding, at every length."""
        apart = [
            (pair.loss_difference, pair.gradient_difference)
            for pair in (self.sentence, *self.timed)
        ]
        return max(max(differences) for differences in apart) < SAME

    def blocks(self, text: Text) -> Iterator[Block]:
        """Losses, then decoder runs and times."""
        turn, once = text("sequential"), text("parallel")
        methods = (turn, once)
        lengths = [str(pair.length) for pair in self.timed]
        named = [text("word_count", count=length) for length in lengths]
        worst = max(pair.gradient_difference for pair in (self.sentence, *self.timed))
        last = self.timed[-1]
        yield text.paragraph("definition")
        yield table(
            text("loss_per_word"),
            torch.stack([self.sentence.sequential.losses, self.sentence.parallel.losses]),
            methods,
            self.words,
            digits=4,
        )
        yield Paragraph(
            text("same_gradients", worst=worst)
            if self.same
            else text("different_gradients", worst=worst)
        )
        yield table(
            text("decoder_passes"),
            [[float(pair.sequential.runs), float(pair.parallel.runs)] for pair in self.timed],
            named,
            methods,
        )
        yield table(
            text("milliseconds"),
            [[1000 * pair.sequential.seconds, 1000 * pair.parallel.seconds] for pair in self.timed],
            named,
            methods,
            digits=1,
        )
        yield LineChart(
            text("time_per_sentence"),
            tuple(
                Curve(name, [1000 * seconds for seconds in durations])
                for name, durations in (
                    (turn, [pair.sequential.seconds for pair in self.timed]),
                    (once, [pair.parallel.seconds for pair in self.timed]),
                )
            ),
            tuple(lengths),
            text("axis_words"),
            text("milliseconds"),
        )
        yield text.paragraph(
            "speedup",
            length=last.length,
            runs=last.sequential.runs,
            at_once_runs=last.parallel.runs,
            times_faster=last.times_faster,
            machine=self.machine.describe(text),
        )


@lesson
def parallel_training(
    sentence: str | Sequence[str] = SENTENCE,
    *,
    target: str | Sequence[str] = TARGET,
    lengths: Sequence[int] = LENGTHS,
    repeats: int = 3,
    seed: int = 1,
) -> ParallelTraining:
    """Loss and gradients of a pair in both passes, then of random words of each length, timed.

    Every time is the median of `repeats`. The defaults take a few seconds.
    """
    source, target_words = parse_words(sentence), parse_words(target)
    lengths, seed = parse_ints("lengths", lengths), parse_int("seed", seed, least=0)
    repeats = parse_int("repeats", repeats)
    source_ids, target_ids = number_words([source]), number_words([target_words])
    model = tiny_transformer(len(source_ids), len(target_ids), seed=seed)
    passes = _both_passes(
        model,
        _batch([source_ids[word] for word in source], [target_ids[word] for word in target_words]),
    )
    timed = tuple(_timed(lengths, repeats, seed))
    return ParallelTraining((*target_words, NAMES[EOS]), passes, timed, repeats, this_machine())


def _timed(lengths: Sequence[int], repeats: int, seed: int) -> list[PassPair]:
    """Random words of each length; the first pass, which warms up, does not count."""
    model = tiny_transformer(VOCABULARY, VOCABULARY, seed=seed)
    generator = torch.Generator().manual_seed(seed)
    batches = []
    for length in lengths:
        ids = torch.randint(VOCABULARY, (2, length), generator=generator) + len(NAMES)
        batches.append(_batch(*ids.tolist()))
    _both_passes(model, min(batches, key=lambda batch: batch.target.count))
    return [_typical([_both_passes(model, batch) for _ in range(repeats)]) for batch in batches]


def _typical(pairs: Sequence[PassPair]) -> PassPair:
    """The last of several equal pairs, with the median of their times."""
    turn, once = (
        replace(passes[-1], seconds=median(training_pass.seconds for training_pass in passes))
        for passes in ([pair.sequential for pair in pairs], [pair.parallel for pair in pairs])
    )
    return PassPair(pairs[-1].length, turn, once)


def _batch(source: list[int], target: list[int]) -> Batch:
    return Batch(Tokens.pad([[*source, EOS]]), Tokens.pad([[BOS, *target, EOS]]))


def _both_passes(model: Seq2Seq, batch: Batch) -> PassPair:
    """Stepwise decoding with teacher forcing; then all positions in parallel."""
    teacher_forcing = torch.ones_like(batch.inputs.ids, dtype=torch.bool)
    sequential = _run_pass(model, batch, lambda: decode_stepwise(model, batch, teacher_forcing))
    parallel = _run_pass(model, batch, lambda: model(batch))
    return PassPair(batch.target.count - 2, sequential, parallel)


def _run_pass(model: Seq2Seq, batch: Batch, forward: Callable[[], Tensor]) -> TrainingPass:
    """Forward and backward, with the runs of the decoder counted."""
    runs: list[None] = []
    decoder = model.decoder
    assert isinstance(decoder, nn.Module)
    counting = decoder.register_forward_hook(lambda *_: runs.append(None))
    model.zero_grad()
    try:
        start = perf_counter()
        losses = functional.cross_entropy(
            forward().flatten(0, 1), batch.labels.ids.flatten(), reduction="none"
        )
        losses.mean().backward()
        seconds = perf_counter() - start
    finally:
        counting.remove()
    gradients = [weight.grad for weight in model.parameters() if weight.grad is not None]
    gradient = torch.cat([grad.flatten() for grad in gradients])
    return TrainingPass(len(runs), seconds, losses.detach(), gradient)
