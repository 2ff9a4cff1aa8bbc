"""From the files of results to the tables of the page, and its picture."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS, newest
from benchmarks.speed.scaling import picture
from benchmarks.speed.timing import short

PAGE = Path(__file__).parents[1] / "README.md"
PICTURE = PAGE.parent / "growth.svg"
BEGIN, END = "<!-- tables: made by `python -m benchmarks tables` -->", "<!-- end of tables -->"
TITLES = {
    "ceilings": "What the device can do at most",
    "additive": "Additive attention, all queries at once",
    "train-bahdanau": "Training, LSTM + Bahdanau, Multi30k en→de",
    "train-luong": "Training, LSTM + Luong with input feeding, Multi30k en→de",
    "train-luong-unfed": "Training, LSTM + Luong without input feeding, Multi30k en→de",
    "train-transformer": "Training, Transformer-base, V = 32k, no padding",
    "train-transformer-multi30k": "Training, Transformer-base, Multi30k en→de",
    "translate-transformer": "Translating, Transformer-base, V = 32k, 32 tokens into 32",
    "translate-bahdanau": "Translating, LSTM + Bahdanau, V = 8k, 32 tokens into 32",
    "quality-losses": "The same losses: one seed, one order of batches, no dropout",
    "quality-bleu": "The same translations: BLEU of test_2016_flickr over three seeds",
    "growth": "What training costs as it grows",
}
QUOTED = {  # measured earlier on such a machine, not in the same run
    "train-bahdanau": ("JoeyNMT 2.3, fp16, batch 256", 25_000),
    "train-luong": ("JoeyNMT 2.3, fp16, batch 256", 31_000),
    "train-transformer-multi30k": ("JoeyNMT 2.3, fp16, 16k-token batches", 57_000),
}


def tables(folder: Path = RESULTS) -> str:
    """Every case that has a result, newest first where there are several, as Markdown."""
    parts = []
    for what, title in TITLES.items():
        if any(folder.glob(f"{what}_*.json")):
            path = newest(what, folder)
            parts.append(section(what, title, json.loads(path.read_text(encoding="utf-8")), path))
    return "\n\n".join(parts)


def section(what: str, title: str, result: Mapping[str, Any], path: Path) -> str:
    """One case: its table, what was checked, and the file it is quoted from."""
    figures = result["figures"]
    machine = result["machine"].get("accelerator") or result["machine"]["processor"]
    if what == "growth":
        body = f"![Target tokens a second by batch, length and width]({PICTURE.name})"
    else:
        body = pivot(figures["rows"])
    lines = [f"### {title}", "", body, ""]
    if what in QUOTED:
        who, pace = QUOTED[what]
        lines += [f"{who}, measured earlier on such a machine: {short(pace)}.", ""]
    wrong = [name for name, results in figures["checks"].items() if not right(results)]
    checked = f"not shown to be right: {', '.join(wrong)}" if wrong else "checked"
    left_out = f"; left out: {', '.join(figures['failed'])}" if figures["failed"] else ""
    changed = " and changes" if result["changed_since"] else ""
    commit = (result["commit"] or "unknown")[:9] + changed
    source = f"[{path.name}](results/{path.name})"
    lines.append(
        f"{machine}, {result['date'][:10]}, commit {commit}; {checked}{left_out}; {source}"
    )
    return "\n".join(lines)


def pivot(rows: Sequence[Mapping[str, Any]]) -> str:
    """Who by where: medians, with the range of the repeats where it is wider than 5 %."""
    units = list(dict.fromkeys(row["unit"] for row in rows))
    places = list(dict.fromkeys(row["at"] for row in rows))
    results = {(row["who"], row["unit"], row["at"]): row for row in rows}
    head = units[0] if len(units) == 1 else ""
    lines = [f"| {head} | {' | '.join(places)} |", f"|---|{'---:|' * len(places)}"]
    for who, unit in dict.fromkeys((row["who"], row["unit"]) for row in rows):
        cells = [cell(results.get((who, unit, place))) for place in places]
        lines.append(f"| {who if head else f'{who}: {unit}'} | {' | '.join(cells)} |")
    return "\n".join(lines)


def cell(row: Mapping[str, Any] | None) -> str:
    """A median, and its range if that says something."""
    if row is None:
        return "–"
    wide = row["high"] - row["low"] > 0.05 * row["median"]
    spread = f" ({short(row['low'])}–{short(row['high'])})" if wide else ""
    return short(row["median"]) + spread


def right(results: Any) -> bool:
    """Whether a check came out as it should; one that only reports always does."""
    return bool(results.get("right", True)) if isinstance(results, Mapping) else True


def write_page() -> Path:
    """Put the tables into the page, and draw its picture."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{tables()}\n\n{END}{after}", encoding="utf-8")
    if any(RESULTS.glob("growth_*.json")):
        picture(json.loads(newest("growth").read_text(encoding="utf-8"))["figures"], PICTURE)
    return PAGE
