"""Costs of attention scores: parameters and multiply-adds (by formula and counted), and time."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from time import perf_counter

import torch
from jaxtyping import Bool, Float
from torch import Tensor
from torch.utils.flop_counter import FlopCounterMode

from dhyan.attention import AdditiveScore, DotScore, GeneralScore, SingleHeadAttention
from dhyan.errors import UserError
from dhyan.insight.lesson_blocks import Block, Curve, LineChart, Paragraph, table
from dhyan.lessons.catalogue import Text
from dhyan.lessons.lesson import LessonResult, Machine, lesson, this_machine

WIDTHS = (64, 128, 256, 512)


@dataclass(frozen=True)
class Mechanism:
    """An attention score for states and queries of one width, and its costs by formula.

    `operations` are the multiply-adds of projecting the keys once and of scoring them for every
    query, as a function of (width, states, queries).
    """

    make: Callable[[int], AdditiveScore | GeneralScore | DotScore]
    parameters: Callable[[int], int]
    operations: Callable[[int, int, int], int]


_NETWORK = Mechanism(
    lambda d: AdditiveScore(d, d, d),
    lambda d: d * (d + d + 2),
    lambda d, s, t: s * d * d + t * d * d + t * s * d,
)
MECHANISMS = {
    "additive": _NETWORK,
    "concat": _NETWORK,  # the same network, with the state after the step as query
    "general": Mechanism(
        lambda d: GeneralScore(d, d), lambda d: d * d, lambda d, s, t: s * d * d + t * s * d
    ),
    "dot": Mechanism(lambda d: DotScore(), lambda d: 0, lambda d, s, t: t * s * d),
}
Counts = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True)
class ScoreCosts(LessonResult):
    """Costs of each mechanism at every width.

    `seconds` are the median of all rounds, in which the mechanisms alternate, and `noise` is the
    largest ratio of the medians of odd and even rounds: smaller ratios count as equal.
    """

    widths: tuple[int, ...]
    source: int
    target: int
    batch: int
    machine: Machine
    parameters: Counts
    parameters_counted: Counts
    operations: Counts
    operations_counted: Counts
    seconds: Mapping[str, tuple[float, ...]]
    noise: float

    def faster(self, mechanism: str, other: str) -> tuple[float, ...]:
        """Speedup of a mechanism over another at each width."""
        pairs = zip(self.seconds[mechanism], self.seconds[other], strict=True)
        return tuple(other_seconds / seconds for seconds, other_seconds in pairs)

    def blocks(self, text: Text) -> Iterator[Block]:
        """The counts, the times, and whether the dot product is cheaper, as claimed."""
        names, columns = tuple(MECHANISMS), tuple(map(str, self.widths))
        agree = (self.parameters, self.operations) == (
            self.parameters_counted,
            self.operations_counted,
        )
        head = text("setup", agree=agree)
        times = tuple(
            Curve(name, [1000 * second for second in self.seconds[name]]) for name in names
        )
        yield Paragraph(head)
        yield table(
            text("parameters_by_width"),
            [self.parameters_counted[name] for name in names],
            names,
            columns,
        )
        yield table(
            text("multiply_adds_by_width"),
            [self.operations_counted[name] for name in names],
            names,
            columns,
        )
        yield LineChart(
            text("time_by_width"), times, columns, text("axis_width"), text("axis_milliseconds")
        )
        yield Paragraph(self._verdict(text))

    def _verdict(self, text: Text) -> str:
        """Whether dot was faster by more than the measurement noise."""
        dot, general, network = (
            f"{self.parameters_counted[name][-1]:,}" for name in ("dot", "general", "additive")
        )
        first = text(
            "parameters_at_widest",
            widest=self.widths[-1],
            dot=dot,
            general=general,
            network=network,
        )
        comparisons = [
            self._comparison(text, "dot", "additive"),
            self._comparison(text, "dot", "general"),
        ]
        noise = text("timing_noise", machine=self.machine.describe(text))
        return " ".join([first, *comparisons, noise])

    def _comparison(self, text: Text, mechanism: str, other: str) -> str:
        """The widths at which a mechanism was faster than another by more than the noise."""
        times = self.faster(mechanism, other)
        span = f"{min(times):.1f}–{max(times):.1f}"
        took = text("time_ratio", other=other, span=span)
        faster_widths = [
            w for w, ratio in zip(self.widths, times, strict=True) if ratio > self.noise
        ]
        slower_widths = [
            w for w, ratio in zip(self.widths, times, strict=True) if ratio < 1 / self.noise
        ]
        widths = ", ".join(map(str, faster_widths))
        if len(faster_widths) == len(times):
            comparison = text("faster_at_every_width", mechanism=mechanism, other=other)
        elif faster_widths:
            comparison = text(
                "faster_at_some_widths", mechanism=mechanism, other=other, widths=widths
            )
        elif slower_widths:
            comparison = text("not_faster", mechanism=mechanism, other=other)
        else:
            comparison = text("difference_within_noise", mechanism=mechanism, other=other)
        return text("comparison", comparison=comparison, took=took)


@lesson
def score_costs(
    widths: Sequence[int] = WIDTHS,
    *,
    source: int = 30,
    target: int = 30,
    batch: int = 16,
    rounds: int = 8,
    seed: int = 0,
) -> ScoreCosts:
    """Count and time additive, concat, general and dot scores side by side; it takes some seconds.

    In every round each mechanism is timed twice: it projects the keys once and then attends query
    by query, as a decoder does, without a fused kernel. The first measurement is a warm-up.

    >>> score_costs([64], rounds=1).parameters["additive"]
    (8320,)
    """
    sizes = _counts(widths=widths, source=[source], target=[target], batch=[batch], rounds=[rounds])
    counted: dict[str, list[int]] = {name: [] for name in MECHANISMS}
    flops: dict[str, list[int]] = {name: [] for name in MECHANISMS}
    seconds: dict[str, list[float]] = {name: [] for name in MECHANISMS}
    noise = 1.0
    for width in sizes:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            modules = {
                name: SingleHeadAttention(mechanism.make(width), need_weights=True)
                for name, mechanism in MECHANISMS.items()
            }
        for name, module in modules.items():
            counted[name].append(sum(weight.numel() for weight in module.parameters()))
            flops[name].append(_multiply_adds(module, width, source, target))
        twice = _measure_seconds(modules, (batch, source, target, width), rounds=rounds, seed=seed)
        for name, halves in twice.items():
            seconds[name].append(median(sum(halves, ())))
            odd, even = map(median, halves)
            noise = max(noise, odd / even, even / odd)
    return ScoreCosts(
        widths=sizes,
        source=source,
        target=target,
        batch=batch,
        machine=this_machine(),
        parameters={
            n: tuple(map(mechanism.parameters, sizes)) for n, mechanism in MECHANISMS.items()
        },
        parameters_counted=_as_tuples(counted),
        operations={
            name: tuple(mechanism.operations(width, source, target) for width in sizes)
            for name, mechanism in MECHANISMS.items()
        },
        operations_counted=_as_tuples(flops),
        seconds={name: tuple(times) for name, times in seconds.items()},
        noise=noise,
    )


def _counts(**arguments: Sequence[int]) -> tuple[int, ...]:
    """The widths, after checking that every argument is a positive whole number."""
    for name, numbers in arguments.items():
        fine = isinstance(numbers, Sequence) and all(isinstance(n, int) and n > 0 for n in numbers)
        if not fine or not numbers:
            example = "[64, 128]" if name == "widths" else "30"
            raise UserError(f"{name}: give whole numbers from 1 on, such as {example}")
    return tuple(arguments["widths"])


def _as_tuples(counts: Mapping[str, list[int]]) -> dict[str, tuple[int, ...]]:
    return {name: tuple(values) for name, values in counts.items()}


def _multiply_adds(module: SingleHeadAttention, width: int, source: int, target: int) -> int:
    """Multiply-adds of scoring, without the softmax and the weighted sum, which all share."""
    states, queries = torch.zeros(1, source, width), torch.zeros(1, 1, target, width)
    mask = torch.ones(1, source, dtype=torch.bool)
    vectors = {torch.ops.aten.mv: lambda table, *rest, **more: 2 * table[0] * table[1]}
    counting = FlopCounterMode(display=False, custom_mapping=vectors)
    with torch.inference_mode(), counting as counter:
        module.score(queries, module.remember(states, mask))
    return counter.get_total_flops() // 2


def _measure_seconds(
    modules: Mapping[str, SingleHeadAttention],
    sizes: tuple[int, int, int, int],
    *,
    rounds: int,
    seed: int,
) -> dict[str, tuple[tuple[float, ...], tuple[float, ...]]]:
    """Seconds of each mechanism in the odd and in the even rounds; the mechanisms alternate."""
    batch, source, target, width = sizes
    generator = torch.Generator().manual_seed(seed)
    states = torch.randn(batch, source, width, generator=generator)
    queries = torch.randn(batch, target, width, generator=generator)
    mask = torch.ones(batch, source, dtype=torch.bool)
    seconds: dict[str, list[float]] = {name: [] for name in modules}
    with torch.inference_mode():
        for _ in range(1 + 2 * rounds):
            for name, module in modules.items():
                began = perf_counter()
                _attend_step_by_step(module, states, mask, queries)
                seconds[name].append(perf_counter() - began)
    return {name: (tuple(times[1::2]), tuple(times[2::2])) for name, times in seconds.items()}


def _attend_step_by_step(
    module: SingleHeadAttention,
    states: Float[Tensor, "B S D"],
    mask: Bool[Tensor, "B S"],
    queries: Float[Tensor, "B T D"],
) -> None:
    """Project the keys once, then attend query by query."""
    memory = module.remember(states, mask)
    for query in queries.split(1, dim=1):
        memory = module(query, memory).memory
