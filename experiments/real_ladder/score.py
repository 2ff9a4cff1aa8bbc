"""Scores of the real ladder over seeds: BLEU by length with intervals, significance, perplexity."""

import json
import tarfile
from collections import defaultdict
from collections.abc import Mapping, Sequence
from itertools import combinations
from math import exp
from pathlib import Path
from statistics import mean
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from benchmarks.real_ladder import outcomes
from benchmarks.report import write_imported
from dhyan.compare.evaluate import FILE as RESULT
from dhyan.compare.plan import Plan
from dhyan.compare.shared_corpus import open_shared
from dhyan.compare.test_sets import EvaluationSet, read_tests
from dhyan.evaluation.metrics import Counts, count
from dhyan.evaluation.slices import slice_rows
from experiments.real_corpora.measure import summarize
from experiments.real_ladder.corpora import CORPORA, prepared_plan
from experiments.real_ladder.train import ENVIRONMENT, METRICS

RESAMPLES, RANDOM_SEED = 1000, 12345
Runs = dict[str, dict[str, dict[int, dict[str, Any]]]]
"""Results by corpus, model and seed."""
Samples = Float[np.ndarray, "M K R"]
"""Scores of M models with K seeds each on R resamples of the test set."""


def write_scores(archives: Sequence[Path], prepared: Path, commit: str, folder: Path) -> Path:
    """Score the runs of some archives, and write the result file."""
    runs, environment = read_archives(archives)
    figures = score_runs(runs, prepared)
    gpu = environment["machine"]["gpu"]
    where = gpu.split()[-1].lower() if gpu else "cpu"
    return write_imported(
        "real-ladder", {**environment, **figures}, where=where, commit=commit, folder=folder
    )


def read_archives(archives: Sequence[Path]) -> tuple[Runs, dict[str, Any]]:
    """The results of all finished runs, and the machine and versions of one of them."""
    runs: Runs = defaultdict(lambda: defaultdict(dict))
    environment: dict[str, Any] = {}
    for archive in archives:
        with tarfile.open(archive) as tar:
            for member in tar.getmembers():
                run, _, file = member.name.rpartition("/")
                if file == RESULT:
                    corpus, _, name = run.partition("/")
                    model, _, seed = name.rpartition("-")
                    trained = _trained_tokens(_read(tar, f"{run}/{METRICS}"))
                    result = json.loads(_read(tar, member.name))
                    runs[corpus][model][int(seed)] = {**result, "trained_tokens": trained}
                    environment = json.loads(_read(tar, f"{run}/{ENVIRONMENT}"))
    return runs, environment


def _read(tar: tarfile.TarFile, name: str) -> str:
    file = tar.extractfile(name)
    assert file is not None
    return file.read().decode()


def _trained_tokens(metrics: str) -> int:
    """Target tokens of all steps."""
    events = map(json.loads, metrics.splitlines())
    return sum(event["tokens"] for event in events if event["event"] == "stepped")


def score_runs(runs: Runs, prepared: Path) -> dict[str, Any]:
    """The figures of every corpus, and the outcomes of the predictions.

    Seeds that some model of a corpus lacks are left out.
    """
    figures: dict[str, Any] = {
        "command": "python -m experiments.real_ladder train",
        "resamples": RESAMPLES,
        "corpora": {
            corpus: score_corpus(corpus, prepared / corpus, by_model)
            for corpus, by_model in runs.items()
        },
    }
    return {"predictions": outcomes(figures), **figures}


def score_corpus(
    corpus: str, folder: Path, by_model: Mapping[str, Mapping[int, dict[str, Any]]]
) -> dict[str, Any]:
    """The figures of a corpus from the results by model and seed; `folder` is the prepared one."""
    plan, test_set = prepared_plan(folder, folder), read_tests(folder).main
    names = [entry.name for entry in plan.entries if entry.name in by_model]
    seeds = sorted(set.intersection(*(set(by_model[name]) for name in names)))
    results = [[by_model[name][seed] for seed in seeds] for name in names]
    language = CORPORA[corpus].target
    counts = [[_counts(result, test_set, language) for result in by_seed] for by_seed in results]
    bleu = [[metrics["bleu"] for metrics in by_seed] for by_seed in counts]
    chrf = [[metrics["chrf"] for metrics in by_seed] for by_seed in counts]
    sampler = Sampler(len(names), len(seeds))
    samples = sampler.seed_means(sampler.scores(bleu))
    lengths = [len(example.source.split()) for example in test_set.examples]
    groups = slice_rows(lengths, CORPORA[corpus].lengths)
    by_group = [
        [[metric.of(group.rows) for metric in by_seed] for by_seed in bleu] for group in groups
    ]
    group_samples = [sampler.seed_means(sampler.scores(counts)) for counts in by_group]
    words = sum(len(example.target.split()) + 1 for example in test_set.examples)
    models = {}
    for row, (name, by_seed) in enumerate(zip(names, results, strict=True)):
        entry = plan.entry(name)
        models[name] = {
            "about": entry.about,
            "parameters": entry.parameters,
            "bleu": _with_interval(bleu[row], samples[row]),
            "chrf": summarize([metric.value() for metric in chrf[row]]),
            "perplexity": summarize([result["perplexity"] for result in by_seed]),
            "perplexity_per_word": summarize([exp(result["loss"] / words) for result in by_seed]),
            "by_length": [
                {
                    "least": group.least,
                    "most": group.most or max(lengths),
                    "sentences": len(group.rows),
                    "bleu": round(mean(metric.value() for metric in by_group[number][row]), 2),
                    **_interval(group_samples[number][row]),
                }
                for number, group in enumerate(groups)
            ],
            "positions": [
                summarize_shares([result["positions"]["shares"][part] for result in by_seed])
                for part in range(results[0][0]["positions"]["parts"])
            ],
            "cut_off": [
                next(iter(result["translations"].values()))["cut_off"] for result in by_seed
            ],
            "best_steps": [result["best_step"] for result in by_seed],
            "training_seconds": [round(result["training_seconds"], 1) for result in by_seed],
        }
    return {
        **_conditions(plan, test_set, results[0][0]),
        "seeds": seeds,
        "signatures": {key: metric.signature() for key, metric in counts[0][0].items()},
        "models": models,
        "differences": [
            {
                "model": names[first],
                "other": names[second],
                **_difference(bleu[first], bleu[second], samples[first] - samples[second]),
            }
            for first, second in combinations(range(len(names)), 2)
        ],
    }


def _counts(result: Mapping[str, Any], test_set: EvaluationSet, language: str) -> dict[str, Counts]:
    references = [example.target for example in test_set.examples]
    texts = result["translations"][test_set.name]["texts"]
    return count(texts, references, language=language, metrics=("bleu", "chrf"))


def _conditions(plan: Plan, test_set: EvaluationSet, result: Mapping[str, Any]) -> dict[str, Any]:
    """What all models of a corpus have in common."""
    recipe = plan.entries[0].recipe
    corpus = open_shared(recipe)
    pairs, tokens = sum(corpus.manifest["sizes"]), corpus.manifest["tokens"]["target"]
    return {
        "pairs": pairs,
        "epochs": round(result["trained_tokens"] / (tokens - pairs), 1),  # BOS is no label
        "vocabulary": [len(tokenizer) for tokenizer in corpus.tokenizers],
        "steps": result["steps"],
        "tokens_per_batch": recipe.training.tokens_per_batch,
        "precision": recipe.training.precision,
        "dropout": recipe.decoder.dropout,
        "beam": result["beam"],
        "test_sentences": len(test_set.examples),
        "test_words": sum(len(example.source.split()) for example in test_set.examples),
    }


class Sampler:
    """Draws the same resamples of a test set for every model, and seeds for each.

    Both are drawn with replacement (Koehn, 2004, for the sentences), so that an interval holds the
    variation of the test and of training.
    """

    def __init__(self, models: int, seeds: int) -> None:
        generator = np.random.default_rng(RANDOM_SEED)
        self.seeds = generator.integers(seeds, size=(models, RESAMPLES, seeds))

    def scores(self, counts: Sequence[Sequence[Counts]]) -> Samples:
        """Scores of every model and seed on the same resamples."""
        sentences = counts[0][0].sentences
        drawn = np.random.default_rng(RANDOM_SEED).choice(sentences, size=(RESAMPLES, sentences))
        selections = np.stack([np.bincount(row, minlength=sentences) for row in drawn])
        return np.array([[metric.values(selections) for metric in by_seed] for by_seed in counts])

    def seed_means(self, scores: Samples) -> Float[np.ndarray, "M R"]:
        """Means over the seeds drawn for each resample."""
        picked: Int[np.ndarray, "M K R"] = self.seeds.transpose(0, 2, 1)
        return np.take_along_axis(scores, picked, axis=1).mean(axis=1)


def _with_interval(counts: Sequence[Counts], samples: Float[np.ndarray, " R"]) -> dict[str, Any]:
    return {**summarize([metric.value() for metric in counts]), **_interval(samples)}


def _interval(samples: Float[np.ndarray, " R"]) -> dict[str, float]:
    """The 95 % interval of resampled scores."""
    low, high = np.quantile(samples, (0.025, 0.975))
    return {"low": round(float(low), 2), "high": round(float(high), 2)}


def _difference(
    first: Sequence[Counts], second: Sequence[Counts], samples: Float[np.ndarray, " R"]
) -> dict[str, float]:
    """The difference of the mean scores, its interval, and a two-sided p value.

    p is the share of resampled differences, less their mean, that are as large as the observed one.
    """
    value = mean(metric.value() for metric in first) - mean(metric.value() for metric in second)
    as_large = int(np.sum(np.abs(samples - samples.mean()) >= abs(value)))
    p = (as_large + 1) / (len(samples) + 1)
    return {"value": round(value, 2), **_interval(samples), "p": round(p, 4)}


def summarize_shares(shares: Sequence[float]) -> dict[str, Any]:
    """Mean and values of the seeds."""
    return {"mean": round(mean(shares), 4), "values": [round(share, 4) for share in shares]}
