"""Scaled dot product: why scores are divided by √dk: variance, saturation, training gradients."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from itertools import islice
from math import inf
from pathlib import Path

import torch
from jaxtyping import Float64
from torch import Tensor, nn

from dhyan.attention import Attended, MultiHeadAttention, attend
from dhyan.config import Recipe, load_recipe
from dhyan.data.batches import Batches, sorted_batches
from dhyan.data.encode import encode_pairs
from dhyan.data.store import Examples
from dhyan.data.synthetic import reverse_pairs
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, heatmap, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix, parse_vector
from dhyan.kernels.backend import reference_kernels
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int, parse_ints
from dhyan.models.build import build_model
from dhyan.models.seq2seq import Seq2Seq
from dhyan.text.tokenizer import Tokenizer
from dhyan.training.events import Stepped
from dhyan.training.loss import cross_entropy
from dhyan.training.trainer import Trainer

KEYS = 8  # keys in a row of scores


@dataclass(frozen=True)
class ScoreSpread:
    """Spread of q·k over random q and k of each width, with components of mean 0 and variance 1.

    A row is raw (q·k) or scaled (q·k/√dk), a column a width: the variance, the mean largest of
    eight weights, and the mean norm of the softmax's Jacobian, √Σ (∂w_i/∂e_j)².
    """

    widths: tuple[int, ...]
    variances: Float64[Tensor, "2 N"]
    largest: Float64[Tensor, "2 N"]
    slopes: Float64[Tensor, "2 N"]

    @property
    def per_width(self) -> tuple[float, float]:
        """The least and the most of Var(q·k)/dk: both are near 1 if it grows linearly."""
        ratios = self.variances[0] / torch.tensor(self.widths)
        return float(ratios.min()), float(ratios.max())


def measure_spread(widths: Sequence[int], *, draws: int, seed: int) -> ScoreSpread:
    """Draw a query and eight keys `draws` times for each width."""
    generator = torch.Generator().manual_seed(seed)
    columns = [_measured(width, draws, generator) for width in widths]
    variances, largest, slopes = (
        torch.stack(column, dim=1) for column in zip(*columns, strict=True)
    )
    return ScoreSpread(tuple(widths), variances, largest, slopes)


def _measured(width: int, draws: int, generator: torch.Generator) -> tuple[Tensor, Tensor, Tensor]:
    queries, keys = (
        torch.randn(draws, count, width, generator=generator, dtype=torch.float64)
        for count in (1, KEYS)
    )
    raw = (queries * keys).sum(-1)
    scores = torch.stack([raw, raw / width**0.5])
    weights = scores.softmax(-1)
    variances = scores.flatten(1).var(dim=1, unbiased=False)
    return variances, weights.amax(-1).mean(1), softmax_gradient_norm(weights).mean(1)


def softmax_gradient_norm(weights: Float64[Tensor, "*A N"]) -> Float64[Tensor, "*A"]:
    """√Σ (∂w_i/∂e_j)² of the softmax, whose slopes are w_i (δ_ij − w_j)."""
    squares = weights.square().sum(-1)
    return (squares - 2 * weights.pow(3).sum(-1) + squares.square()).clamp_min(0).sqrt()


TRAINING_PAIRS, UNSEEN, CURVE_POINTS = 4000, 300, 10


@dataclass(frozen=True)
class TrainingRun:
    """Curves of a training run, each point a mean over the steps since the one before.

    `through` is the gradient norm at the scores, `weights` that of the query and key matrices and
    `most` its 95th percentile; `largest` is the mean largest weight of a row. `loss` and `right`
    are the loss and accuracy on unseen pairs.
    """

    key_width: int
    scaled: bool
    steps: tuple[int, ...]
    losses: tuple[float, ...]
    through: tuple[float, ...]
    weights: tuple[float, ...]
    largest: tuple[float, ...]
    most: float
    loss: float
    right: float

    @property
    def late(self) -> float:
        """The mean of `through` over the second half."""
        half = self.through[len(self.through) // 2 :]
        return sum(half) / len(half)


def train_head(
    *, key_width: int, scaled: bool, steps: int, seed: int, on_progress: ProgressCallback | None
) -> TrainingRun:
    """Train a single-head model of a key width, all else equal, with the project's trainer."""
    recipe = _recipe(key_width, scaled, steps, seed)
    pairs = list(islice(reverse_pairs(seed=seed), TRAINING_PAIRS + UNSEEN))
    words = Tokenizer.train((pair.source for pair in pairs), kind="words", size=64)
    examples, unseen = (
        encode_pairs(split, words, words, max_tokens=recipe.data.max_tokens)
        for split in (pairs[:TRAINING_PAIRS], pairs[TRAINING_PAIRS:])
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = build_model(recipe, len(words), len(words))
        rows = list(_record_steps(_trainer(recipe, model, examples), steps, on_progress))
    ends = [round(steps * part / CURVE_POINTS) for part in range(1, CURVE_POINTS + 1)]
    ends = list(dict.fromkeys(end for end in ends if end))
    starts = [0, *ends[:-1]]
    means = torch.stack(
        [torch.tensor(rows[a:b]).mean(0) for a, b in zip(starts, ends, strict=True)]
    )
    losses, through, weights, largest = (tuple(column.tolist()) for column in means.unbind(1))
    loss, right = _evaluate(model, unseen)
    return TrainingRun(
        key_width=key_width,
        scaled=scaled,
        steps=tuple(ends),
        losses=losses,
        through=through,
        weights=weights,
        largest=largest,
        most=float(torch.tensor([row[2] for row in rows]).quantile(0.95)),
        loss=loss,
        right=right,
    )


def _recipe(width: int, scaled: bool, steps: int, seed: int) -> Recipe:
    """The shipped recipe `reverse` with one layer of one head on either side, and no warm-up."""
    sides = {
        f"{side}.{key}": value
        for side in ("encoder", "decoder")
        for key, value in {
            "width": width,
            "heads": 1,
            "layers": 1,
            "score": "scaled_dot" if scaled else "dot",
        }.items()
    }
    training = {"steps": steps, "warmup_steps": 0, "halve_from": steps // 2, "seed": seed}
    training |= {"halve_every": max(1, steps // 8), "report_every": 1}
    return load_recipe(
        "reverse", sides | {f"training.{key}": value for key, value in training.items()}
    )


def _trainer(recipe: Recipe, model: Seq2Seq, examples: Examples) -> Trainer:
    from dhyan.run.build_trainer import make_optimizer, make_settings

    training = recipe.training
    batches = Batches(examples, tokens_per_batch=training.tokens_per_batch, seed=training.seed)
    return Trainer(
        model=model,
        optimizer=make_optimizer(training, model),
        batches=batches,
        settings=replace(
            make_settings(training), clip_norm=inf, validate_every=10**9, save_every=10**9
        ),
        device=torch.device("cpu"),
        validate=None,
        save=lambda trainer: Path(),
    )


def _record_steps(
    trainer: Trainer, steps: int, on_progress: ProgressCallback | None
) -> Iterator[tuple[float, float, float, float]]:
    """Loss, gradient norm at the scores, gradient norm of the weights and top weight of each step."""
    projections = [
        part.weight
        for module in trainer.model.modules()
        if isinstance(module, MultiHeadAttention)
        for part in (module.query, module.key)
        if part is not None
    ]
    with reference_kernels(), _record_gradients(trainer.model) as (squares, largest):
        for event in trainer.run(steps):
            if not isinstance(event, Stepped):
                continue
            through = torch.stack(squares).sum().sqrt()
            gradients = [weight.grad.norm() for weight in projections if weight.grad is not None]
            weights = torch.stack(gradients).norm()
            yield event.loss, float(through), float(weights), float(torch.stack(largest).mean())
            squares.clear()
            largest.clear()
            if on_progress and event.step % max(1, steps // 5) == 0:
                on_progress(f"step {event.step}: loss {event.loss:.3f}")


@contextmanager
def _record_gradients(model: nn.Module) -> Iterator[tuple[list[Tensor], list[Tensor]]]:
    """Record the squared gradients at the scores in backward, and the top weights in forward.

    The gradient at the scores follows from the one at the weights: w (g − Σ w g).
    """
    squares: list[Tensor] = []
    largest: list[Tensor] = []

    def record(module: nn.Module, inputs: object, attended: Attended) -> None:
        if (weights := attended.weights) is None:
            return
        probs = weights.detach()
        largest.append(probs.amax(-1).mean())

        def record_scores(grad: Tensor) -> None:
            score_grad = probs * (grad - (probs * grad).sum(-1, keepdim=True))
            squares.append(score_grad.square().sum())

        if weights.requires_grad:
            weights.register_hook(record_scores)

    with ExitStack() as undo:
        for module in model.modules():
            if isinstance(module, MultiHeadAttention):
                undo.callback(module.register_forward_hook(record).remove)
        yield squares, largest


@torch.no_grad()
def _evaluate(model: Seq2Seq, unseen: Examples) -> tuple[float, float]:
    """Mean loss and accuracy on unseen pairs, under teacher forcing."""
    total, right, count = 0.0, 0, 0
    with evaluation_mode(model):
        for batch in sorted_batches(unseen, 2000):
            logits, labels = model(batch), batch.labels
            total += float(cross_entropy(logits, labels, smoothing=0.0))
            right += int(((logits.argmax(-1) == labels.ids) & labels.mask).sum())
            count += labels.count
    return total / count, right / count


WIDTHS = (1, 16, 32, 48, 64, 80, 96, 112, 128)
NUMBERS, PAIRS = (10, 20, 30, 40, 50, 60, 70), ((6, 4), (3, 2), (4, 5), (1, 10))
WIDE, NARROW, DRAWS = 64, 16, 2000
MUCH, ALL = (
    2.0,
    100.0,
)  # ratios of gradient norms that count as smaller or larger, as vanished or exploded
CLEAR = 0.05  # smallest difference of two accuracies that counts, at one seed


@dataclass(frozen=True)
class ScaledDotProduct(LessonResult):
    """Variances, softmaxes of pairs, four runs: wide with √dk and without, narrow without and with.

    `free_values` are the number of queries, their width, and the width of their contexts.
    """

    spread: ScoreSpread
    numbers: Float64[Tensor, " N"]
    divide_by: float
    variance: float
    divided_variance: float
    pairs: Float64[Tensor, "P C"]
    softmaxed: Float64[Tensor, "P C"]
    free_values: tuple[int, int, int]
    runs: tuple[TrainingRun, ...]

    def blocks(self, text: Text) -> Iterator[Block]:
        """The spread of dot products, the softmax, the training."""
        names = [f"({', '.join(f'{score:g}' for score in pair)})" for pair in self.pairs.tolist()]
        yield Paragraph(self._spreads(text))
        yield self._variances(text)
        yield heatmap(text("softmax_of_pair"), self.softmaxed, names, digits=4)
        yield Paragraph(self._divided(text))
        yield from self._training(text)

    def _variances(self, text: Text) -> LineChart:
        raw, scaled = self.spread.variances.tolist()
        return LineChart(
            text("variance_by_width"),
            (Curve("q·k", raw), Curve("q·k/√dk", scaled)),
            tuple(map(str, self.spread.widths)),
            "dk",
            text("axis_variance"),
        )

    def _spreads(self, text: Text) -> str:
        low, high = self.spread.per_width
        least, most = (float(variance) for variance in self.spread.variances[1].aminmax())
        widest, (raw, scaled) = self.spread.widths[-1], self.spread.largest[:, -1].tolist()
        steep, mild = self.spread.slopes[:, -1].tolist()
        linear = text("linear_in_dk") if low > 0.8 and high < 1.25 else text("not_linear_in_dk")
        return text(
            "variance_and_saturation",
            low=low,
            high=high,
            linear=linear,
            least=least,
            most=most,
            widest=widest,
            raw=raw,
            steep=steep,
            scaled=scaled,
            mild=mild,
        )

    def _divided(self, text: Text) -> str:
        first, last = (f"{float(self.numbers[at]):g}" for at in (0, -1))
        by, (count, key, value) = f"{self.divide_by:g}", self.free_values
        return text(
            "variance_rule", first=first, last=last, by=by, count=count, key_=key, value=value
        )

    def _training(self, text: Text) -> Iterator[Block]:
        runs = self.runs
        if not runs:
            return
        names = [f"dk {run.key_width}{', √dk' if run.scaled else ''}" for run in runs]
        steps = tuple(map(str, runs[0].steps))
        step = text("axis_step")
        charts = {
            "losses": (text("training_loss"), text("nats_per_word")),
            "through": (text("score_gradient"), text("axis_score_gradient_norm")),
            "weights": (text("projection_gradient"), text("axis_norm")),
        }
        columns = {
            text("unseen_accuracy"): [100 * run.right for run in runs],
            text("loss"): [run.loss for run in runs],
            text("largest_weight"): [run.largest[-1] for run in runs],
            text("gradient_95th_percentile"): [run.most for run in runs],
        }
        yield Paragraph(self._claims(text))
        for which, (title, up) in charts.items():
            yield LineChart(title, tuple(map(Curve, names, self._of(which))), steps, step, up)
        yield text.paragraph("after_training")
        for number, (title, column) in enumerate(columns.items()):
            yield table(title, [[value] for value in column], () if number else names)

    def _of(self, which: str) -> list[tuple[float, ...]]:
        return [getattr(run, which) for run in self.runs]

    def _claims(self, text: Text) -> str:
        """Verdicts on vanishing and exploding gradients, and on a smaller width."""
        scaled_run, unscaled, _, _ = self.runs
        late, most = unscaled.late / scaled_run.late, unscaled.most / scaled_run.most
        vanishing = _verdict(
            1 / late,
            text("gradient_vanishes"),
            text("gradient_smaller"),
            text("gradient_does_not_vanish"),
        )
        begin, end = unscaled.through[0], unscaled.through[-1]
        trend = (
            text("trend_grows")
            if end > begin
            else text("trend_falls")
            if end < begin
            else text("trend_stays")
        )
        exploding = _verdict(
            most,
            text("gradient_explodes"),
            text("gradient_larger"),
            text("gradient_does_not_explode"),
        )
        return text(
            "training_comparison",
            key_width=scaled_run.key_width,
            late=late,
            vanishing=vanishing,
            trend=trend,
            begin=begin,
            end=end,
            most=most,
            exploding=exploding,
            widths=self._widths(text),
        )

    def _widths(self, text: Text) -> str:
        """The effect of √dk at either width, and of a smaller width instead of it."""
        scaled_run, unscaled, narrow_unscaled, narrow_scaled = self.runs
        wide, narrow = scaled_run.key_width, narrow_unscaled.key_width
        helps, helps_narrow = (
            _compared(
                gain,
                text("scaling_helps"),
                text("scaling_harms"),
                text("scaling_makes_no_difference"),
            )
            for gain in (
                scaled_run.right - unscaled.right,
                narrow_scaled.right - narrow_unscaled.right,
            )
        )
        against_scaled, against_unscaled, narrow_against_scaled = (
            _compared(gain, text("better_than"), text("worse_than"), text("equal_to"))
            for gain in (
                narrow_unscaled.right - scaled_run.right,
                narrow_unscaled.right - unscaled.right,
                narrow_scaled.right - scaled_run.right,
            )
        )
        return text(
            "width_comparison",
            wide=wide,
            right=scaled_run.right,
            unscaled_right=unscaled.right,
            helps=helps,
            narrow=narrow,
            narrow_right=narrow_unscaled.right,
            against_scaled=against_scaled,
            against_unscaled=against_unscaled,
            narrow_scaled_right=narrow_scaled.right,
            helps_narrow=helps_narrow,
            narrow_against_scaled=narrow_against_scaled,
        )


@lesson
def scaled_dot_product(
    *,
    widths: Sequence[int] = WIDTHS,
    numbers: Sequence[float | int] = NUMBERS,
    divide_by: float | int = 10,
    pairs: Matrix = PAIRS,
    width: int = WIDE,
    narrow: int = NARROW,
    draws: int = DRAWS,
    steps: int = 200,
    seed: int = 1,
    on_progress: ProgressCallback | None = None,
) -> ScaledDotProduct:
    """Measure dot products by width, then train wide and `narrow`, each with √dk and without it.

    Training takes about 35 seconds on two cores; with `steps` 0 it is left out. `on_progress` gets
    each line of progress.
    """
    sizes, draws = parse_ints("widths", widths), parse_int("draws", draws)
    width, narrow = parse_int("width", width), parse_int("narrow", narrow)
    steps, seed = parse_int("steps", steps, least=0), parse_int("seed", seed, least=0)
    if not isinstance(divide_by, int | float) or not divide_by:
        raise UserError(f"divide_by is {divide_by!r}: give a number other than 0")
    values = parse_vector("numbers", numbers)
    scores = parse_matrix("pairs", pairs)
    settings = ((width, True), (width, False), (narrow, False), (narrow, True)) if steps else ()
    runs = tuple(
        train_head(
            key_width=key_width, scaled=scaled, steps=steps, seed=seed, on_progress=on_progress
        )
        for key_width, scaled in settings
    )
    variance, divided = (
        float(sample.var(unbiased=False)) for sample in (values, values / divide_by)
    )
    return ScaledDotProduct(
        measure_spread(sizes, draws=draws, seed=seed),
        values,
        float(divide_by),
        variance,
        divided,
        scores,
        scores.softmax(-1),
        _free_values(seed),
        runs,
    )


def _free_values(seed: int) -> tuple[int, int, int]:
    """The number of queries, their width, and the width of contexts from wider values."""
    generator = torch.Generator().manual_seed(seed)
    queries, keys, values = (torch.randn(3, size, generator=generator) for size in (4, 4, 6))
    count, wide = attend(queries, keys, values).context.shape
    return count, queries.shape[1], wide


def _verdict(ratio: float, wholly: str, somewhat: str, not_so: str) -> str:
    if ratio > ALL:
        return wholly
    return somewhat if ratio > MUCH else not_so


def _compared(gain: float, more: str, less: str, same: str) -> str:
    if abs(gain) <= CLEAR:
        return same
    return more if gain > 0 else less
