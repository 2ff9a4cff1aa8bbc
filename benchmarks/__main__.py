"""Measurements: start demo quick mechanisms vectors primer recipes ladder failures

serving soaks exact; and of speed: ceilings kernels training translation quality growth, then keep
and tables.
"""

import json
import re
import shlex
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from itertools import islice
from pathlib import Path

from benchmarks.ladder import judged
from benchmarks.ladder_page import newest_page
from benchmarks.primer import primer
from benchmarks.report import RESULTS, keep, write, write_beside, write_brought

LADDER = Path(__file__).parents[1] / "docs" / "ladder.md"
PICTURES = {"bleu-by-length.png": "bleu-by-length.png", "attention.png": "attention-1.png"}
PAGE = Path(__file__).parents[1] / "docs" / "mechanisms.md"
UNSEEN, STEPS = 1000, 300
SPEED = ("ceilings", "kernels", "training", "translation", "quality", "growth")
SMALL = (
    "sutskever2014-small",
    "bahdanau2015-small",
    "luong2015-small",
    "luong2015-local-small",
    "transformer2017-small",
    "deep-shallow-small",
    "modern-small",
)


def dhyan(*words: object) -> tuple[str, float]:
    """Run a command of dhyan's in a process of its own: its output, and the seconds it took."""
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", "dhyan", *map(str, words)],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout, time.perf_counter() - began


def start() -> object:
    """How long the command line takes to answer; the median of eleven."""
    return {
        " ".join(words): round(statistics.median(dhyan(*words)[1] for _ in range(11)), 3)
        for words in (("--help",), ("--version",), ("train", "--help"))
    }


def demo() -> object:
    """What `dhyan demo` says of itself, and how long it takes, from nothing to its picture."""
    with tempfile.TemporaryDirectory() as folder:
        said, seconds = dhyan("demo", "--out", Path(folder) / "demo")
    tests = re.findall(r"^ +(\d+) (\D.*)\n +(BLEU .*)$", said, re.MULTILINE)
    scores = {
        about: {"sentences": int(count)}
        | {
            name: float(value)
            for name, value in re.findall(r"([a-zA-Z+][a-zA-Z+ ]*?) +([\d.]+)", line)
        }
        for count, about, line in tests
    }
    return {"command": "dhyan demo", "seconds": round(seconds, 1), "tests": scores}


def quick() -> object:
    """The quick ladder: its report, and how long it takes from nothing to its figures."""
    with tempfile.TemporaryDirectory() as folder:
        words = ("compare", "--ladder", "--quick", "--data", "primer")
        _, seconds = dhyan(*words, "--out", Path(folder) / "ladder")
        report = json.loads((Path(folder) / "ladder" / "report.json").read_text(encoding="utf-8"))
    return {"command": shlex.join(("dhyan", *words)), "seconds": round(seconds), "report": report}


def mechanisms() -> object:
    """Every command of the table of mechanisms, on the numbers: what it learns in so many steps."""
    from dhyan import load
    from dhyan.config import load_recipe
    from dhyan.data.corpus import read_corpus
    from dhyan.data.synthetic import number_pairs

    made = read_corpus(load_recipe("numbers"))
    known = {pair.source for pair in (*made.training, *made.validation)}
    unseen = (pair for pair in number_pairs(seed=0) if pair.source not in known)
    test = [next(unseen) for _ in range(UNSEEN)]
    found = {}
    for command in dict.fromkeys(re.findall(r"`(dhyan train [^`]+)`", PAGE.read_text())):
        with tempfile.TemporaryDirectory() as out:
            task = ("--set", "data.task=numbers", "--set", "training.early_stopping_metric=loss")
            task += ("--set", f"training.steps={STEPS}", "--set", "training.validate_every=100")
            dhyan(*shlex.split(command)[1:], *task, "--threads", 1, "--out", out, "--quiet")
            lines = [json.loads(line) for line in (Path(out) / "metrics.jsonl").open()]
            rates = [x["tokens"] / x["seconds"] for x in lines if x["event"] == "stepped"]
            losses = [x["scores"]["loss"] for x in lines if x["event"] == "validated"]
            translator = load(out)
            said = translator([pair.source for pair in test], beam=1)
        right = [one.text == pair.target for one, pair in zip(said, test, strict=True)]
        found[command] = {
            "parameters": sum(p.numel() for p in translator.model.parameters()),
            "valid_loss": round(min(losses), 4),
            "exact": sum(right) / UNSEEN,
            "tokens_per_second": round(statistics.median(rates)),
        }
        print(command, found[command], file=sys.stderr)
    return {"task": "numbers", "steps": STEPS, "unseen": UNSEEN, "mechanisms": found}


def vectors() -> object:
    """Skip-gram on 100,000 sentences of the primer, as `dhyan lesson word_embeddings` learns them."""
    from dhyan.data.primer import generate_sentences
    from dhyan.text.skipgram import train_skip_gram

    made = islice(generate_sentences("train", longest=20), 100_000)
    sentences = [re.findall(r"\w+", twin.english.lower()) for twin in made]
    began = time.perf_counter()
    found = train_skip_gram(sentences, seed=1)
    seconds = time.perf_counter() - began
    counts = {"sentences": len(sentences), "words": sum(map(len, sentences))}
    return {**counts, "vocabulary": len(found.words), "seconds": round(seconds, 1)}


def recipes(folder: Path) -> object:
    """Every small recipe on a corpus of train, valid and test files (`.en.xz`, `.hi.xz`)."""
    found = {}
    for name in SMALL:
        with tempfile.TemporaryDirectory() as out:
            run = Path(out) / name
            _, seconds = dhyan(
                "train", name, "--out", run, "--quiet", "--allow-leakage",
                "--source", folder / "train.en.xz", "--target", folder / "train.hi.xz",
                "--valid-source", folder / "valid.en.xz", "--valid-target", folder / "valid.hi.xz",
            )  # fmt: skip
            lines = [json.loads(line) for line in (run / "metrics.jsonl").open()]
            rates = [x["tokens"] / x["seconds"] for x in lines if x["event"] == "stepped"]
            text, _ = dhyan(
                "evaluate", run, "--json", "--metrics", "bleu,chrf",
                "--source", folder / "test.en.xz", "--target", folder / "test.hi.xz",
            )  # fmt: skip
            found[name] = {
                "seconds": round(seconds, 1),
                "tokens_per_second": round(statistics.median(rates)),
                "test": json.loads(text)["scores"],
            }
            print(name, found[name], file=sys.stderr)
    return {"corpus": folder.name, "recipes": found}


if __name__ == "__main__":
    match sys.argv[1:]:
        case ["start"]:
            print(write("start", start()))
        case ["mechanisms"]:
            print(write("mechanisms", mechanisms()))
        case ["vectors"]:
            print(write("vectors", vectors()))
        case ["demo"]:
            print(write("demo", demo()))
        case ["quick"]:
            print(write("quick-ladder", quick()))
        case ["primer"]:
            print(write("primer", primer()))
        case ["ladder", report, backwards, commit]:
            found = judged(Path(report), Path(backwards))
            kept = write_brought("ladder", found, where="h200", commit=commit)
            LADDER.write_text(newest_page(), encoding="utf-8")
            for name, drawn in PICTURES.items():
                shutil.copy(
                    Path(report).parent / "figures" / drawn, LADDER.parent / "ladder" / name
                )
            print(kept, LADDER)
        case ["serving", model, *seconds]:
            from benchmarks.serving_benchmark import serving

            print(write("serving", serving(Path(model), *map(float, seconds))))
        case ["exact", *folder]:
            import torch

            from benchmarks.bitwise_repeatability import exact

            card = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
            place = Path(*folder) if folder else RESULTS
            for found in exact():
                print(write_beside("exact", found, accelerator=card, folder=place))
        case ["soaks"]:
            from benchmarks.soaks import soaks

            for found in soaks():
                print(write("soaks", found))
            sys.exit(max(found["exits"].values()))
        case ["recipes", folder]:
            print(write("recipes", recipes(Path(folder))))
        case ["failures", *numbers]:
            from benchmarks.goodput_under_failures import failures

            print(write("failures", failures(*map(float, numbers))))
        case ["tables"]:
            from benchmarks.speed.tables import write_page

            print(write_page())
        case ["keep", folder, commit]:
            print(*keep(Path(folder), commit), sep="\n")
        case [kind, *words] if kind in SPEED:
            from benchmarks.speed.driver import main

            main([kind, *words])
        case _:
            sys.exit(__doc__)
