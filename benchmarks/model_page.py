"""`dhyan export MODEL --to html`: size, speed in Chromium, translations equal to those of PyTorch."""

import json
import os
import shutil
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any

from benchmarks.report import newest
from dhyan.data.primer import generate_sentences
from dhyan.pretrained import TRANSLATORS
from dhyan.pretrained.everyday_sentences import EVERYDAY_SENTENCES

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WHAT = "model-page"
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "studio.md"
BEGIN, END = "<!-- model page: measured -->", "<!-- model page: end -->"
TWELVE_WORDS = "My brother and his wife will come to our new house tomorrow."
SENTENCES, REPEATS, BEAMS = 200, 9, (1, 4)
MOST_WORDS = 14  # of a generated sentence
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND"  # no name leads anywhere

FIRST_PAINT = """() => performance.getEntriesByName("first-contentful-paint")[0].startTime"""
TIME = """async ([text, beam, repeats]) => {
    const { askModel } = await import("dhyan/embedded_model.js");
    const seconds = [];
    for (let number = 0; number < repeats; number += 1) {
        const began = performance.now();
        const body = { text: text + " ".repeat(number), model: "", beam, prefix: "" }; // not cached
        await askModel("/api/translate", body);
        seconds.push((performance.now() - began) / 1000);
    }
    return seconds;
}"""
TRANSLATE_ALL = """async ([texts, beam]) => {
    const { askModel } = await import("dhyan/embedded_model.js");
    const found = [];
    for (const text of texts) {
        const trace = await askModel("/api/translate", { text, model: "", beam, prefix: "" });
        const ids = trace.target.tokens.map((token) => token.id);
        found.push([trace.translation, trace.finished ? ids.slice(0, -1) : ids, trace.finished]);
    }
    return found;
}"""


def model_page() -> object:
    """Every pretrained model as a page: bytes, seconds, and equal translations."""
    from playwright.sync_api import sync_playwright

    load = {"before": os.getloadavg()}
    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    models = {}
    with sync_playwright() as play, tempfile.TemporaryDirectory() as folder:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", ALONE])
        for name in TRANSLATORS:
            models[name] = _measure(browser, name, Path(folder))
        version = browser.version
        browser.close()
    return {
        "chromium": version,
        "load_average": {**load, "after": os.getloadavg()},
        "sentence": TWELVE_WORDS,
        "models": models,
    }


def _measure(browser: "Browser", name: str, folder: Path) -> dict[str, Any]:
    from dhyan.run import load
    from dhyan.studio.export_model import export_model

    start = time.perf_counter()
    file = folder / f"{name}.html"
    file.write_text(export_model(name), encoding="utf-8")
    export_seconds = time.perf_counter() - start
    page = browser.new_page()
    start = time.perf_counter()
    page.goto(file.as_uri())
    page.wait_for_selector(".top-token")
    first_translation = time.perf_counter() - start
    seconds = {beam: page.evaluate(TIME, [TWELVE_WORDS, beam, REPEATS]) for beam in BEAMS}
    texts, translator = generated_sentences(SENTENCES), replace(load(name), fast=False)
    equal = {beam: len(texts) - len(differing(page, translator, texts, beam)) for beam in BEAMS}
    figures = {
        "bytes": file.stat().st_size,
        "export_seconds": round(export_seconds, 2),
        "first_paint_seconds": round(page.evaluate(FIRST_PAINT) / 1000, 3),
        "first_translation_seconds": round(first_translation, 2),
        "twelve_words_seconds": {
            _search(beam): {"median": round(median(own), 3), "largest": round(max(own), 3)}
            for beam, own in seconds.items()
        },
        "sentences": len(texts),
        "equal": {_search(beam): count for beam, count in equal.items()},
    }
    page.close()
    return figures


def generated_sentences(count: int) -> list[str]:
    """Everyday sentences, then generated ones."""
    primer = generate_sentences("train", max_words=MOST_WORDS)
    return [*EVERYDAY_SENTENCES, *(pair.english for pair in islice(primer, count))][:count]


def differing(page: "Page", translator: Any, texts: Sequence[str], beam: int) -> list[str]:
    """The sentences that a page translates otherwise than the model; text and token ids count."""
    expected = [
        [translation.text, list(translation.ids), translation.finished]
        for translation in translator(texts, beam=beam, nbest=1)
    ]
    found = page.evaluate(TRANSLATE_ALL, [list(texts), beam])
    return [text for text, *pair in zip(texts, found, expected, strict=True) if pair[0] != pair[1]]


def _search(beam: int) -> str:
    return f"beam {beam}" if beam > 1 else "greedy"


def newest_table() -> str:
    """The table of the newest result."""
    path = newest(WHAT)
    return table(json.loads(path.read_text(encoding="utf-8")), path.name)


def table(result: Mapping[str, Any], name: str) -> str:
    """Sizes, seconds and equal translations as Markdown."""
    figures = result["figures"]
    searches = [_search(beam) for beam in BEAMS]
    lines = [
        f"| model | file | first translation after opening | 12 words, {searches[0]} "
        f"| 12 words, {searches[1]} | same words, of {SENTENCES} sentences |",
        "|---|---|---|---|---|---|",
    ]
    for model, own in figures["models"].items():
        seconds = (f"{own['twelve_words_seconds'][search]['median']:.2f} s" for search in searches)
        equal = ", ".join(f"{own['equal'][search]} {search}" for search in searches)
        lines.append(
            f"| `{model}` | {own['bytes'] / 1e6:.1f} MB | {own['first_translation_seconds']:.1f} s "
            f"| {' | '.join(seconds)} | {equal} |"
        )
    load = figures["load_average"]["before"][0]
    machine = result["machine"]
    lines += [
        "",
        f"*Chromium {figures['chromium'].partition('.')[0]} on {machine['cores']} cores of "
        f"{machine['processor']}, load average {load:.1f} before; medians of {REPEATS}; "
        f"[{name}](../../benchmarks/results/{name}).*",
    ]
    return "\n".join(lines)


def write_table() -> Path:
    """Put the table of the newest result into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{newest_table()}\n\n{END}{after}", encoding="utf-8")
    return PAGE
