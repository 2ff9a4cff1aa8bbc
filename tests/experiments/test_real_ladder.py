"""The ladder on real corpora: prepared once, trained in a pool that resumes, scored over seeds."""

import json
import lzma
from dataclasses import replace
from itertools import islice

import numpy as np
import pytest

from benchmarks import real_ladder
from benchmarks.real_ladder_page import page
from dhyan.compare.ladder import LADDER
from dhyan.data.synthetic import number_pairs
from dhyan.evaluation.metrics import count
from experiments.real_ladder import corpora, score
from experiments.real_ladder.corpora import LadderCorpus, prepare_corpus, prepared_plan
from experiments.real_ladder.score import Sampler, read_archives, score_corpus
from experiments.real_ladder.train import LadderRun, train_all, unpack

CORPUS = LadderCorpus("numbers", "fr", "test", 0.1, 300, (1, 3))
RUNGS = ("bahdanau", "cho")


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """A prepared folder with a small corpus for two models."""
    folder = tmp_path_factory.mktemp("real-ladder")
    (folder / "data" / "numbers").mkdir(parents=True)
    numbers = islice(number_pairs(seed=1), 400)
    pairs = list(dict.fromkeys((pair.source, pair.target) for pair in numbers))
    for split, rows in (("train", pairs[40:]), ("valid", pairs[:20]), ("test", pairs[20:40])):
        for side, language in enumerate(("en", "fr")):
            with lzma.open(folder / "data" / "numbers" / f"{split}.{language}.xz", "wt") as file:
                file.write("".join(f"{row[side]}\n" for row in rows))
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(corpora.CORPORA, "numbers", CORPUS)
        patch.setattr(corpora, "LADDER", [rung for rung in LADDER if rung.name in RUNGS])
        patch.setattr(corpora, "PARAMETERS", 60_000)
        patch.setattr(corpora, "VOCABULARY_SIZE", 60)
        settings = corpora.PRESET.settings | {
            "text.tokenizer": "words",
            "training.tokens_per_batch": 400,
            "training.precision": "fp32",
            "decoding.max_length": 8,
        }
        patch.setattr(corpora, "PRESET", replace(corpora.PRESET, settings=settings))
        prepare_corpus("numbers", folder / "data", folder / "prepared" / "numbers")
    return folder / "prepared"


def ladder_runs(prepared, runs, seeds=(1, 2)):
    return [
        LadderRun(prepared / "numbers", runs / "numbers", rung, seed, 3, "cpu")
        for seed in seeds
        for rung in RUNGS
    ]


@pytest.fixture(scope="module")
def archive(prepared, tmp_path_factory):
    """The results of two models with two seeds."""
    folder = tmp_path_factory.mktemp("runs")
    path = folder / "results.tar.gz"
    assert train_all(ladder_runs(prepared, folder / "runs"), 2, 300, path) == []
    return path


def test_a_seed_changes_nothing_but_the_seed_and_the_steps(prepared):
    plan = prepared_plan(prepared / "numbers", prepared / "runs")
    entry = plan.entry("cho")
    seeded = corpora.seeded_entry(entry, seed=7, steps=90)
    training = seeded.recipe.training
    assert (seeded.name, training.seed, training.steps) == ("cho-7", 7, 90)
    assert (training.validate_every, training.save_every, training.warmup_steps) == (30, 30, 9)
    assert replace(seeded.recipe, training=entry.recipe.training) == entry.recipe


def test_finished_runs_are_taken_over_from_an_archive(prepared, archive, tmp_path):
    unpack(archive, tmp_path / "runs")
    runs = ladder_runs(prepared, tmp_path / "runs")
    assert all(run.finished for run in runs)
    before = (runs[0].folder / "result.json").stat().st_mtime_ns
    assert train_all(runs, 2, 300, tmp_path / "again.tar.gz") == []
    assert (runs[0].folder / "result.json").stat().st_mtime_ns == before
    assert read_archives([tmp_path / "again.tar.gz"]) == read_archives([archive])


def test_a_run_that_fails_leaves_the_others(prepared, tmp_path, capfd):
    good, bad = ladder_runs(prepared, tmp_path / "runs", seeds=(1,))
    bad = replace(bad, prepared=prepared / "nowhere")
    assert train_all([bad, good], 2, 300, tmp_path / "results.tar.gz") == [bad.name]
    assert good.finished
    assert "nowhere" in capfd.readouterr().out
    results, _ = read_archives([tmp_path / "results.tar.gz"])
    assert set(results["numbers"]) == {good.rung}


def test_runs_stop_in_time(prepared, tmp_path):
    runs = ladder_runs(prepared, tmp_path / "runs")
    assert train_all(runs, 1, 0, tmp_path / "results.tar.gz") == [run.name for run in runs]


def test_scores_are_those_of_the_translations(prepared, archive, monkeypatch):
    monkeypatch.setitem(corpora.CORPORA, "numbers", CORPUS)
    runs, environment = read_archives([archive])
    figures = score_corpus("numbers", prepared / "numbers", runs["numbers"])
    assert environment["machine"]["device"] == "cpu"
    assert (figures["seeds"], figures["steps"], figures["test_sentences"]) == ([1, 2], 3, 20)
    assert set(figures["models"]) == set(RUNGS)
    assert len(figures["differences"]) == 1
    tests = json.loads((prepared / "numbers" / "tests.json").read_text())["sets"][0]["examples"]
    references = [example["target"] for example in tests]
    for name, model in figures["models"].items():
        values = [
            count(result["translations"]["test"]["texts"], references, language="fr")[
                "bleu"
            ].value()
            for result in runs["numbers"][name].values()
        ]
        assert model["bleu"]["values"] == [round(value, 2) for value in values]
        assert sum(group["sentences"] for group in model["by_length"]) == 20


def test_intervals_hold_the_variation_of_the_sentences_and_of_the_seeds():
    references = [f"a{n} b{n} c{n} d{n} e{n}" for n in range(30)]
    half = [text if n % 2 else "x" for n, text in enumerate(references)]
    right, wrong = (
        count(texts, references, metrics=("bleu",))["bleu"] for texts in (references, half)
    )
    sampler = Sampler(models=3, seeds=2)
    scores = sampler.scores([[right, right], [wrong, wrong], [right, wrong]])
    assert scores.shape == (3, 2, score.RESAMPLES)
    means = sampler.seed_means(scores)
    assert np.allclose(means[0], 100)
    assert 0 < means[1].std() < means[2].std()
    same = score._difference([wrong], [wrong], means[1] - means[1])
    assert (same["value"], same["p"]) == (0, 1)
    apart = score._difference([right], [wrong], means[0] - means[1])
    assert apart["low"] > 0
    assert apart["p"] < 0.01


def made_up_figures():
    """Figures in which every model of a corpus scores as far as it is up the ladder."""
    names = [rung.name for rung in LADDER]

    def model(rank):
        score = {"mean": 10.0 + rank, "standard_deviation": 0.1, "low": 9.0 + rank, "high": 12.0}
        groups = [
            {
                "least": low,
                "most": low + 3,
                "sentences": 9,
                "bleu": 20 - low + rank,
                "low": 1,
                "high": 30,
            }
            for low in (1, 5)
        ]
        share = 0.5 + rank / 100
        shares = [{"mean": share, "values": [share]} for _ in range(5)]
        return {"parameters": 6_000_000, "bleu": score, "chrf": score, "perplexity": score} | {
            "perplexity_per_word": score,
            "by_length": groups,
            "positions": shares,
            "training_seconds": [60.0],
            "best_steps": [10],
        }

    corpus = {
        "seeds": [1, 2, 3],
        "pairs": 1000,
        "steps": 10,
        "epochs": 2.0,
        "dropout": 0.1,
        "test_sentences": 9,
        "test_words": 30,
        "vocabulary": [100, 100],
        "beam": 4,
        "tokens_per_batch": 100,
        "signatures": {"bleu": "b", "chrf": "c"},
        "models": {name: model(rank) for rank, name in enumerate(names)},
        "differences": [
            {"model": a, "other": b, "value": -1.0, "p": 0.01}
            for n, a in enumerate(names)
            for b in names[n + 1 :]
        ],
    }
    return {"resamples": 1000, "corpora": dict.fromkeys(real_ladder.CORPORA, corpus)}


def test_the_page_has_a_row_for_every_model_and_every_prediction():
    figures = made_up_figures()
    figures["predictions"] = real_ladder.outcomes(figures)
    assert {outcome["held"] for outcome in figures["predictions"]} == {True, False}
    text = page({"figures": figures, "machine": {"gpu": "GPU"}, "commit": "c0ffee00"}, "file.json")
    for rung in LADDER:
        assert text.count(f"\n| {rung.name} |") == 3
    assert text.count("held: ") + text.count("did not hold**: ") == len(real_ladder.PREDICTIONS)
    assert "bottleneck-reversed − bottleneck-forward | source reversed | +1.0 (p 0.010)" in text
