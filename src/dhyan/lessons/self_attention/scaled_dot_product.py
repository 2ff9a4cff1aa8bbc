"""Why the scores are divided by √dk: variance, saturation, and gradients in a real training."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.attention import attend
from dhyan.errors import UserError
from dhyan.insight.blocks import Curve, Lines, Part, Words, table
from dhyan.insight.parse_matrix import Matrix, parse_matrix, parse_vector
from dhyan.lessons.catalogue import Text
from dhyan.lessons.parsing import parse_int, parse_ints
from dhyan.lessons.result import LessonResult, Page
from dhyan.lessons.self_attention.saturation import Spread, spread
from dhyan.lessons.self_attention.unscaled import Course, Hear, course

WIDTHS = (1, 16, 32, 48, 64, 80, 96, 112, 128)
NUMBERS, PAIRS = (10, 20, 30, 40, 50, 60, 70), ((6, 4), (3, 2), (4, 5), (1, 10))
WIDE, NARROW, DRAWS = 64, 16, 2000
MUCH, ALL = 2.0, 100.0  # how many times smaller or larger a gradient is called so, or gone
CLEAR = 0.05  # a difference between two shares of one seed that is told as one


@dataclass(frozen=True)
class Scaled(LessonResult):
    """Variances, softmaxes of pairs, four runs: wide with √dk and without, narrow without and with.

    `free_values` are how many queries there are, how wide, and how wide their answers come out.
    """

    spread: Spread
    numbers: Float64[Tensor, " N"]
    divide_by: float
    variance: float
    divided_variance: float
    pairs: Float64[Tensor, "P C"]
    softmaxed: Float64[Tensor, "P C"]
    free_values: tuple[int, int, int]
    runs: tuple[Course, ...]

    def page(self, text: Text) -> Page:
        """The spread of dot products, the softmax, the training."""
        names = [f"({', '.join(f'{one:g}' for one in pair)})" for pair in self.pairs.tolist()]
        return Page(
            text("scaled_dot_product.title"),
            (
                Words(self._spreads(text)),
                self._variances(text),
                table(
                    text("scaled_dot_product.softmax_pair"),
                    self.softmaxed,
                    names,
                    kind="weights",
                    digits=4,
                ),
                Words(self._divided(text)),
                *self._training(text),
            ),
        )

    def _variances(self, text: Text) -> Lines:
        raw, scaled = self.spread.variances.tolist()
        return Lines(
            text("scaled_dot_product.variance_scores_width"),
            (Curve("q·k", raw), Curve("q·k/√dk", scaled)),
            tuple(map(str, self.spread.widths)),
            "dk",
            text("scaled_dot_product.variance"),
        )

    def _spreads(self, text: Text) -> str:
        low, high = self.spread.per_width
        least, most = (float(one) for one in self.spread.variances[1].aminmax())
        widest, (raw, scaled) = self.spread.widths[-1], self.spread.largest[:, -1].tolist()
        steep, mild = self.spread.slopes[:, -1].tolist()
        linear = (
            text("scaled_dot_product.grows_linearly_dk")
            if low > 0.8 and high < 1.25
            else text("scaled_dot_product.linear_dk")
        )
        return text(
            "scaled_dot_product.var_q_k_dk",
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
            "scaled_dot_product.var_ax_var_x",
            first=first,
            last=last,
            variance=self.variance,
            by=by,
            divided_variance=self.divided_variance,
            count=count,
            key_=key,
            value=value,
        )

    def _training(self, text: Text) -> tuple[Part, ...]:
        runs = self.runs
        if not runs:
            return ()
        names = [f"dk {run.key_width}{', √dk' if run.scaled else ''}" for run in runs]
        places = tuple(map(str, runs[0].steps))
        step = text("scaled_dot_product.step")
        charts = {
            "losses": (
                text("scaled_dot_product.training_loss"),
                text("scaled_dot_product.nats_per_word"),
            ),
            "through": (
                text("scaled_dot_product.gradient_through_softmax"),
                text("scaled_dot_product.norm_scores"),
            ),
            "weights": (text("scaled_dot_product.gradient_w_q_w"), text("scaled_dot_product.norm")),
        }
        columns = {
            text("scaled_dot_product.unseen_words"): [100 * run.right for run in runs],
            text("scaled_dot_product.loss"): [run.loss for run in runs],
            text("scaled_dot_product.top_weight"): [run.largest[-1] for run in runs],
            text("scaled_dot_product.high_gradient"): [run.most for run in runs],
        }
        return (
            Words(self._claims(text)),
            *(
                Lines(title, tuple(map(Curve, names, self._of(which))), places, step, up)
                for which, (title, up) in charts.items()
            ),
            Words(text("scaled_dot_product.after_training")),
            *(
                table(title, [[one] for one in column], () if number else names)
                for number, (title, column) in enumerate(columns.items())
            ),
        )

    def _of(self, which: str) -> list[tuple[float, ...]]:
        return [getattr(run, which) for run in self.runs]

    def _claims(self, text: Text) -> str:
        """What the runs say of vanishing, of exploding, and of a smaller width."""
        one, other, _, _ = self.runs
        late, most = other.late / one.late, other.most / one.most
        vanishing = _verdict(
            1 / late,
            text("scaled_dot_product.vanishes"),
            text("scaled_dot_product.smaller_but_vanish"),
            text("scaled_dot_product.vanish"),
        )
        begin, end = other.through[0], other.through[-1]
        way = (
            text("scaled_dot_product.grows")
            if end > begin
            else text("scaled_dot_product.falls")
            if end < begin
            else text("scaled_dot_product.stays")
        )
        exploding = _verdict(
            most,
            text("scaled_dot_product.explodes"),
            text("scaled_dot_product.jumps_higher_without_exploding"),
            text("scaled_dot_product.explode"),
        )
        return text(
            "scaled_dot_product.transformer_head_dk_learns",
            key_width=one.key_width,
            late=late,
            vanishing=vanishing,
            way=way,
            begin=begin,
            end=end,
            most=most,
            exploding=exploding,
            widths=self._widths(text),
        )

    def _widths(self, text: Text) -> str:
        """What √dk does at either width, and what a smaller width does instead of it."""
        one, other, small, both = self.runs
        wide, narrow = one.key_width, small.key_width
        helps, too = (
            _compared(gain, text("scaled_dot_product.dk_helps"), text("scaled_dot_product.dk_harms"),
                      text("scaled_dot_product.dk_makes_clear_difference"))
            for gain in (one.right - other.right, both.right - small.right)
        )  # fmt: skip
        against, beside, left = (
            _compared(gain, text("scaled_dot_product.better"), text("scaled_dot_product.worse"),
                      text("scaled_dot_product.about_good"))
            for gain in (small.right - one.right, small.right - other.right, both.right - one.right)
        )  # fmt: skip
        return text(
            "scaled_dot_product.unseen_words_dk_gets",
            wide=wide,
            right=one.right,
            other_right=other.right,
            helps=helps,
            narrow=narrow,
            small_right=small.right,
            against=against,
            beside=beside,
            both_right=both.right,
            too=too,
            left=left,
        )


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
    hear: Hear | None = None,
) -> Scaled:
    """Measure dot products by width, then train wide and `narrow`, each with √dk and without it.

    Training takes about 35 seconds on two cores; with `steps` 0 it is left out. `hear` is told how
    it goes.
    """
    sizes, draws = parse_ints("widths", widths), parse_int("draws", draws)
    width, narrow = parse_int("width", width), parse_int("narrow", narrow)
    steps, seed = parse_int("steps", steps, least=0), parse_int("seed", seed, least=0)
    if not isinstance(divide_by, int | float) or not divide_by:
        raise UserError(f"divide_by is {divide_by!r}: give a number other than 0")
    values = parse_vector("numbers", numbers)
    scores = parse_matrix("pairs", pairs)
    kinds = ((width, True), (width, False), (narrow, False), (narrow, True)) if steps else ()
    runs = tuple(
        course(key_width=wide, scaled=over, steps=steps, seed=seed, hear=hear)
        for wide, over in kinds
    )
    variance, divided = (float(one.var(unbiased=False)) for one in (values, values / divide_by))
    return Scaled(
        spread(sizes, draws=draws, seed=seed),
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
    """How many queries, how wide they are, and how wide the answers from wider values come out."""
    chance = torch.Generator().manual_seed(seed)
    queries, keys, values = (torch.randn(3, size, generator=chance) for size in (4, 4, 6))
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
