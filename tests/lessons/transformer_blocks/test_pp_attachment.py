"""One head against several: the exact test, what is claimed of it, and runs that are asked."""

import shutil
from dataclasses import replace
from itertools import product

import pytest
import torch

from dhyan.config import load_recipe
from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.pp_attachment import (
    HeadsRun,
    PPAttachment,
    pp_attachment,
    sign_flip_p_value,
)
from dhyan.run import train
from experiments.pp_attachment import (
    SEEDS,
    STEPS,
    TRACED_RUN,
    encoder_heads_snapshot,
    evaluate_heads,
    gravity_snapshot,
    runs,
)
from tests.lessons.untrained_models import primer_translator
from tests.tiny_models import OFTEN, SIZES, tiny_recipe, write_corpus

SINGLE, SEVERAL = (1,), (2, 4, 8)


def made_up_runs(lead, seeds=6, *, base=0.8, steps=(1500,)):
    """Runs of which those with several heads are ahead by so much at each seed."""
    head_runs = [
        HeadsRun(heads, seed, length, 0.9, base + (heads > 1) * lead(seed), 50.0 + heads)
        for length, heads, seed in product(steps, SINGLE + SEVERAL, range(1, seeds + 1))
    ]
    return PPAttachment(tuple(head_runs), "X had it. X saw Y.", 80, 320, 300, "nrefs:1")


def flat(result, lang="en"):
    return " ".join(result.text(lang).split())


@pytest.mark.parametrize(
    ("differences", "p_value"),
    [
        ([1], 1),
        ([1, 2, 3], 2 / 8),
        ([0.1] * 6, 2 / 64),
        ([1, -1], 1),
        ([3, 1, -1], 6 / 8),
        ([0, 0, 0], 1),
    ],
)
def test_the_p_value_counts_all_sign_flips(differences, p_value):
    assert sign_flip_p_value(differences) == p_value
    assert sign_flip_p_value([-difference for difference in differences]) == p_value


def test_six_seeds_that_agree_allow_a_claim_in_either_direction():
    better = flat(made_up_runs(lambda seed: 0.1 + seed / 100))
    assert "several heads, pooled, are better than 1" in better
    assert "(p = 0.031)" in better
    assert "not told apart" not in better
    worse = flat(made_up_runs(lambda seed: -0.1 - seed / 100))
    assert "several heads, pooled, are worse than 1" in worse
    mixed = flat(made_up_runs(lambda seed: 0.1 if seed % 2 else -0.1))
    assert "an effect of the number of heads is not significant" in mixed


def test_three_seeds_allow_no_claim_however_they_agree():
    text = flat(made_up_runs(lambda seed: 0.1, seeds=3))
    assert (
        "With 3 seeds the smallest possible p-value is 0.25, so no difference can be significant"
        in text
    )
    assert "do better" not in text


def test_leads_are_computed_by_seed():
    result = made_up_runs(lambda seed: seed / 100)
    assert result.lead(1500, SEVERAL, "new_persons") == pytest.approx(
        [s / 100 for s in range(1, 7)]
    )
    assert result.lead(1500, [8], "bleu") == pytest.approx([7] * 6)
    fewer = replace(result, runs=result.runs[1:])
    assert fewer.lead(1500, SEVERAL, "new_persons") == pytest.approx([s / 100 for s in range(2, 7)])


def test_runs_at_the_ceiling_are_counted():
    text = flat(made_up_runs(lambda seed: 0.2))
    assert (
        "0 of 24 runs translate all of these correctly, and 18 all of the others. Differences"
        in text
    )
    assert "ceiling" not in flat(made_up_runs(lambda seed: 0.1))


def test_two_lengths_are_reported_in_order():
    result = made_up_runs(lambda seed: 0.1, steps=(1500, 3000))
    assert result.lengths == (1500, 3000)
    for lang, word in (("en", "accuracy after 3,000 steps, by seed"), ("hi", "3,000 चरणों के बाद")):
        assert word in flat(result, lang)


@pytest.mark.parametrize("missing", [[1], [2, 4, 8]])
def test_runs_without_a_counterpart_are_not_compared(missing):
    result = made_up_runs(lambda seed: 0.1)
    rest = tuple(run for run in result.runs if run.heads not in missing)
    text = flat(replace(result, runs=rest))
    assert ("only one number of heads" in text) == (missing == [2, 4, 8])


def test_initial_weights_do_not_depend_on_the_number_of_heads():
    single, several = (dict(primer_translator(heads).model.named_parameters()) for heads in (1, 4))
    assert all(torch.equal(weight, several[name]) for name, weight in single.items())
    assert not all(
        torch.equal(weight, single[name])
        for name, weight in primer_translator(1, seed=1).model.named_parameters()
    )


def test_the_trainings_differ_in_heads_seed_and_steps_alone():
    listed = runs()
    assert len(listed) == 1 + 4 * len(SEEDS)
    varied = (
        "encoder.heads",
        "decoder.heads",
        "training.seed",
        "training.steps",
        "training.save_every",
    )
    rest = [{k: v for k, v in sets.items() if k not in varied} for _, sets in listed.values()]
    assert all(settings_left == rest[0] for settings_left in rest)
    recipe, overrides = listed["h8-s1"]
    recipe_8 = load_recipe(recipe, overrides)
    assert (recipe_8.encoder.heads, recipe_8.encoder.width, recipe_8.training.steps) == (
        8,
        128,
        STEPS,
    )
    longer = load_recipe(*listed[TRACED_RUN]).training
    assert longer.steps > STEPS


def test_the_snapshot_has_the_runs():
    result = pp_attachment()
    assert result.provenance is not None
    assert {run.heads for run in result.runs} >= {1, 8}
    assert result.new_persons >= 300
    assert result.runs == pp_attachment("snapshot").runs
    assert "On their own, 2 and 4 heads do not differ significantly from 1." in flat(result)
    assert "अकेले 2 और 4 हेड का 1 हेड से अंतर सार्थक नहीं है।" in flat(result, "hi")
    for arguments in ({}, {"models": "snapshot"}):
        with pytest.raises(
            UserError, match="sentences: the runs of the snapshot were asked their own; give mod"
        ):
            pp_attachment(**arguments, sentences=20)


@pytest.fixture(scope="module")
def trained(tmp_path_factory):
    """Two runs of a few steps on the primer, with one head and with two."""
    folder = tmp_path_factory.mktemp("runs")
    _, settings = runs()["h1-s1"]
    for heads in (1, 2):
        run_settings = {
            **settings,
            **SIZES["transformer"],
            **OFTEN,
            "text.source_vocabulary_size": 3000,
            "text.target_vocabulary_size": 3000,
            "data.pairs": 4000,
            "training.steps": 4,
            "training.warmup_steps": 1,
            "encoder.heads": heads,
            "decoder.heads": heads,
            "decoding.beam": 1,
            "decoding.max_length": 12,
        }
        list(
            train(
                load_recipe("transformer2017-small", run_settings), folder / f"h{heads}", threads=1
            )
        )
    return folder


@pytest.mark.slow
def test_runs_of_a_folder_are_tested_on_the_same_sentences(trained):
    lines = []
    result = pp_attachment(trained, sentences=6, on_progress=lines.append)
    assert [(run.heads, run.seed, run.steps) for run in result.runs] == [(1, 1, 4), (2, 1, 4)]
    assert result.new_persons == 6
    assert result.held_out > 40
    assert len(lines) == 2
    assert result.signature
    assert all(0 <= run.new_persons <= 1 and 0 <= run.held_out <= 1 for run in result.runs)
    named = pp_attachment([trained / "h2", trained / "h1"], sentences=6)
    assert named.runs == result.runs


@pytest.mark.soak
def test_the_experiment_makes_the_snapshot_of_runs(trained, monkeypatch, tmp_path):
    for name, value in (("SENTENCES", 5), ("PAIRS", 4), ("TEST_SENTENCES", 6)):
        monkeypatch.setattr(f"experiments.pp_attachment.{name}", value)
    assert len(evaluate_heads(trained).runs) == 2
    assert encoder_heads_snapshot(trained / "h2").phrase_heads.pairs == 2
    assert gravity_snapshot(trained / "h2").states.shape[1] == 0
    mixed = tmp_path / "mixed"  # with other runs beside those that are listed
    shutil.copytree(trained / "h1", mixed / "h1-s1")
    shutil.copytree(trained / "h2", mixed / "other")
    assert [run.heads for run in evaluate_heads(mixed).runs] == [1]


@pytest.mark.soak
def test_runs_that_are_not_alike_are_errors(trained, tmp_path):
    files = write_corpus(tmp_path)
    for family in ("rnn", "transformer"):
        list(train(tiny_recipe(family, *files), tmp_path / family, threads=1))
    with pytest.raises(UserError, match="has no heads; give runs of a Transformer"):
        pp_attachment([trained / "h1", tmp_path / "rnn"])
    with pytest.raises(
        UserError, match=r"differ in \[data\]; give runs that differ in heads, seed"
    ):
        pp_attachment([trained / "h1", tmp_path / "transformer"])
    with pytest.raises(UserError, match="two runs have the same heads, seed and steps"):
        pp_attachment([trained / "h1", trained / "h1"])
    with pytest.raises(UserError, match="sentences is 1: give a whole number of at least 2"):
        pp_attachment(trained, sentences=1)
    with pytest.raises(UserError, match="models: give at least one run's folder"):
        pp_attachment([])
    with pytest.raises(UserError, match="no such model folder"):
        pp_attachment(tmp_path / "nowhere")
