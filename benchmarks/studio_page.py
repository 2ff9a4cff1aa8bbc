"""`dhyan studio` in Chromium: seconds to a sentence of one's own, first paint, frames, bytes."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import cos
from pathlib import Path
from statistics import median
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from benchmarks.report import newest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

WHAT = "studio-page"
PAGE = Path(__file__).parents[1] / "docs" / "how-to" / "studio.md"
BEGIN, END = "<!-- studio page: measured -->", "<!-- studio page: end -->"
MODELS = ("en-hi-transformer", "en-hi-bahdanau", "en-hi-luong", "en-hi-no-attention")
RELATIVES = ("brother", "sister", "uncle", "father", "mother", "friend", "aunt", "son", "daughter")
TWELVE_WORDS = "My {} and the children will come to our new house tomorrow."
OWN_SENTENCE = "My brother is waiting for the bus."
STARTS, PAINTS = 3, 9
TARGETS = {"own_sentence": 5.0, "answer": 0.3, "first_paint": 1.0, "frames": 60}
ALONE = "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1"
SETTLED = ".translate:not(.loading) .pair-target .pair-word"

PAINT = "() => performance.getEntriesByName('first-contentful-paint')[0].startTime / 1000"
WEIGHT = """() => {
    const all = ["navigation", "resource"].flatMap((type) => performance.getEntriesByType(type));
    const entries = all.filter((entry) => !new URL(entry.name).pathname.startsWith("/api/"));
    const total = (key) => entries.reduce((sum, entry) => sum + entry[key], 0);
    return {
        requests: entries.length, bytes: total("encodedBodySize"),
        decoded_bytes: total("decodedBodySize"),
    };
}"""
ANSWER = """async (text) => {
    const [box, view] = ["#sentence", "#view"].map((selector) => document.querySelector(selector));
    box.value = text;
    const began = performance.now();
    box.form.requestSubmit();
    const frame = () => new Promise(requestAnimationFrame);
    while (!view.querySelector(".translate.loading")) await frame();
    while (view.querySelector(".translate.loading")) await frame();
    await frame();
    return (performance.now() - began) / 1000;
}"""
RECORD_FRAMES = """() => {
    window.frameTimes = [];
    const record = (now) => {
        window.frameTimes.push(now);
        window.frameRequest = requestAnimationFrame(record);
    };
    window.frameRequest = requestAnimationFrame(record);
}"""
READ_FRAMES = """() => { cancelAnimationFrame(window.frameRequest); return window.frameTimes; }"""


def studio_page() -> object:
    """The figures of the page, with the pretrained models."""
    load = {"before": os.getloadavg()}
    with launched_browser() as browser:
        starts = [_start(browser) for _ in range(STARTS)]
        with running_studio() as (address, _):
            paints, weight = _first_paints(browser, address)
            answers = {name: _answers(browser, address, name) for name in MODELS}
            frames = _frames(browser, address)
        version = browser.version
    return {
        "chromium": version,
        "load_average": {**load, "after": os.getloadavg()},
        "targets": TARGETS,
        "start": {key: _summary([start[key] for start in starts]) for key in starts[0]},
        "first_paint": _summary(paints),
        "page": weight,
        "sentence": TWELVE_WORDS.format(RELATIVES[0]),
        "answer": answers,
        "frames": frames,
    }


@contextmanager
def launched_browser() -> "Iterator[Browser]":
    """Chromium without a network."""
    from playwright.sync_api import sync_playwright

    path = os.environ.get("CHROMIUM") or shutil.which("chromium") or "/usr/bin/chromium"
    with sync_playwright() as play:
        browser = play.chromium.launch(executable_path=path, args=["--no-sandbox", ALONE])
        yield browser
        browser.close()


@contextmanager
def running_studio() -> Iterator[tuple[str, float]]:
    """A studio of the pretrained models: its address, and the moment it was started."""
    began = time.perf_counter()
    process = subprocess.Popen(
        [sys.executable, "-m", "dhyan", "studio", "--port", "0", "--no-browser", *MODELS],
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout
        found = re.search(r"http\S+", process.stdout.readline())
        if not found:
            sys.exit("dhyan studio printed no address")
        yield found[0].rstrip("/"), began
    finally:
        process.send_signal(signal.SIGINT)
        process.wait(60)


def _start(browser: "Browser") -> dict[str, float]:
    """Seconds from the command to its address, to the painted page, to a translated own sentence."""
    with running_studio() as (address, began):
        seconds = {"address": time.perf_counter() - began}
        page = _open(browser, address)
        seconds["page"] = time.perf_counter() - began
        page.fill("#sentence", OWN_SENTENCE)
        page.evaluate(ANSWER, OWN_SENTENCE)
        seconds["own_sentence"] = time.perf_counter() - began
        page.context.close()
    return seconds


def _open(browser: "Browser", address: str, *, motion: str = "reduce") -> "Page":
    page = browser.new_context(
        viewport={"width": 1440, "height": 900}, reduced_motion=motion
    ).new_page()
    page.goto(address)
    page.wait_for_selector("#view h1")
    return page


def _first_paints(browser: "Browser", address: str) -> tuple[list[float], dict[str, int]]:
    """First contentful paints with an empty cache, and what the first page loads."""
    paints = []
    for _ in range(PAINTS):
        page = _open(browser, address)
        page.wait_for_selector(SETTLED)
        paints.append(float(page.evaluate(PAINT)))
        weight = page.evaluate(WEIGHT)
        page.context.close()
    return paints, weight


def _answers(browser: "Browser", address: str, model: str) -> dict[str, float]:
    """Seconds from Enter to the drawn translation of twelve words; none of them is cached."""
    page = _open(browser, f"{address}/translate?model={model}")
    page.evaluate(ANSWER, OWN_SENTENCE)  # the model is loaded
    seconds = [page.evaluate(ANSWER, TWELVE_WORDS.format(word)) for word in RELATIVES]
    page.context.close()
    return _summary(seconds)


def _frames(browser: "Browser", address: str) -> dict[str, Any]:
    """Frames a second while a translation is animated, cells are hovered, a word is dragged."""
    sentence = quote(TWELVE_WORDS.format("cousin"))
    figures = {}
    page = _open(
        browser, f"{address}/translate?model=en-hi-bahdanau&text={sentence}", motion="no-preference"
    )
    page.wait_for_selector(SETTLED)
    page.evaluate(RECORD_FRAMES)
    page.locator(".play-button").click()
    page.wait_for_timeout(3000)
    figures["decoding animation"] = _frame_summary(page.evaluate(READ_FRAMES))
    page.goto(f"{address}/translate?model=en-hi-bahdanau&text={sentence}&display=map")
    page.wait_for_selector(SETTLED)
    figures["hovering over the map"] = _while_moving(page, "#view .heatmap, #view [role=grid]")
    page.goto(f"{address}/playground/gravity")
    page.wait_for_selector(".plot .draggable")
    figures["dragging a word"] = _while_moving(page, ".plot .draggable", drag=True)
    page.context.close()
    return figures


def _while_moving(page: "Page", selector: str, *, drag: bool = False) -> dict[str, float]:
    """Frames while the pointer moves in circles over an element."""
    box = page.locator(selector).first.bounding_box()
    assert box
    x, y = box["x"] + box["width"] / 2, box["y"] + box["height"] / 2
    reach = 60 if drag else min(box["width"], box["height"]) / 3
    page.mouse.move(x, y)
    if drag:
        page.mouse.down()
    page.evaluate(RECORD_FRAMES)
    for step in range(180):
        angle = step / 12
        page.mouse.move(x + reach * cos(angle), y + reach * cos(angle + 1.5))
    times = page.evaluate(READ_FRAMES)
    if drag:
        page.mouse.up()
    return _frame_summary(times)


def _frame_summary(times: Sequence[float]) -> dict[str, float]:
    """Frames a second, and the longest tenth of the times between frames, in milliseconds."""
    gaps = sorted(later - earlier for earlier, later in zip(times, times[1:], strict=False))
    return {
        "frames": len(gaps),
        "frames_per_second": round(1000 * len(gaps) / sum(gaps), 1),
        "median_milliseconds": round(median(gaps), 1),
        "tenth_longest_milliseconds": round(gaps[int(0.9 * len(gaps))], 1),
        "longest_milliseconds": round(gaps[-1], 1),
    }


def _summary(seconds: Sequence[float]) -> dict[str, float]:
    return {"median": round(median(seconds), 3), "largest": round(max(seconds), 3)}


def newest_table() -> str:
    """The table of the newest result."""
    path = newest(WHAT)
    return table(json.loads(path.read_text(encoding="utf-8")), path.name)


def table(result: Mapping[str, Any], name: str) -> str:
    """The figures beside their targets, as Markdown."""
    figures, targets = result["figures"], result["figures"]["targets"]
    page = figures["page"]

    def seconds(own: Mapping[str, float]) -> str:
        return f"{own['median']:.2f} s ({own['largest']:.2f} s)"

    rows = [
        ("`dhyan studio` to its address", seconds(figures["start"]["address"]), ""),
        (
            "… to a translated own sentence",
            seconds(figures["start"]["own_sentence"]),
            f"{targets['own_sentence']:g} s",
        ),
        (
            "first contentful paint, empty cache",
            seconds(figures["first_paint"]),
            f"{targets['first_paint']:g} s",
        ),
        *(
            (
                f"12 words, `{model}`, Enter to the drawn map",
                seconds(own),
                f"{targets['answer']:g} s",
            )
            for model, own in figures["answer"].items()
        ),
        *(
            (
                f"frames a second, {what}",
                f"{own['frames_per_second']:.0f} (median {own['median_milliseconds']:.1f} ms, "
                f"longest {own['longest_milliseconds']:.0f} ms)",
                f"{targets['frames']}",
            )
            for what, own in figures["frames"].items()
        ),
        (
            "first page",
            f"{page['bytes'] / 1e3:.0f} kB in {page['requests']} requests, "
            f"{page['decoded_bytes'] / 1e3:.0f} kB unpacked",
            "",
        ),
    ]
    load, machine = figures["load_average"]["before"][0], result["machine"]
    return "\n".join([
        "| what | median (largest) | target |",
        "|---|---|---|",
        *(f"| {' | '.join(row)} |" for row in rows),
        "",
        f"*Chromium {figures['chromium'].partition('.')[0]} on {machine['cores']} cores of "
        f"{machine['processor']}, load average {load:.1f} before; "
        f"[{name}](../../benchmarks/results/{name}).*",
    ])  # fmt: skip


def write_table() -> Path:
    """Put the table of the newest result into the page."""
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(BEGIN)
    _, _, after = rest.partition(END)
    PAGE.write_text(f"{before}{BEGIN}\n\n{newest_table()}\n\n{END}{after}", encoding="utf-8")
    return PAGE
