"""A stranger's first minutes: clone, `make demo`, a sentence of one's own, `make studio`; and sizes."""

import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.report import newest

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "tutorials" / "first-translator.md"
BEGIN, END = "<!-- first minutes: measured -->", "<!-- first minutes: end -->"
SENTENCE = "My brother is waiting for the bus."
OWN_SETTINGS = ("OMP_NUM_THREADS", "PYTHONPATH", "VIRTUAL_ENV", "DHYAN_PRETRAINED")
DEMO_LINES = {  # what is timed: the line of `make demo` that ends it
    "first_translation": r"^  My sister works",
    "five_translations_and_a_figure": r"^attention of ",
    "training_begins": r"parameters [\d,]+, examples",
    "training_ends": r"best at step",
    "scores_and_a_figure": r"^attention: ",
}
START_SECONDS, PAGE_SECONDS = 60.0, 60.0


def first_minutes() -> object:
    """Seconds from a clone to a sentence of one's own on the page, and sizes in bytes."""
    with tempfile.TemporaryDirectory() as temporary:
        checkout = Path(temporary) / "dhyan"
        load = {"before": os.getloadavg()}
        seconds: dict[str, float] = {}
        with _timed(seconds, "clone"):
            _run("git", "clone", "-q", "--no-local", ROOT, checkout, cwd=ROOT)
        sizes = _sizes(checkout)
        with _timed(seconds, "set_up"):
            _run("make", "-s", ".venv/ready", cwd=checkout)
        demo = _demo(checkout)
        with _timed(seconds, "own_sentence"):
            translation = _translate(checkout)
        studio = _studio(checkout)
        python = checkout / ".venv" / "bin" / "python"
        sizes["wheel"] = _wheel_bytes(python, checkout, Path(temporary) / "wheel")
        return {
            "load_average": {**load, "after": os.getloadavg()},
            "seconds": {name: round(value, 1) for name, value in seconds.items()},
            "make_demo": demo,
            "own_sentence": {"source": SENTENCE, "translation": translation},
            "make_studio": studio,
            "bytes": sizes,
        }


def sizes() -> dict[str, int]:
    """Sizes of a new clone and of its wheel in bytes, which need no quiet machine."""
    with tempfile.TemporaryDirectory() as temporary:
        checkout = Path(temporary) / "dhyan"
        _run("git", "clone", "-q", "--no-local", ROOT, checkout, cwd=ROOT)
        wheel = _wheel_bytes(Path(sys.executable), checkout, Path(temporary) / "wheel")
        return {**_sizes(checkout), "wheel": wheel}


def _demo(checkout: Path) -> dict[str, Any]:
    """Seconds from the start of `make demo` to some of its lines and to its end; CPU seconds."""
    before, start = _child_cpu_seconds(), time.perf_counter()
    moments: dict[str, float] = {}
    threads = 0
    with subprocess.Popen(
        ["make", "-s", "demo"],
        cwd=checkout,
        env={**_environment(), "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        for line in process.stdout or ():
            for name, pattern in DEMO_LINES.items():
                if name not in moments and re.search(pattern, line):
                    moments[name] = round(time.perf_counter() - start, 1)
            if found := re.search(r"threads (\d+)", line):
                threads = int(found[1])
    if process.returncode or moments.keys() != DEMO_LINES.keys():
        sys.exit(f"make demo: exit code {process.returncode}; found only {', '.join(moments)}")
    moments["end"] = round(time.perf_counter() - start, 1)
    cpu_seconds = round(_child_cpu_seconds() - before, 1)
    return {"seconds_to": moments, "cpu_seconds": cpu_seconds, "threads": threads}


def _translate(checkout: Path) -> str:
    command = [checkout / ".venv" / "bin" / "dhyan", "translate", "en-hi"]
    done = subprocess.run(
        command,
        cwd=checkout,
        env=_environment(),
        input=SENTENCE + "\n",
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout.strip()


def _studio(checkout: Path) -> dict[str, Any]:
    """Seconds from `make studio` to its address, to the page, and to a sentence translated on it."""
    from playwright.sync_api import sync_playwright

    browser = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if not browser:
        sys.exit("the page is measured in Chromium: sudo apt-get install chromium")
    seconds: dict[str, float] = {}
    start = time.perf_counter()
    process = subprocess.Popen(
        ["make", "-s", "studio"],
        cwd=checkout,
        env={**_environment(), "BROWSER": "true"},  # no second browser
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
        start_new_session=True,
    )
    try:
        assert process.stdout
        found = re.search(r"http\S+", process.stdout.readline())
        if not found:
            sys.exit("make studio printed no address; is its port taken?")
        seconds["address"] = time.perf_counter() - start
        with sync_playwright() as play:
            chromium = play.chromium.launch(executable_path=browser, args=["--no-sandbox"])
            page = chromium.new_page()
            page.set_default_timeout(1000 * PAGE_SECONDS)
            opened = time.perf_counter()
            page.goto(found[0])
            page.wait_for_selector("#sentence-mark .mark:not([hidden])")
            seconds["page"] = time.perf_counter() - opened
            models = page.locator("#model option").all_text_contents()
            page.fill("#sentence", SENTENCE)
            entered = time.perf_counter()
            page.press("#sentence", "Enter")
            page.wait_for_selector(".translate:not(.loading) .map-layout")
            seconds["own_sentence"] = time.perf_counter() - entered
            words = page.locator(".pair-target .pair-word").all_text_contents()
            chromium.close()
    finally:
        os.killpg(process.pid, signal.SIGINT)
        process.wait(START_SECONDS)
    return {
        "seconds_to": {name: round(value, 2) for name, value in seconds.items()},
        "models": models,
        "translation": words,
    }


def _sizes(checkout: Path) -> dict[str, int]:
    """Sizes of a new clone: of its tracked files, and of its history."""
    listed = subprocess.run(
        ["git", "ls-files", "-z"], cwd=checkout, capture_output=True, text=True, check=True
    ).stdout.split("\0")
    history = (path for path in (checkout / ".git").rglob("*") if path.is_file())
    return {
        "tracked_files": sum((checkout / name).lstat().st_size for name in filter(None, listed)),
        "history": sum(path.stat().st_size for path in history),
    }


def _wheel_bytes(python: Path, checkout: Path, folder: Path) -> int:
    _run(python, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ".", cwd=checkout)
    [wheel] = folder.glob("*.whl")
    return wheel.stat().st_size


def _run(*command: object, cwd: Path) -> None:
    subprocess.run(list(map(str, command)), cwd=cwd, env=_environment(), check=True)


def _environment() -> Mapping[str, str]:
    """The environment without the settings of a developer."""
    return {key: value for key, value in os.environ.items() if key not in OWN_SETTINGS}


def _child_cpu_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


@contextmanager
def _timed(seconds: dict[str, float], name: str) -> Iterator[None]:
    start = time.perf_counter()
    yield
    seconds[name] = time.perf_counter() - start


def report(result: Mapping[str, Any], name: str) -> str:
    """The figures of a result file as a table and a paragraph, in Markdown."""
    figures, machine = result["figures"], result["machine"]
    seconds, demo = figures["seconds"], figures["make_demo"]["seconds_to"]
    studio = figures["make_studio"]["seconds_to"]
    rows = {
        "clone, from a folder of the same machine": seconds["clone"],
        "set-up by `make demo`: `.venv`, PyTorch, packages": seconds["set_up"],
        "`make demo` after the set-up, to its first translation": demo["first_translation"],
        "… to five translations and a figure": demo["five_translations_and_a_figure"],
        "… to the first step of training": demo["training_begins"],
        "… to the last step": demo["training_ends"],
        "… to scores and the second figure": demo["scores_and_a_figure"],
        "… to its end": demo["end"],
        "a sentence of one's own, `dhyan translate en-hi`": seconds["own_sentence"],
        "`make studio`, to its address": studio["address"],
        "the page, to its first examples": studio["page"],
        "a sentence of one's own on the page": studio["own_sentence"],
    }
    before, after = (figures["load_average"][moment][0] for moment in ("before", "after"))
    threads = figures["make_demo"]["threads"]
    lines = ["| step | seconds |", "|---|---|"]
    lines += [f"| {step} | {value:.1f} |" for step, value in rows.items()]
    lines += [
        "",
        f"Measured by `python -m benchmarks first-minutes` on {machine['cores']} cores "
        f"({machine['processor']}), load average {before:.1f} before and {after:.1f} after; "
        f"training used {threads} thread{'s' if threads > 1 else ''} "
        f"([result](../../benchmarks/results/{name})). On a machine with other work every step takes "
        "longer.",
    ]
    return "\n".join(lines)


def size_report(result: Mapping[str, Any], name: str) -> str:
    """The sizes of a result file as a sentence, in Markdown."""
    megabytes = {key: f"{size / 1e6:.1f} MB" for key, size in result["figures"].items()}
    return (
        f"The wheel has {megabytes['wheel']}, a checkout {megabytes['tracked_files']} and "
        f"{megabytes['history']} of history, at commit `{result['commit'][:7]}` "
        f"([result](../../benchmarks/results/{name}))."
    )


def page_with_report() -> str:
    """The tutorial with the newest results between its marks."""
    minutes, sizes = newest("first-five-minutes"), newest("sizes")
    reports = report(_read(minutes), minutes.name), size_report(_read(sizes), sizes.name)
    text = PAGE.read_text(encoding="utf-8")
    head, _, rest = text.partition(BEGIN)
    _, _, tail = rest.partition(END)
    return "".join((head, BEGIN, "\n", "\n\n".join(reports), "\n", END, tail))


def _read(path: Path) -> Mapping[str, Any]:
    result: Mapping[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return result


def write_page() -> Path:
    """Write the newest result into the tutorial."""
    PAGE.write_text(page_with_report(), encoding="utf-8")
    return PAGE
