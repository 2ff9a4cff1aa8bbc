"""The figures of a comparison: BLEU by length, right tokens by place, and maps side by side."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch

from dhyan.attention_maps import AttentionMap
from dhyan.compare.alignment_quality import attends
from dhyan.compare.plan import Entry, Plan
from dhyan.config import TransformerDecoder
from dhyan.insight.blocks import Curve, Style
from dhyan.insight.heatmap import heatmap, save
from dhyan.insight.line_chart import curves

KINDS = ("png", "svg")


def draw(
    plan: Plan, facts: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]], folder: Path
) -> list[str]:
    """Every figure as PNG and SVG; the names of the former."""
    figures = {"bleu-by-length": _by_length(plan, facts), "right-by-place": _by_place(plan, facts)}
    maps = [results[entry.name]["maps"] for entry in plan.entries]
    names = [entry.name for entry in plan.entries]
    for number, own in enumerate(zip(*maps, strict=True), start=1):
        figures[f"attention-{number}"] = heatmap(*map(_map, own), captions=names)
    for name, figure in figures.items():
        for kind in KINDS:
            save(figure, folder / f"{name}.{kind}")
    return [f"{name}.png" for name in figures]


def style_of(entry: Entry) -> Style:
    """Without attention dashed, recurrent with it solid, a Transformer dotted."""
    if not attends(entry.recipe):
        return "dashed"
    return "dotted" if isinstance(entry.recipe.decoder, TransformerDecoder) else "solid"


def _by_length(plan: Plan, facts: Mapping[str, Any]) -> Any:
    main = facts["main_test"]
    parts = {e.name: facts["models"][e.name]["tests"][main]["by_length"] for e in plan.entries}
    places = [spoken(part) for part in next(iter(parts.values()))]
    lines = [
        Curve(
            entry.name,
            [part["bleu"] for part in parts[entry.name]],
            [part.get("bleu_low") for part in parts[entry.name]],
            [part.get("bleu_high") for part in parts[entry.name]],
            style_of(entry),
        )
        for entry in plan.entries
    ]
    title = "BLEU by the length of the source, with 95 % intervals"
    return curves(lines, places, title=title, across="words of the source", up="BLEU")


def _by_place(plan: Plan, facts: Mapping[str, Any]) -> Any:
    lines = []
    for entry in plan.entries:
        shares = facts["models"][entry.name]["positions"]["shares"]
        lines.append(Curve(entry.name, [100 * one for one in shares], style=style_of(entry)))
    places = ["first fifth", "second", "third", "fourth", "last fifth"]
    title = "Tokens that are right, told all before them, by their place in the target"
    return curves(lines, places, title=title, across="place in the target", up="right, %")


def spoken(part: Mapping[str, Any]) -> str:
    """A group of lengths in words."""
    if part["most"] is None:
        return f"{part['least']}+"
    return f"{part['least']}–{part['most']}"


def _map(parts: Mapping[str, Any]) -> AttentionMap:
    weights = torch.tensor(parts["weights"]).clamp(0, 1).unsqueeze(0)
    return AttentionMap("", "cross", 1, tuple(parts["source"]), tuple(parts["target"]), weights)
