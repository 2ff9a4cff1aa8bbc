"""Stacked LSTMs of one, two and four layers of equal width: BLEU by depth, data size and length.

An encoder-decoder without attention and one with Luong's, on few pairs and on many. The learning
rate of every combination is the better of two by validation chrF++ of the first seed; the other
seeds train with that one. `measure_depth` trains and scores what its folder lacks.
"""

import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from functools import partial
from itertools import product
from multiprocessing import get_context
from pathlib import Path
from statistics import mean, stdev
from typing import Any

import torch

from benchmarks.report import write_device_result
from dhyan import load
from dhyan.compare.test_sets import EvaluationSet, Sizes, primer_tests
from dhyan.evaluation.metrics import count
from dhyan.evaluation.slices import by_length
from dhyan.run.evaluate import translate_test_set
from experiments.snapshots import train_run

MODELS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "no attention": ("sutskever2014-small", {"encoder.reverse_source": False}),
    "luong": (
        "luong2015-small",
        {"encoder.bidirectional": False, "decoder.input_feeding": False},
    ),
}
LAYERS, PAIRS, SEEDS, RATES = (1, 2, 4), (2_000, 50_000), (1, 2, 3), (1e-3, 3e-3)
WIDTH, LONGEST, CORE, STEPS = 256, 30, 0.3, 2000  # LONGEST in words; CORE: share of the primer's
EACH_LENGTH = 100  # test sentences of each group of lengths
SETTINGS = {
    **{
        f"{side}.{key}": WIDTH
        for side in ("encoder", "decoder")
        for key in ("width", "embedding_width")
    },
    "data.synthetic": "primer",
    "data.max_words": LONGEST,
    "data.core_share": CORE,
    "text.tokenizer": "words",
    "text.source_vocabulary_size": 6000,
    "text.target_vocabulary_size": 8000,
    "training.tokens_per_batch": 4096,
    "training.schedule": "cosine",
    "training.min_learning_rate_ratio": 0.02,
    "training.valid_sentences": 100,
    "training.keep_checkpoints": 1,
}


@dataclass(frozen=True)
class Setup:
    """A model to train: which one, with how many layers, on how many pairs, how and from which seed."""

    model: str
    layers: int
    pairs: int
    rate: float
    seed: int

    @property
    def name(self) -> str:
        """The name of its run's folder."""
        model = self.model.replace(" ", "-")
        return f"{model}-l{self.layers}-{self.pairs}-r{self.rate:g}-s{self.seed}"

    def run(self, steps: int = STEPS) -> tuple[str, Mapping[str, Any]]:
        """Its recipe, and the settings laid over it."""
        recipe, settings = MODELS[self.model]
        return recipe, {
            **SETTINGS,
            **settings,
            "encoder.layers": self.layers,
            "decoder.layers": self.layers,
            "data.pairs": self.pairs,
            "training.steps": steps,
            "training.warmup_steps": max(1, steps // 10),
            "training.validate_every": max(1, steps // 4),
            "training.save_every": max(1, steps // 2),
            "training.learning_rate": self.rate,
            "training.seed": self.seed,
        }


def measure_depth(
    folder: Path, out: Path, *, steps: int = STEPS, sentences: int = EACH_LENGTH, jobs: int = 0
) -> Path:
    """Train and score every setup, and write the result file into `out`."""
    start = time.monotonic()
    folder.mkdir(parents=True, exist_ok=True)
    test_set = primer_tests(
        longest=LONGEST, sizes=Sizes(sentences, 0, 0), core=CORE, splits=()
    ).main
    first, *others = SEEDS
    combinations = list(product(MODELS, LAYERS, PAIRS))
    with ProcessPoolExecutor(
        jobs or os.cpu_count(), get_context("spawn"), torch.set_num_threads, (1,)
    ) as pool:
        score = partial(_score_all, pool.map, folder, test_set, steps)
        tried = score(Setup(*parts, rate, first) for parts in combinations for rate in RATES)
        rates = {parts: best_rate(tried, *parts) for parts in combinations}
        scores = tried | score(
            Setup(*parts, rates[parts], seed) for parts in combinations for seed in others
        )
    figures = {
        "width": WIDTH,
        "longest": LONGEST,
        "steps": steps,
        "tokens_per_batch": SETTINGS["training.tokens_per_batch"],
        "test_sentences": len(test_set.examples),
        "rates": RATES,
        "seeds": SEEDS,
        "seconds_of_last_call": round(time.monotonic() - start, 1),
        "rows": [
            row([scores[Setup(*parts, rates[parts], seed)] for seed in SEEDS], *parts)
            | {"learning_rate": rates[parts]}
            for parts in combinations
        ],
        "tried_rates": [
            {
                "model": setup.model,
                "layers": setup.layers,
                "pairs": setup.pairs,
                "learning_rate": setup.rate,
                "valid_chrf": scored["valid_chrf"],
                "bleu": scored["bleu"],
            }
            for setup, scored in tried.items()
        ],
    }
    gpu = torch.cuda.get_device_name() if torch.cuda.is_available() else ""
    return write_device_result("depth", figures, accelerator=gpu, folder=out)


Scores = Mapping[str, Any]


def _score_all(
    each: Callable[..., Iterable[Scores]],
    folder: Path,
    test_set: EvaluationSet,
    steps: int,
    setups: Iterable[Setup],
) -> dict[Setup, Scores]:
    """The largest models first, so that none is left alone at the end."""
    ordered = sorted(setups, key=lambda setup: -setup.layers)
    return dict(
        zip(ordered, each(partial(train_and_score, folder, test_set, steps), ordered), strict=True)
    )


def train_and_score(folder: Path, test_set: EvaluationSet, steps: int, setup: Setup) -> Scores:
    """Train a model if its folder lacks it, and score its best checkpoint on the test set."""
    run = folder / setup.name
    kept = run / "scores.json"
    if not kept.exists():
        train_run(run, *setup.run(steps))
        kept.write_text(json.dumps(_score(run, test_set)), encoding="utf-8")
    return dict(json.loads(kept.read_text(encoding="utf-8")))


def _score(run: Path, test_set: EvaluationSet) -> Scores:
    translator, references = load(run), test_set.reference_set()
    references.gold.clear()
    translations = translate_test_set(translator, run.name, references).texts
    counts = count(
        translations,
        references.references,
        others=references.others,
        language="hi",
        metrics=("bleu", "chrf"),
    )
    events = map(json.loads, (run / "metrics.jsonl").read_text(encoding="utf-8").splitlines())
    validations = [
        (event["step"], event["scores"]["chrf"])
        for event in events
        if event["event"] == "validated"
    ]
    return {
        "parameters": sum(weight.numel() for weight in translator.model.parameters()),
        "valid_chrf": max(chrf for _, chrf in validations),
        "valid_chrf_by_step": validations,
        "bleu": counts["bleu"].value(),
        "chrf": counts["chrf"].value(),
        "by_length": [
            {
                "least": part.least,
                "most": part.most,
                "sentences": part.sentences,
                "bleu": part.scores["bleu"].value,
            }
            for part in by_length({"bleu": counts["bleu"]}, references.sources)
            if part.sentences
        ],
    }


def best_rate(tried: Mapping[Setup, Scores], model: str, layers: int, pairs: int) -> float:
    """The learning rate of the best validation chrF++."""
    return max(
        RATES, key=lambda rate: tried[Setup(model, layers, pairs, rate, SEEDS[0])]["valid_chrf"]
    )


def row(scores: Sequence[Scores], model: str, layers: int, pairs: int) -> dict[str, Any]:
    """The scores of one combination: every seed's, their mean and standard deviation."""
    bleu = [scored["bleu"] for scored in scores]
    lengths = zip(*(scored["by_length"] for scored in scores), strict=True)
    return {
        "model": model,
        "layers": layers,
        "pairs": pairs,
        "parameters": scores[0]["parameters"],
        "bleu": bleu,
        "mean": mean(bleu),
        "deviation": stdev(bleu),
        "chrf": [scored["chrf"] for scored in scores],
        "valid_chrf_by_step": [scored["valid_chrf_by_step"] for scored in scores],
        "by_length": [
            {
                "least": parts[0]["least"],
                "most": parts[0]["most"],
                "sentences": parts[0]["sentences"],
                "bleu": [part["bleu"] for part in parts],
            }
            for parts in lengths
        ],
    }
