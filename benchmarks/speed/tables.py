"""The tables and the figure of benchmarks/README.md, generated from the result files."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, newest
from benchmarks.speed.scaling import draw_scaling
from benchmarks.speed.timing import short_number

PAGE = Path(__file__).parents[1] / "README.md"
FIGURE = PAGE.parent / "scaling.svg"
BEGIN, END = "<!-- tables: made by `python -m benchmarks tables` -->", "<!-- end of tables -->"
TITLES = {
    "hardware-limits": "Peak rates of the device",
    "additive": "Additive attention, all queries in one call",
    "train-bahdanau": "Training, LSTM + Bahdanau, Multi30k en→de",
    "train-luong": "Training, LSTM + Luong with input feeding, Multi30k en→de",
    "train-luong-unfed": "Training, LSTM + Luong without input feeding, Multi30k en→de",
    "train-transformer": "Training, Transformer-base, V = 32k, no padding",
    "train-transformer-multi30k": "Training, Transformer-base, Multi30k en→de",
    "translate-transformer": "Translation, Transformer-base, V = 32k, 32 tokens into 32",
    "translate-bahdanau": "Translation, LSTM + Bahdanau, V = 8k, 32 tokens into 32",
    "quality-losses": "Training loss of fused and reference kernels: one seed, no dropout",
    "quality-bleu": "BLEU of fused and reference kernels: test_2016_flickr, three seeds",
    "scaling": "Training throughput by batch size, length and width",
}
QUOTED = {  # measured earlier on the same type of machine, not in the same run
    "train-bahdanau": ("JoeyNMT 2.3, fp16, batch 256", 25_000),
    "train-luong": ("JoeyNMT 2.3, fp16, batch 256", 31_000),
    "train-transformer-multi30k": ("JoeyNMT 2.3, fp16, 16k-token batches", 57_000),
}

OLD_LABELS = {  # of systems and units in results before these names
    "dhyan, plain": "dhyan, reference kernels",
    "plain, bf16": "reference kernels, bf16",
    "plain, fp32": "reference kernels, fp32",
    "fast, bf16": "fused kernels, bf16",
    "forward, recorded, ms": "forward, CUDA graph, ms",
    "forward and backward, recorded, ms": "forward and backward, CUDA graph, ms",
}


def tables(folder: Path = RESULTS) -> str:
    """The newest result of every case, as Markdown."""
    parts = []
    for what, title in TITLES.items():
        if any(folder.glob(f"{what}_*.json")):
            path = newest(what, folder)
            parts.append(section(what, title, json.loads(path.read_text(encoding="utf-8")), path))
    return "\n\n".join(parts)


def section(what: str, title: str, result: Mapping[str, Any], path: Path) -> str:
    """One case: its table, the outcome of its checks, and its result file."""
    figures = result["figures"]
    machine = result["machine"].get("accelerator") or result["machine"]["processor"]
    if what == "scaling":
        body = f"![Target tokens per second by batch size, length and width]({FIGURE.name})"
    else:
        body = pivot(figures["rows"])
    lines = [f"### {title}", "", body, ""]
    if what in QUOTED:
        who, rate = QUOTED[what]
        lines += [f"{who}, measured earlier on the same type of machine: {short_number(rate)}.", ""]
    wrong = [name for name, results in figures["checks"].items() if not right(results)]
    checked = f"checks failed: {', '.join(wrong)}" if wrong else "checked"
    failed = f"; failed: {', '.join(figures['failed'])}" if figures["failed"] else ""
    changed = " with changes" if result["changed_since"] else ""
    commit = (result["commit"] or "unknown")[:9] + changed
    source = f"[{path.name}](results/{path.name})"
    lines.append(f"{machine}, {result['date'][:10]}, commit {commit}; {checked}{failed}; {source}")
    return "\n".join(lines)


def pivot(rows: Sequence[Mapping[str, Any]]) -> str:
    """Systems by settings: medians, with the range of the repeats where it exceeds 5 %."""
    units = list(dict.fromkeys(row["unit"] for row in rows))
    settings = list(dict.fromkeys(row["at"] for row in rows))
    results = {(row["who"], row["unit"], row["at"]): row for row in rows}
    head = units[0] if len(units) == 1 else ""
    lines = [f"| {head} | {' | '.join(settings)} |", f"|---|{'---:|' * len(settings)}"]
    for who, unit in dict.fromkeys((row["who"], row["unit"]) for row in rows):
        cells = [cell(results.get((who, unit, setting))) for setting in settings]
        system, unit = OLD_LABELS.get(who, who), OLD_LABELS.get(unit, unit)
        lines.append(f"| {system if head else f'{system}: {unit}'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(row: Mapping[str, Any] | None) -> str:
    """A median, and its range where it exceeds 5 %."""
    if row is None:
        return "–"
    wide = row["high"] - row["low"] > 0.05 * row["median"]
    spread = f" ({short_number(row['low'])}–{short_number(row['high'])})" if wide else ""
    return short_number(row["median"]) + spread


def right(results: Any) -> bool:
    """Whether a check passed; one that only reports a value always does."""
    return bool(results.get("right", True)) if isinstance(results, Mapping) else True


def write_page() -> Path:
    """Write the tables into the page and draw its figure."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}", encoding="utf-8")
    if any(RESULTS.glob("scaling_*.json")):
        draw_scaling(json.loads(newest("scaling").read_text(encoding="utf-8"))["figures"], FIGURE)
    return PAGE
