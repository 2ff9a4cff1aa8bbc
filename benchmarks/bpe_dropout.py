"""BPE dropout: what it costs a training, several side by side, and how fast it segments alone."""

import lzma
import os
from collections.abc import Sequence
from itertools import islice
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

import numpy as np
import torch

from benchmarks.training_worker import TrainingWorker
from dhyan.data.primer import generate_sentences
from dhyan.seeds import derive_seeds
from dhyan.text.bpe_dropout import MergeDropout
from dhyan.text.compiled_bpe_dropout import has_library
from dhyan.text.tokenizer import Tokenizer

PROB, ALLOWED_COST = 0.1, 0.05  # of the probability that a merge is dropped; of the throughput
VARIANTS: dict[str, dict[str, Any]] = {
    "without dropout": {"prob": 0.0, "compiled": True},
    "dropout": {"prob": PROB, "compiled": True},
    "dropout in Python": {"prob": PROB, "compiled": False},
}
RECIPES = {"cuda": "transformer-10k-pairs", "cpu": "transformer2017-small"}
SIDE_BY_SIDE = {"cuda": 3, "cpu": 1}
REPORT_EVERY = {"cuda": 25, "cpu": 2}  # steps
VOCABULARY, MAX_LENGTH = 6000, 250
SENTENCES = 20_000  # at most, that are segmented alone
PRIMER_PAIRS = 20_000


def bpe_dropout(data: Path | None, rounds: int, seconds: float) -> dict[str, Any]:
    """Throughput of every variant in bursts of so many seconds, the variants in turn.

    `data` has train and valid as .en.xz and .hi.xz; without it the primer is trained on.
    """
    device = "cuda" if torch.cuda.is_available() else "cpu"
    bursts = train_in_turn(device, data, rounds, seconds)
    summary = {name: round(median(map(sum, values))) for name, values in bursts.items()}
    cost = 1 - summary["dropout"] / summary["without dropout"]
    return {
        "unit": "target tokens per second, of all trainings together: median of the rounds",
        "corpus": data.name if data else "primer",
        "recipe": RECIPES[device],
        "side_by_side": SIDE_BY_SIDE[device],
        "prob": PROB,
        "compiled": has_library(),
        "load_average": os.getloadavg(),
        "training": summary,
        "cost": round(cost, 4),
        "bursts": {
            name: [[*map(round, burst)] for burst in values] for name, values in bursts.items()
        },
        "segmentation": {
            "unit": "sampled tokens per second",
            **{
                side: segmentation(sentences)
                for side, sentences in zip(("en", "hi"), read_sentences(data), strict=True)
            },
        },
        "misses": [f"dropout costs {cost:.1%}"] if cost > ALLOWED_COST else [],
    }


def train_in_turn(
    device: str, data: Path | None, rounds: int, seconds: float
) -> dict[str, list[list[float]]]:
    """For every variant and round, the throughput of each training side by side."""
    workers = {
        name: [
            TrainingWorker(
                RECIPES[device],
                {**corpus_settings(data), **settings(device, variant["prob"], seed)},
                device=device,
                compiled=variant["compiled"],
            )
            for seed in range(SIDE_BY_SIDE[device])
        ]
        for name, variant in VARIANTS.items()
    }
    bursts: dict[str, list[list[float]]] = {name: [] for name in VARIANTS}
    try:
        for number in range(rounds + 1):
            for name, group in workers.items():
                for worker in group:
                    worker.start(seconds)
                results = [worker.result() for worker in group]
                print(f"round {number} of {rounds}, {name}: {results}", flush=True)
                if number:  # the first compiles kernels and captures graphs
                    bursts[name].append(results)
    finally:
        for group in workers.values():
            for worker in group:
                worker.close()
    return bursts


def settings(device: str, prob: float, seed: int) -> dict[str, Any]:
    """What every variant is trained with."""
    return {
        "text.tokenizer": "bpe",
        "text.bpe_dropout": prob,
        "training.seed": seed,
        "training.report_every": REPORT_EVERY[device],
    }


def corpus_settings(data: Path | None) -> dict[str, Any]:
    """The settings that name the corpus."""
    if data is None:
        return {"data.synthetic": "primer", "data.pairs": PRIMER_PAIRS}
    return {
        "data.drop_leaks": True,
        "data.source": str(data / "train.en.xz"),
        "data.target": str(data / "train.hi.xz"),
        "data.valid_source": str(data / "valid.en.xz"),
        "data.valid_target": str(data / "valid.hi.xz"),
    }


def read_sentences(data: Path | None) -> tuple[list[str], list[str]]:
    """Sentences of both sides of the corpus."""
    if data is None:
        pairs = list(islice(generate_sentences("train"), SENTENCES))
        return [pair.english for pair in pairs], [pair.hindi for pair in pairs]
    sides = []
    for side in ("en", "hi"):
        with lzma.open(data / f"train.{side}.xz", "rt", encoding="utf-8") as lines:
            sides.append([line for line in islice(lines, SENTENCES) if line.strip()])
    return sides[0], sides[1]


def segmentation(sentences: Sequence[str]) -> dict[str, int]:
    """Sampled tokens per second: in the first epoch, which spells the words, and in later ones."""
    tokenizer = Tokenizer.train(sentences, kind="bpe", size=VOCABULARY)
    sequences = tokenizer.encode_batch(sentences)
    ids = np.array([id for sequence in sequences for id in sequence], np.int32)
    offsets = np.cumsum([0, *map(len, sequences)])
    figures = {}
    for name, compiled, epochs in (("compiled", True, 10), ("Python", False, 2)):
        dropout, speeds = MergeDropout(tokenizer, PROB, compiled=compiled), []
        for epoch in range(epochs):
            seeds = derive_seeds(1, epoch, np.arange(len(sequences)).astype(np.uint64))
            start = perf_counter()
            sampled, _ = dropout.resegment(
                ids, offsets[:-1], offsets[1:], seeds, max_length=MAX_LENGTH
            )
            speeds.append(len(sampled) / (perf_counter() - start))
        figures |= {f"{name}, first": round(speeds[0]), name: round(median(speeds[1:]))}
    return figures
