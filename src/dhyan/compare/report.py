"""The report of a comparison: report.json with every number, report.md and figures."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch

from dhyan.atomic_folder import to_json_bytes
from dhyan.attention_maps import AttentionMap
from dhyan.checkpoint import replace_file
from dhyan.compare.plan import Entry, Plan
from dhyan.compare.report_page import capitalized, length_label, report_markdown
from dhyan.compare.scores import Results, best_model, score_models
from dhyan.compare.shared_corpus import open_shared
from dhyan.compare.test_sets import EvaluationSet, EvaluationSets
from dhyan.config import TransformerDecoder
from dhyan.errors import UserError
from dhyan.evaluation.metric import metric_label
from dhyan.evaluation.significance import Resampling
from dhyan.insight.heatmap import heatmap, save
from dhyan.insight.lesson_blocks import Curve, Style
from dhyan.insight.line_chart import line_chart
from dhyan.tasks import find_task

logger = logging.getLogger(__name__)

FIGURES = "figures"
SUFFIXES = ("png", "svg")


def write_report(
    plan: Plan,
    tests: EvaluationSets,
    results: Results,
    speeds: Mapping[str, Mapping[str, Any]],
    *,
    command: str,
    resampling: Resampling | None = None,
    on_progress: Callable[[str], None] = lambda line: None,
) -> Path:
    """Write report.json, report.md and the figures; the path of the page.

    All speeds must be of the same environment. `on_progress` is called with lines of progress.
    """
    resampling = resampling or Resampling()
    metrics = find_task(plan.entries[0].recipe.task).metrics
    scored = score_models(
        tests, results, metrics=metrics, resampling=resampling, on_progress=on_progress
    )
    facts = {
        "command": command,
        **next(iter(speeds.values()))["environment"],
        **_conditions(plan, tests, resampling),
        "metrics": {name: metric_label(name) for name in metrics},
        "best": best_model(scored, tests.main.name, metrics[0]),
        "models": {
            name: {
                **{
                    key: value
                    for key, value in result.items()
                    if key not in ("translations", "maps")
                },
                **{key: value for key, value in speeds[name].items() if key != "environment"},
                "tests": scored[name],
                "has_maps": bool(result["maps"]),
            }
            for name, result in results.items()
        },
    }
    replace_file(plan.folder / "report.json", to_json_bytes(facts))
    folder = plan.folder / FIGURES
    folder.mkdir(exist_ok=True)
    try:
        figures = _draw_figures(plan, facts, results, folder)
    except UserError as error:  # the numbers are written all the same
        logger.warning(
            f"the report has no figures: {error}; run the same command again to add them"
        )
        figures = []
    path = plan.folder / "report.md"
    replace_file(path, report_markdown(facts, [f"{FIGURES}/{name}" for name in figures]).encode())
    return path


def _conditions(plan: Plan, tests: EvaluationSets, resampling: Resampling) -> dict[str, Any]:
    """What all models have in common."""
    recipe = plan.entries[0].recipe
    corpus = open_shared(recipe)
    source, target = map(len, corpus.tokenizers)
    return {
        "seed": recipe.training.seed,
        "budget": {"steps": plan.budget.steps, "seconds": plan.budget.seconds},
        "parameters_allowed": plan.parameters,
        "pairs": {
            "training": sum(corpus.manifest["sizes"]),
            "validation": len(corpus.validation),
            "fingerprint": corpus.fingerprint,
        },
        "vocabulary": {"kind": recipe.text.tokenizer, "source": source, "target": target},
        "tokens_per_batch": recipe.training.tokens_per_batch,
        "label_smoothing": recipe.training.label_smoothing,
        "beam": recipe.decoding.beam,
        "resamples": resampling.resamples,
        "tests": {
            test_set.name: {"about": test_set.about, "sentences": len(test_set.examples)}
            for test_set in tests.sets
        },
        "lengths": {test_set.name: _lengths(test_set) for test_set in tests.sets},
        "main_test": tests.main.name,
    }


def _lengths(test_set: EvaluationSet) -> dict[str, int]:
    """The number of words of the shortest and of the longest sentence."""
    words = [len(example.source.split()) for example in test_set.examples]
    return {"shortest": min(words), "longest": max(words)}


def _draw_figures(
    plan: Plan, facts: Mapping[str, Any], results: Mapping[str, Mapping[str, Any]], folder: Path
) -> list[str]:
    """Every figure as PNG and SVG; the names of the former."""
    metric, label = next(iter(facts["metrics"].items()))
    figures = {
        f"{metric}-by-length": _by_length(plan, facts, metric, label),
        "accuracy-by-position": _by_position(plan, facts),
    }
    names = [entry.name for entry in plan.entries if results[entry.name]["maps"]]
    maps = [results[name]["maps"] for name in names]
    for number, example_maps in enumerate(zip(*maps, strict=True), start=1):
        figures[f"attention-{number}"] = heatmap(*map(_map, example_maps), captions=names)
    for name, figure in figures.items():
        for suffix in SUFFIXES:
            save(figure, folder / f"{name}.{suffix}")
    return [f"{name}.png" for name in figures]


def line_style(entry: Entry) -> Style:
    """Dashed without attention, solid for RNNs with attention, dotted for Transformers."""
    if not entry.recipe.decoder.attends:
        return "dashed"
    return "dotted" if isinstance(entry.recipe.decoder, TransformerDecoder) else "solid"


def _by_length(plan: Plan, facts: Mapping[str, Any], metric: str, label: str) -> Any:
    main = facts["main_test"]
    parts = {e.name: facts["models"][e.name]["tests"][main]["by_length"] for e in plan.entries}
    x_ticks = [length_label(part) for part in next(iter(parts.values()))]
    lines = [
        Curve(
            entry.name,
            [part[metric] for part in parts[entry.name]],
            [part.get(f"{metric}_low") for part in parts[entry.name]],
            [part.get(f"{metric}_high") for part in parts[entry.name]],
            line_style(entry),
        )
        for entry in plan.entries
    ]
    title = f"{capitalized(label)} by source length, with 95 % confidence intervals"
    return line_chart(lines, x_ticks, title=title, x_label="source words", y_label=label)


def _by_position(plan: Plan, facts: Mapping[str, Any]) -> Any:
    lines = []
    for entry in plan.entries:
        shares = facts["models"][entry.name]["positions"]["shares"]
        lines.append(Curve(entry.name, [100 * share for share in shares], style=line_style(entry)))
    x_ticks = ["first fifth", "second", "third", "fourth", "last fifth"]
    title = "Token accuracy under teacher forcing by position in the target"
    return line_chart(
        lines, x_ticks, title=title, x_label="position in the target", y_label="accuracy, %"
    )


def _map(parts: Mapping[str, Any]) -> AttentionMap:
    weights = torch.tensor(parts["weights"]).clamp(0, 1).unsqueeze(0)
    return AttentionMap("", "cross", 1, tuple(parts["source"]), tuple(parts["target"]), weights)
