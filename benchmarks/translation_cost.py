"""GPU hours and euros of a billion translated sentences, from the measured rate of one H200."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from benchmarks.report import RESULTS
from benchmarks.results_page import EUROS_PER_HOUR

PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "translate-many-files.md"
BEGIN = "<!-- cost: made by `python -m benchmarks translation-cost` -->"
END = "<!-- end of cost -->"
SENTENCES, TOKENS = 10**9, 32  # a sentence has as many tokens as those of the benchmark
MODELS = {
    "translate-transformer": "Transformer base, vocabulary 32,000",
    "translate-bahdanau": "Bahdanau's model, vocabulary 8,000",
}
ABOUT = """
From the rates of {links}, measured on one NVIDIA H200
in 16-bit floats, for sentences of {tokens} tokens into {tokens}; the price is an assumption,
{euros:g} € for an hour of it. The cost is the same however many GPUs share the work. The rates
are those of the search: reading, tokenizing and writing, which run on the CPU, are not in them.
Shorter sentences cost less.
"""


def cost_table() -> str:
    """The text of the page: a row for each model and search of the newest results."""
    newest = {what: max(RESULTS.glob(f"{what}_h200_*.json")) for what in MODELS}
    head = ("model", "search, batch", "sentences/s", "GPU hours", "euros")
    lines = [f"| {' | '.join(head)} |", "|---|---|--:|--:|--:|"]
    for what, path in newest.items():
        figures = json.loads(path.read_text(encoding="utf-8"))["figures"]
        for row in _largest_batches(figures):
            rate = row["median"] / TOKENS
            hours = SENTENCES / rate / 3600
            cells = MODELS[what], row["at"], f"{rate:,.0f}", f"{hours:,.1f}"
            lines.append(f"| {' | '.join(cells)} | {hours * EUROS_PER_HOUR:,.0f} |")
    links = " and ".join(
        f"[`{path.name}`](../../benchmarks/results/{path.name})" for path in newest.values()
    )
    about = ABOUT.strip().format(links=links, tokens=TOKENS, euros=EUROS_PER_HOUR)
    return f"{about}\n\n" + "\n".join(lines)


def _largest_batches(figures: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The rows of dhyan's engine with the most sentences at once, greedy and with a beam."""
    rows = [row for row in figures["rows"] if row["who"] == "dhyan"]
    for search in dict.fromkeys(row["at"].rpartition(", ")[0] for row in rows):
        same = [row for row in rows if row["at"].rpartition(", ")[0] == search]
        yield max(same, key=lambda row: int(row["at"].rpartition(", ")[2]))


def write_page() -> Path:
    """Write the table into its page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    PAGE.write_text(f"{before}{BEGIN}\n{cost_table()}\n\n{END}{after}", encoding="utf-8")
    return PAGE


def page_is_current() -> bool:
    """Whether the page has the table of the newest results."""
    stored = PAGE.read_text(encoding="utf-8").partition(BEGIN)[2].partition(END)[0]
    return stored.strip() == cost_table().strip()
