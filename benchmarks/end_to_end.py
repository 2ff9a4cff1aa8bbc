"""Benchmarks that run whole commands: startup time, demo, quick ladder, mechanisms, small recipes."""

import json
import re
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

MECHANISMS_PAGE = Path(__file__).parents[1] / "docs" / "reference" / "mechanisms.md"
TEST_PAIRS, STEPS = 1000, 300
SMALL_RECIPES = (
    "sutskever2014-small",
    "bahdanau2015-small",
    "luong2015-small",
    "luong2015-local-small",
    "transformer2017-small",
    "deep-shallow-small",
    "modern-small",
)


def run_dhyan(*arguments: object) -> tuple[str, float]:
    """Run a `dhyan` command in its own process; return its output and the seconds it took."""
    start = time.perf_counter()
    process = subprocess.run(
        [sys.executable, "-m", "dhyan", *map(str, arguments)],
        capture_output=True,
        text=True,
        check=True,
    )
    return process.stdout, time.perf_counter() - start


def startup_time() -> object:
    """Startup time of the command line in seconds, median of eleven runs."""
    return {
        " ".join(words): round(statistics.median(run_dhyan(*words)[1] for _ in range(11)), 3)
        for words in (("--help",), ("--version",), ("train", "--help"))
    }


def demo() -> object:
    """`dhyan demo`: the scores it prints, and its duration."""
    with tempfile.TemporaryDirectory() as folder:
        output, seconds = run_dhyan("demo", "--out", Path(folder) / "demo")
    tests = re.findall(r"^ +(\d+) (\D.*)\n +(BLEU .*)$", output, re.MULTILINE)
    scores = {
        about: {"sentences": int(count)}
        | {
            name: float(value)
            for name, value in re.findall(r"([a-zA-Z+][a-zA-Z+ ]*?) +([\d.]+)", line)
        }
        for count, about, line in tests
    }
    return {"command": "dhyan demo", "seconds": round(seconds, 1), "tests": scores}


def quick_ladder() -> object:
    """`dhyan compare --ladder --quick`: its report, and its duration."""
    with tempfile.TemporaryDirectory() as folder:
        words = ("compare", "--ladder", "--quick", "--data", "primer")
        _, seconds = run_dhyan(*words, "--out", Path(folder) / "ladder")
        report = json.loads((Path(folder) / "ladder" / "report.json").read_text(encoding="utf-8"))
    return {"command": shlex.join(("dhyan", *words)), "seconds": round(seconds), "report": report}


def mechanisms() -> object:
    """Every command of docs/reference/mechanisms.md on the numbers task: loss, accuracy, speed."""
    from dhyan import load
    from dhyan.config import load_recipe
    from dhyan.data.corpus import read_corpus
    from dhyan.data.synthetic import number_pairs

    corpus = read_corpus(load_recipe("numbers"))
    training_sources = {pair.source for pair in (*corpus.training, *corpus.validation)}
    held_out = (pair for pair in number_pairs(seed=0) if pair.source not in training_sources)
    test = [next(held_out) for _ in range(TEST_PAIRS)]
    results = {}
    for command in dict.fromkeys(re.findall(r"`(dhyan train [^`]+)`", MECHANISMS_PAGE.read_text())):
        with tempfile.TemporaryDirectory() as out:
            task = (
                "--set",
                "data.synthetic=numbers",
                "--set",
                "training.early_stopping_metric=loss",
            )
            task += ("--set", f"training.steps={STEPS}", "--set", "training.validate_every=100")
            run_dhyan(*shlex.split(command)[1:], *task, "--threads", 1, "--out", out, "--quiet")
            events = _read_events(Path(out))
            losses = [event["scores"]["loss"] for event in events if event["event"] == "validated"]
            translator = load(out)
            translations = translator([pair.source for pair in test], beam=1)
        matches = [
            translation.text == pair.target
            for translation, pair in zip(translations, test, strict=True)
        ]
        results[command] = {
            "parameters": sum(p.numel() for p in translator.model.parameters()),
            "valid_loss": round(min(losses), 4),
            "exact": sum(matches) / TEST_PAIRS,
            "tokens_per_second": _median_throughput(events),
        }
        print(command, results[command], file=sys.stderr)
    return {"task": "numbers", "steps": STEPS, "test_pairs": TEST_PAIRS, "mechanisms": results}


def skip_gram() -> object:
    """Skip-gram training time on 100,000 sentences of the primer."""
    from dhyan.data.primer import generate_sentences
    from dhyan.text.skipgram import train_skip_gram

    pairs = islice(generate_sentences("train", max_words=20), 100_000)
    sentences = [re.findall(r"\w+", pair.english.lower()) for pair in pairs]
    start = time.perf_counter()
    vectors = train_skip_gram(sentences, seed=1)
    seconds = time.perf_counter() - start
    counts = {"sentences": len(sentences), "words": sum(map(len, sentences))}
    return {**counts, "vocabulary": len(vectors.words), "seconds": round(seconds, 1)}


def small_recipes(folder: Path) -> object:
    """Every small recipe on a corpus of train, valid and test files (`.en.xz`, `.hi.xz`)."""
    results = {}
    for name in SMALL_RECIPES:
        with tempfile.TemporaryDirectory() as out:
            run = Path(out) / name
            _, seconds = run_dhyan(
                "train", name, "--out", run, "--quiet", "--allow-leakage",
                "--source", folder / "train.en.xz", "--target", folder / "train.hi.xz",
                "--valid-source", folder / "valid.en.xz", "--valid-target", folder / "valid.hi.xz",
            )  # fmt: skip
            report, _ = run_dhyan(
                "evaluate", run, "--json", "--metrics", "bleu,chrf",
                "--source", folder / "test.en.xz", "--target", folder / "test.hi.xz",
            )  # fmt: skip
            results[name] = {
                "seconds": round(seconds, 1),
                "tokens_per_second": _median_throughput(_read_events(run)),
                "test": json.loads(report)["scores"],
            }
            print(name, results[name], file=sys.stderr)
    return {"corpus": folder.name, "recipes": results}


def _read_events(run: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (run / "metrics.jsonl").open()]


def _median_throughput(events: Sequence[Mapping[str, Any]]) -> int:
    """Median target tokens per second over the reports of a training run."""
    steps = [event for event in events if event["event"] == "stepped"]
    return round(statistics.median(event["tokens"] / event["seconds"] for event in steps))
