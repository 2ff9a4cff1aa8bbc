"""Vanishing gradients: norm of ∂h_T/∂x_(T−d) against the distance d, for RNN, GRU and LSTM."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import sqrt

import torch
from jaxtyping import Float64
from torch import Tensor

from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, ProgressCallback, lesson, parse_int
from dhyan.lessons.tiny_models import evenly_spaced, parse_cell
from dhyan.models.recurrent_layers import Cell, Recurrence

CELLS = ("rnn", "gru", "lstm")
SURE = 1.96  # standard errors to either side that hold 95 %


@dataclass(frozen=True)
class GradientDecay:
    """One cell: log₁₀ of the gradient's norm by distance, for every seed.

    `factor` is what a step of distance multiplies the norm by: the slope of the line that fits
    the mean best.
    """

    name: str
    norms: Float64[Tensor, "N T"]

    @property
    def mean(self) -> Float64[Tensor, " T"]:
        """The mean over the seeds."""
        return self.norms.mean(0)

    @property
    def spread(self) -> Float64[Tensor, " T"]:
        """Half-width of the mean's 95 % interval; 0 for one seed."""
        if len(self.norms) == 1:
            return torch.zeros_like(self.mean)
        return SURE * self.norms.std(0) / sqrt(len(self.norms))

    @property
    def factor(self) -> float:
        """The norm's factor per step."""
        distance = torch.arange(self.norms.shape[1], dtype=torch.float64)
        away = distance - distance.mean()
        return float(10 ** ((away * self.mean).sum() / away.square().sum()))

    @property
    def thousandth(self) -> int | None:
        """The first distance at which less than a thousandth of the norm at 0 is left."""
        below = (self.mean < self.mean[0] - 3).nonzero()
        return int(below[0]) if len(below) else None


@dataclass(frozen=True)
class VanishingGradients(LessonResult):
    """Gradient norms of each cell, over `length` words and `seeds` initialisations."""

    cells: tuple[GradientDecay, ...]
    length: int
    width: int
    seeds: int

    def blocks(self, text: Text) -> Iterator[Block]:
        """The measure, its curves, and whether the claim holds."""
        at = evenly_spaced(self.length)
        names = [cell.name for cell in self.cells]
        yield text.paragraph("measure", single_seeds=self.seeds == 1)
        yield LineChart(
            text("norm_by_distance"),
            tuple(_curve(cell, at) for cell in self.cells),
            tuple(map(str, at)),
            text("axis_distance"),
            text("axis_log_norm"),
        )
        yield table(
            text("factor_per_step"), [[cell.factor] for cell in self.cells], names, digits=3
        )
        yield Paragraph(self._verdict(text))

    def _verdict(self, text: Text) -> str:
        vanished = [f"{cell.name} {cell.thousandth}" for cell in self.cells if cell.thousandth]
        remaining = [cell.name for cell in self.cells if not cell.thousandth]
        sentences: list[str] = []
        if vanished:
            sentences.append(text("vanished", vanished="; ".join(vanished)))
        if remaining:
            sentences.append(text("remaining", remaining="; ".join(remaining)))
        rnn = next((cell for cell in self.cells if cell.name == "RNN"), None)
        lstm = next((cell for cell in self.cells if cell.name == "LSTM"), None)
        if rnn and lstm:
            slower = lstm.factor > rnn.factor
            far = 10 ** abs(float(lstm.mean[-1] - rnn.mean[-1]))
            more = lstm.mean[-1] > rnn.mean[-1]
            sentences.append(
                text(
                    "lstm_against_rnn",
                    slower=slower,
                    factor=lstm.factor,
                    plain_factor=rnn.factor,
                    far=far,
                    more=more,
                    slower_and_more=slower and more,
                )
            )
        return " ".join(sentences)


@lesson
def vanishing_gradients(
    cells: Sequence[str] = CELLS,
    *,
    length: int = 30,
    width: int = 32,
    seeds: int = 8,
    forget: float | None = 1.0,
    on_progress: ProgressCallback | None = None,
) -> VanishingGradients:
    """The norm of the last state's gradient at each earlier word, at initialisation.

    A number for `forget` adds an LSTM whose forget gates have that much more bias, so that they
    begin more open (Jozefowicz et al., 2015). It takes a few seconds.
    """
    cell_types = [
        parse_cell(cell_type) for cell_type in ([cells] if isinstance(cells, str) else cells)
    ]
    if not cell_types:
        raise UserError(f"cells: give at least one of {', '.join(CELLS)}")
    parse_int("length", length, least=2)
    parse_int("width", width)
    parse_int("seeds", seeds)
    plans: list[tuple[str, Cell, float]] = [
        (cell_type.upper(), cell_type, 0.0) for cell_type in cell_types
    ]
    if forget is not None:
        plans.append((f"LSTM, forget {forget:+g}", "lstm", float(forget)))
    decays: list[GradientDecay] = []
    for name, cell, bias in plans:
        if on_progress:
            on_progress(name)
        norms = [gradient_norms(cell, length, width, seed, forget=bias) for seed in range(seeds)]
        decays.append(GradientDecay(name, torch.stack(norms).log10()))
    return VanishingGradients(tuple(decays), length, width, seeds)


def gradient_norms(
    cell: Cell, length: int, width: int, seed: int, *, forget: float = 0.0
) -> Float64[Tensor, " T"]:
    """The norm of ∂h_T/∂x_(T−d) for d from 0 to `length`.

    The batch repeats the sequence once for each number of the last state, and each row is
    differentiated by its own number: one backward pass gives the whole Jacobian.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        layer = Recurrence(cell, width, width, 1).double()
        words = torch.randn(length + 1, width, dtype=torch.float64)
    if forget:
        with torch.no_grad():
            dict(layer.named_parameters())["rnn.bias_ih_l0"][width : 2 * width] += forget
    inputs = words.repeat(width, 1, 1).requires_grad_()
    initial_state = torch.zeros(width, *layer.state_shape, dtype=torch.float64)
    outputs, _ = layer(inputs, initial_state)
    [matrix] = torch.autograd.grad(outputs[:, -1].diagonal().sum(), inputs)
    return matrix.square().sum(dim=(0, 2)).sqrt().flip(0)


def _curve(decay: GradientDecay, at: Sequence[int]) -> Curve:
    middle, spread = decay.mean, decay.spread
    return Curve(
        decay.name,
        [float(middle[step]) for step in at],
        [float(middle[step] - spread[step]) for step in at],
        [float(middle[step] + spread[step]) for step in at],
        "dashed" if "," in decay.name else "solid",
    )
