"""The report of a comparison: report.json with every number, and what is read and drawn of it."""

import logging
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from dhyan.atomic_folder import to_json_bytes
from dhyan.checkpoint import replace_file
from dhyan.compare.plan import Plan
from dhyan.compare.report_figures import draw
from dhyan.compare.report_page import page
from dhyan.compare.scores import Results, best_of, standings
from dhyan.compare.shared_corpus import opened
from dhyan.compare.test_sets import Sheet, Sheets
from dhyan.errors import UserError
from dhyan.evaluation.significance import Resampling

logger = logging.getLogger(__name__)

FIGURES = "figures"


def write_report(
    plan: Plan,
    tests: Sheets,
    results: Results,
    speeds: Mapping[str, Mapping[str, Any]],
    *,
    command: str,
    resampling: Resampling | None = None,
    on_progress: Callable[[str], None] = lambda line: None,
) -> Path:
    """Write report.json, report.md and the figures; the path of the page.

    All speeds are of the same surroundings. `on_progress` is told how far it is.
    """
    drawing = resampling or Resampling()
    scored = standings(tests, results, resampling=drawing, on_progress=on_progress)
    facts = {
        "command": command,
        **next(iter(speeds.values()))["surroundings"],
        **_terms(plan, tests, drawing),
        "best": best_of(scored, tests.main.name),
        "models": {
            name: {
                **{key: value for key, value in one.items() if key not in ("answers", "maps")},
                **{key: value for key, value in speeds[name].items() if key != "surroundings"},
                "tests": scored[name],
            }
            for name, one in results.items()
        },
    }
    replace_file(plan.folder / "report.json", to_json_bytes(facts))
    folder = plan.folder / FIGURES
    folder.mkdir(exist_ok=True)
    try:
        figures = draw(plan, facts, results, folder)
    except UserError as error:  # the numbers are there all the same
        logger.warning(f"the report has no figures: {error}; then give the same command again")
        figures = []
    path = plan.folder / "report.md"
    replace_file(path, page(facts, [f"{FIGURES}/{name}" for name in figures]).encode())
    return path


def _terms(plan: Plan, tests: Sheets, drawing: Resampling) -> dict[str, Any]:
    """What was the same for all."""
    recipe = plan.entries[0].recipe
    corpus = opened(recipe)
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
        "resamples": drawing.resamples,
        "tests": {
            one.name: {"about": one.about, "sentences": len(one.questions)} for one in tests.sheets
        },
        "lengths": {one.name: _lengths(one) for one in tests.sheets},
        "main_test": tests.main.name,
    }


def _lengths(sheet: Sheet) -> dict[str, int]:
    """The words of the shortest and of the longest sentence of a test."""
    words = [len(one.source.split()) for one in sheet.questions]
    return {"shortest": min(words), "longest": max(words)}
