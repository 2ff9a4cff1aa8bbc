"""Training throughput by batch size, sentence length and model width, and its figure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.speed.corpus import random_corpus
from benchmarks.speed.model_recipes import Size, bahdanau, trained, transformer
from benchmarks.speed.timing import TRAINED, Log, Row, Table
from benchmarks.speed.training import build_trainer, tokens_per_second

AXES = {  # one size varies, the others stay fixed
    "sentences": (8, 32, 128, 512, 2048),
    "length": (8, 32, 128, 512),
    "width": (128, 256, 512, 1024),
}
SMALL_AXES = {"sentences": (2,), "length": (6,), "width": (8,)}
TOKENS, LENGTH = 16_384, 32
HEADINGS = {
    "sentences": f"Batch size: sentences of {LENGTH} tokens, 512 wide",
    "length": f"Sentence length: {TOKENS:,} tokens per batch, 512 wide",
    "width": f"Model width: {TOKENS // LENGTH} sentences of {LENGTH} tokens",
}
FAMILIES = {"Transformer": transformer, "Bahdanau": bahdanau}


def scaling(*, size: Size, device: str, quick: bool, log: Log) -> dict[str, Any]:
    """Target tokens per second of both model families along every axis."""
    axes = SMALL_AXES if quick else AXES
    table = Table({"axes": {k: list(v) for k, v in axes.items()}, "tokens": TOKENS}, log)
    for axis, sizes in axes.items():
        for number in sizes:
            for family in FAMILIES:
                with table.trying(f"{family}, {axis} {number}"):
                    rates = _throughput(family, axis, number, size, device, quick=quick)
                    table.add(Row.of(family, f"{axis} {number}", TRAINED, rates))
    return table.figures()


def _throughput(
    family: str, axis: str, number: int, size: Size, device: str, *, quick: bool
) -> list[float]:
    length = number if axis == "length" else (4 if quick else LENGTH)
    sentences = number if axis == "sentences" else max(1, (8 if quick else TOKENS) // length)
    if axis == "width":
        size = replace(size, width=number, feed_forward_width=4 * number, recurrent=number)
        size = replace(size, heads=max(1, number // 64))
    recipe = FAMILIES[family](size)
    corpus = random_corpus(sentences * 2, length, size.pieces)
    budget = sentences * length
    trainer = build_trainer(trained(recipe, tokens_per_batch=budget), corpus, device)
    return tokens_per_second(trainer, steps=1 if quick else 3, windows=3)


def draw_scaling(figures: Mapping[str, Any], path: Path) -> None:
    """A curve per model family along every axis, with logarithmic scales."""
    from dhyan.insight.heatmap import save
    from dhyan.insight.lesson_blocks import Curve, LineChart
    from dhyan.insight.lesson_figure import draw_figure

    rates = {(row["who"], row["at"]): row for row in figures["rows"]}
    parts = [
        LineChart(
            title=HEADINGS[axis],
            curves=tuple(
                Curve(family, *_bands([rates.get((family, f"{axis} {n}")) for n in sizes]))
                for family in FAMILIES
            ),
            x_ticks=tuple(map(str, sizes)),
            x_label={"sentences": "sentences per batch"}.get(axis, axis),
            y_label="target tokens per second",
            log=True,
        )
        for axis, sizes in figures["shapes"]["axes"].items()
    ]
    save(draw_figure(parts, title="Training throughput"), path)


def _bands(rows: Sequence[Mapping[str, Any] | None]) -> tuple[list[float | None], ...]:
    """Medians and ranges, with gaps where nothing was measured."""
    return tuple([row and row[key] for row in rows] for key in ("median", "low", "high"))
