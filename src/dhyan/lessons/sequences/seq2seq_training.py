"""A word-level seq2seq model trained on two sentence pairs: ids, loss, one update, translation."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.batch import Batch
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, heatmap, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import (
    LessonResult,
    ProgressCallback,
    lesson,
    parse_int,
    parse_learning_rate,
    parse_words,
)
from dhyan.lessons.tiny_models import (
    END,
    OPTIMIZER_NAMES,
    START,
    DecodedSteps,
    Pairs,
    Vocabulary,
    decode,
    evenly_spaced,
    make_batch,
    parse_optimizer,
    read_pairs,
    tiny_encoder_decoder,
    train_updates,
)
from dhyan.models.seq2seq import Seq2Seq

PARAMETER = "decoder.output.weight"
NUDGE = 1e-5


@dataclass(frozen=True)
class ParameterUpdate:
    """One parameter in the first update of an optimizer, SGD or Adam.

    `slope` is the gradient by finite differences; `alone` is the loss when only this parameter has
    moved, `after` when all of them have.
    """

    optimizer: str
    name: str
    at: tuple[int, ...]
    value: float
    gradient: float
    slope: float
    moved: float
    before: float
    alone: float
    after: float
    rate: float


FORMULAS = {"sgd": "w − η ∂L/∂w", "adam": "w − η m̂ / (√v̂ + ε)"}


def first_update(
    model: Seq2Seq,
    batch: Batch,
    name: str,
    at: Sequence[int] | None,
    *,
    rate: float,
    optimizer: str,
) -> ParameterUpdate:
    """The effect of an optimizer's first update; the model is unchanged afterwards."""
    update = parse_optimizer(optimizer)(model.parameters(), lr=rate)
    weights = dict(model.named_parameters())
    if name not in weights:
        raise UserError(f"parameter: the model has no {name!r}; it has {', '.join(weights)}")
    before = _average(model, batch)
    before.backward()
    weight, gradient = weights[name], weights[name].grad
    assert gradient is not None, "every parameter is in the loss"
    index = _index(name, gradient, at)
    slope_at, value = float(gradient[index]), float(weight.detach()[index])

    @torch.no_grad()
    def moved_to(number: float) -> float:
        weight[index] = number
        loss = float(_average(model, batch))
        weight[index] = value
        return loss

    slope = (moved_to(value + NUDGE) - moved_to(value - NUDGE)) / (2 * NUDGE)
    saved = {key: weights_of.detach().clone() for key, weights_of in weights.items()}
    update.step()
    with torch.no_grad():
        moved, after = float(weight[index]), float(_average(model, batch))
        for key, weights_of in weights.items():
            weights_of.copy_(saved[key])
    model.zero_grad(set_to_none=True)
    alone = moved_to(moved)
    return ParameterUpdate(
        optimizer,
        name,
        index,
        value,
        gradient=slope_at,
        slope=slope,
        moved=moved,
        before=float(before.detach()),
        alone=alone,
        after=after,
        rate=rate,
    )


def _average(model: Seq2Seq, batch: Batch) -> Float64[Tensor, ""]:
    """The mean loss per word of a single pair."""
    logprobs = model(batch)[0].log_softmax(-1)
    return -logprobs.gather(1, batch.labels.ids[0].unsqueeze(1)).mean()


def _index(name: str, gradient: Tensor, at: Sequence[int] | None) -> tuple[int, ...]:
    if at is None:
        flat = int(gradient.abs().argmax())
        return tuple(int(axis) for axis in torch.unravel_index(torch.tensor(flat), gradient.shape))
    index = tuple(at) if isinstance(at, list | tuple) else (at,)
    sizes = tuple(gradient.shape)
    if len(index) != len(sizes) or not all(
        isinstance(axis, int) and 0 <= axis < size for axis, size in zip(index, sizes, strict=False)
    ):
        raise UserError(
            f"at: {name} is {' × '.join(map(str, sizes))} and has no place {list(index)}"
        )
    return index


PAIRS = (("think about it", "सोच लो"), ("come in", "अंदर आ जाओ"))


@dataclass(frozen=True)
class Seq2SeqTraining(LessonResult):
    """Every number from a pair's words to its loss, one update, and the trained model's output.

    Ids count the words of a vocabulary from 0, as in the lesson one_hot; the model's own are one
    more, since its 0 is padding.
    """

    pairs: tuple[tuple[str, str], ...]
    words: tuple[str, ...]
    labels: tuple[str, ...]
    source: Vocabulary
    target: Vocabulary
    points: tuple[tuple[str, tuple[int, ...]], ...]
    source_ids: tuple[int, ...]
    target_ids: tuple[int, ...]
    source_hot: Float64[Tensor, "S N"]
    target_hot: Float64[Tensor, "T V"]
    probs: Float64[Tensor, "T V"]
    losses: Float64[Tensor, " T"]
    total: float
    average: float
    update: ParameterUpdate
    curve: tuple[float, ...]
    predictions: tuple[DecodedSteps, ...]
    model: Seq2Seq

    @property
    def inputs(self) -> tuple[str, ...]:
        """The decoder's input at each step: the previous correct word (teacher forcing)."""
        return (START, *self.labels[:-1])

    @property
    def learned(self) -> tuple[bool, ...]:
        """For every pair, whether the trained model produces its translation and <end>."""
        return tuple(
            self.target.words_of(prediction.outputs) == (*parse_words(right), END)
            for prediction, (_, right) in zip(self.predictions, self.pairs, strict=True)
        )

    def blocks(self, text: Text) -> Iterator[Block]:
        """Words to vectors, a forward pass, its loss, one update, training, prediction."""
        yield from self._vectors(text)
        yield from self._forward(text)
        yield from self._updated(text)
        yield from self._trained(text)

    def _vectors(self, text: Text) -> Iterator[Block]:
        yield text.paragraph(
            "vocabulary",
            pairs_count=len(self.pairs),
            source_count=len(self.source),
            start=START,
            end=END,
            target_count=len(self.target),
        )
        for word, points in self.points:
            title = f"{word}: code points"
            yield table(title, torch.tensor(points), (), tuple(word), commas=False)
        for words, ids in ((self.words, self.source_ids), (self.labels, self.target_ids)):
            yield table("id", torch.tensor(ids), (), words)
        yield table("one-hot", self.source_hot, self.words, self.source.words)
        yield table("one-hot", self.target_hot, self.labels, self.target.words)

    def _forward(self, text: Text) -> Iterator[Block]:
        prices = torch.stack([(self.probs * self.target_hot).sum(-1), self.losses], dim=1)
        sums, size = [[self.total, self.average]], len(self.target)
        span = f"{self.probs.min():.3f}–{self.probs.max():.3f}"
        yield text.paragraph("decoder_before_training", size=size, span=span, uniform=1 / size)
        yield heatmap(
            text("input_and_softmax"), self.probs, self.inputs, self.target.words, digits=3
        )
        yield table(text("reference_word"), prices, self.labels, ("p", "−ln p"), digits=3)
        yield table(
            text("loss"), sums, (), (text("column_total"), text("column_average")), digits=3
        )

    def _updated(self, text: Text) -> Iterator[Block]:
        update = self.update
        name = f"{update.name}[{', '.join(map(str, update.at))}]"
        fell = update.after < update.before
        alone, together = (
            _signed(update.alone - update.before),
            _signed(update.after - update.before),
        )
        if update.optimizer == "adam":
            yield text.paragraph("adam_update", rate=update.rate)
        else:
            yield text.paragraph("sgd_update", rate=update.rate)
        yield text.paragraph("loss_change", name=name, alone=alone, together=together, fell=fell)
        yield table(
            name,
            [[update.value, update.gradient, update.slope, update.moved]],
            (),
            ("w", "∂L/∂w", "ΔL/Δw", FORMULAS[update.optimizer]),
            digits=5,
            operator="→",
        )
        yield table(
            text("average_loss"),
            [[update.before, update.alone, update.after]],
            (),
            (text("loss_before"), text("loss_w_updated"), text("loss_all_updated")),
            digits=5,
        )

    def _trained(self, text: Text) -> Iterator[Block]:
        steps, right = len(self.curve) - 1, sum(self.learned)
        at = evenly_spaced(steps)
        yield text.paragraph(
            "after_training",
            optimizer=OPTIMIZER_NAMES[self.update.optimizer],
            rate=self.update.rate,
            steps=steps,
            first_curve=self.curve[0],
            last_curve=self.curve[-1],
            end=END,
            right=right,
            pairs_count=len(self.pairs),
            single_right=right == 1,
        )
        yield LineChart(
            text("training_curve"),
            (Curve(text("loss"), [self.curve[step] for step in at]),),
            tuple(map(str, at)),
            text("updates"),
            text("average_loss"),
        )
        for (sentence, _), prediction in zip(self.pairs, self.predictions, strict=True):
            inputs, output = (
                self.target.words_of(prediction.inputs),
                " ".join(self.target.words_of(prediction.outputs)),
            )
            title = f"{sentence} → {output}"
            words = self.target.words
            yield heatmap(title, prediction.probs, inputs, words, digits=3)


@lesson
def seq2seq_training(
    pairs: Pairs = PAIRS,
    *,
    sentence: str = "",
    width: int = 6,
    steps: int = 200,
    learning_rate: float = 0.02,
    optimizer: str = "adam",
    parameter: str = PARAMETER,
    at: Sequence[int] | None = None,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> Seq2SeqTraining:
    """A tiny LSTM encoder-decoder on a corpus of a few pairs; it trains for two seconds.

    `sentence` is the source that is shown in detail, by default the first. The `optimizer` is "adam"
    or "sgd"; its first update is shown for `parameter` at the index `at`, by default where the
    gradient is largest.
    """
    pairs = read_pairs(pairs)
    parse_int("steps", steps)
    pair = _select_pair(pairs, sentence)
    source = Vocabulary.of(sentence for sentence, _ in pairs)
    target = Vocabulary.of((translation for _, translation in pairs), START, END)
    model = tiny_encoder_decoder(source, target, width=parse_int("width", width), seed=seed)
    words, labels = parse_words(pair[0]), (*parse_words(pair[1]), END)
    batch, hot = make_batch([pair], source, target), target.one_hot(labels)
    with torch.no_grad():
        probs = model(batch)[0].softmax(-1)[:, 1:]
    losses = -(probs * hot).sum(-1).log()
    rate = parse_learning_rate(learning_rate)
    update = first_update(model, batch, parameter, at, rate=rate, optimizer=optimizer)
    curve = train_updates(
        model,
        make_batch(pairs, source, target),
        steps=steps,
        learning_rate=learning_rate,
        optimizer=optimizer,
        on_progress=on_progress,
    )
    longest = 2 * max(len(parse_words(translation)) for _, translation in pairs) + 2
    predictions = [
        decode(model, source.ids(parse_words(sentence)), limit=longest) for sentence, _ in pairs
    ]
    first = (words[0], labels[0])
    return Seq2SeqTraining(
        pairs,
        words,
        labels,
        source,
        target,
        tuple((word, tuple(map(ord, word))) for word in first),
        tuple(source.positions(words)),
        tuple(target.positions(labels)),
        source.one_hot(words),
        hot,
        probs,
        losses,
        float(losses.sum()),
        float(losses.mean()),
        update,
        curve,
        tuple(predictions),
        model,
    )


def _signed(change: float) -> str:
    return f"{change:+.5f}".replace("-", "−")


def _select_pair(pairs: Sequence[tuple[str, str]], sentence: str) -> tuple[str, str]:
    for pair in pairs:
        if not sentence or pair[0] == " ".join(sentence.split()):
            return pair
    sources = ", ".join(repr(source) for source, _ in pairs)
    raise UserError(f"the corpus has no sentence {sentence!r}, only {sources}; give pairs with it")
