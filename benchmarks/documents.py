"""Check that numbers in the documents are those of the result files: `check-documents`."""

import json
import re
from collections.abc import Iterator, Mapping
from math import isclose
from pathlib import Path
from typing import Any

from benchmarks import (
    cpu_training,
    cpu_translation,
    expected_efficiency,
    exports,
    first_minutes,
    import_parity,
    ladder,
    ladder_page,
    model_page,
    processes,
    real_ladder,
    real_ladder_page,
    results_page,
    studio_page,
    task_tables,
    translation_cost,
)
from benchmarks.goodput_under_failures import TARGET_SHARE
from benchmarks.report import block_of, newest
from benchmarks.speed import tables

DOCS = Path(__file__).parents[1] / "docs"


def check_documents() -> list[str]:
    """Every disagreement between a document and the result file it quotes, as a sentence."""
    checks = (
        _check_links,
        _check_speed_tables,
        _check_ladder_page,
        _check_real_ladder,
        _check_results_page,
        _check_predictions,
        _check_goodput,
        _check_mechanisms,
        _check_bottleneck_snapshot,
        _check_first_minutes,
        _check_model_page,
        _check_studio_page,
        _check_cpu_page,
        _check_exports,
        _check_scale_page,
        _check_import_page,
        _check_task_tables,
        _check_translation_cost,
    )
    return [error for check in checks for error in check()]


def _read_figures(path: Path) -> Mapping[str, Any]:
    figures: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))["figures"]
    return figures


def _check_links() -> Iterator[str]:
    """Every result file that a document links to exists."""
    root = DOCS.parent
    for page in (*root.glob("*.md"), *DOCS.rglob("*.md"), tables.PAGE):
        text = page.read_text(encoding="utf-8")
        for name in re.findall(r"\]\((?:[^)\s]*/)?results/([\w.-]+\.json)\)", text):
            if not (root / "benchmarks" / "results" / name).is_file():
                yield f"{page.relative_to(root)}: there is no result file {name}"


def _check_speed_tables() -> Iterator[str]:
    text = tables.PAGE.read_text(encoding="utf-8")
    stored = text.partition(tables.BEGIN)[2].partition(tables.END)[0]
    if stored.strip() != tables.tables().strip():
        yield "benchmarks/README.md: tables differ from results; run `python -m benchmarks tables`"


def _check_ladder_page() -> Iterator[str]:
    if ladder_page.PAGE.read_text(encoding="utf-8") != ladder_page.newest_page():
        yield "docs/explanation/ladder.md: differs from the results; run `python -m benchmarks ladder`"
    for name in ladder_page.IMAGES:
        if not (ladder_page.PAGE.parent / "ladder" / name).is_file():
            yield f"docs/explanation/ladder/{name}: is missing; run `python -m benchmarks ladder`"


def _check_task_tables() -> Iterator[str]:
    for name in task_tables.TABLES:
        page = task_tables.PAGES / f"{name}.md"
        if page.read_text(encoding="utf-8") != task_tables.with_block(name):
            yield f"docs/how-to/{name}.md: old scores; run `python -m benchmarks task-tables`"


def _check_real_ladder() -> Iterator[str]:
    """The page and the predictions are those of the newest result, and its charts are there."""
    page, path = real_ladder_page.PAGE, newest(real_ladder_page.WHAT)
    if page.read_text(encoding="utf-8") != real_ladder_page.newest_page():
        yield f"{page.name}: differs from the results; run `python -m benchmarks real-ladder`"
    for image in re.findall(r"\]\(([\w/-]+\.png)\)", page.read_text(encoding="utf-8")):
        if not (page.parent / image).is_file():
            yield f"docs/explanation/{image}: is missing; run `python -m benchmarks real-ladder`"
    figures = dict(_read_figures(path))
    if figures["predictions"] != real_ladder.outcomes(figures):
        yield f"{path.name}: predictions or outcomes differ from benchmarks/real_ladder.py"


def _check_results_page() -> Iterator[str]:
    if results_page.PAGE.read_text(encoding="utf-8") != results_page.newest_page():
        yield "results.md: differs from the results; run `python -m benchmarks results`"


def _check_cpu_page() -> Iterator[str]:
    if not cpu_translation.page_is_current():
        yield "on-a-cpu.md: differs from the results; run `python -m benchmarks cpu-translation`"
    if not cpu_training.page_is_current():
        yield "on-a-cpu.md: differs from the results; run `python -m benchmarks cpu-training-page`"


def _check_translation_cost() -> Iterator[str]:
    if not translation_cost.page_is_current():
        page = translation_cost.PAGE.name
        yield f"{page}: differs from the results; run `python -m benchmarks translation-cost`"


def _check_predictions() -> Iterator[str]:
    """The predictions of the ladder's result are those of the code, with the same outcomes."""
    path = newest("ladder")
    figures = dict(_read_figures(path))
    stored = [(outcome["statement"], outcome["held"]) for outcome in figures["predictions"]]
    computed = [
        (prediction.statement, bool(prediction.holds(figures))) for prediction in ladder.PREDICTIONS
    ]
    if stored != computed:
        yield f"{path.name}: predictions or outcomes differ from benchmarks/ladder.py"


def _check_goodput() -> Iterator[str]:
    path = newest("goodput")
    figures = _read_figures(path)
    share = figures["effective_share"]
    if share < TARGET_SHARE or figures["misses"]:
        yield f"{path.name}: effective_share is {share}; the target is {TARGET_SHARE}"


def _check_mechanisms() -> Iterator[str]:
    """The measured table of docs/reference/mechanisms.md has the figures of the file it names."""
    page = (DOCS / "reference" / "mechanisms.md").read_text(encoding="utf-8")
    [link] = re.findall(r"\((\.\./\.\./benchmarks/results/mechanisms_\S+\.json)\)", page)
    measured = _read_figures(DOCS / "reference" / link)["mechanisms"]
    rows = re.findall(r"^\| `([^`]+)` \| ([\d,]+) \| ([\d.]+) \| ([\d.]+)% \|", page, re.MULTILINE)
    if {command for command, *_ in rows} != measured.keys():
        yield f"docs/reference/mechanisms.md: the commands of the table are not those of {link}"
    for command, parameters, loss, exact in rows:
        figures = measured.get(command, {})
        row_figures = int(parameters.replace(",", "")), float(loss), round(float(exact) / 100, 6)
        names = ("parameters", "valid_loss", "exact")
        if row_figures != tuple(round(figures.get(name, -1), 6) for name in names):
            yield f"docs/reference/mechanisms.md: {command}: the figures are not those of {link}"


def _check_first_minutes() -> Iterator[str]:
    if first_minutes.PAGE.read_text(encoding="utf-8") != first_minutes.page_with_report():
        page = first_minutes.PAGE.relative_to(DOCS.parent)
        yield f"{page}: differs from the newest results of the benchmarks first-minutes and sizes"


def _check_bottleneck_snapshot() -> Iterator[str]:
    """The snapshot of the lesson `bottleneck` has the figures of the newest ladder."""
    from dhyan.lessons.encoder_decoder.bottleneck import bottleneck

    path = newest("ladder")
    snapshot, report = bottleneck().model_scores, bottleneck(path).model_scores
    if [model.name for model in snapshot] != [model.name for model in report]:
        yield f"snapshot of the lesson bottleneck: its models are not those of {path.name}"
        return
    for stored, measured in zip(snapshot, report, strict=True):
        close = all(
            value == exact or (value and exact and isclose(value, exact, rel_tol=1e-4))
            for value, exact in zip(stored.bleu, measured.bleu, strict=True)
        )
        if not close or not isclose(stored.retained, measured.retained, rel_tol=1e-3):
            yield f"snapshot of the lesson bottleneck: {stored.name} differs from {path.name}"


def _check_studio_page() -> Iterator[str]:
    text = studio_page.PAGE.read_text(encoding="utf-8")
    stored = text.partition(studio_page.BEGIN)[2].partition(studio_page.END)[0]
    if stored.strip() != studio_page.newest_table().strip():
        yield "docs/how-to/studio.md: the table differs from the newest result of `studio-page`"


def _check_exports() -> Iterator[str]:
    made = {
        (exports.BEGIN, exports.END): exports.newest_table(),
        (exports.SLIM_BEGIN, exports.SLIM_END): exports.newest_slim(),
    }
    if any(exports.stored(*marks).strip() != text.strip() for marks, text in made.items()):
        yield "docs/how-to/export.md: figures differ from the newest result of `exports`"


def _check_scale_page() -> Iterator[str]:
    page = expected_efficiency.PAGE
    for part in (expected_efficiency, processes):
        if block_of(page, part.BEGIN, part.END).strip() != part.block().strip():
            yield f"docs/how-to/scale.md: figures differ from the newest result of `{part.WHAT}`"


def _check_import_page() -> Iterator[str]:
    text = import_parity.PAGE.read_text(encoding="utf-8")
    stored = text.partition(import_parity.BEGIN)[2].partition(import_parity.END)[0]
    if stored.strip() != import_parity.newest_table().strip():
        yield "docs/how-to/import.md: the table differs from the newest result of `import-parity`"


def _check_model_page() -> Iterator[str]:
    text = model_page.PAGE.read_text(encoding="utf-8")
    stored = text.partition(model_page.BEGIN)[2].partition(model_page.END)[0]
    if stored.strip() != model_page.newest_table().strip():
        yield "docs/how-to/studio.md: the table differs from the newest result of `model-page`"
