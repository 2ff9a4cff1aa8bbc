"""The experiment on depth: equal width, a learning rate chosen on validation, a readable result."""

from itertools import product

import pytest

from dhyan.config import load_recipe
from dhyan.lessons.sequences.stacked_depth import read_depth
from experiments.depth import LAYERS, MODELS, PAIRS, RATES, SEEDS, WIDTH, Setup, best_rate, row


@pytest.mark.parametrize(("model", "layers"), list(product(MODELS, LAYERS)))
def test_models_differ_in_depth_alone(model, layers):
    recipe, settings = Setup(model, layers, PAIRS[0], RATES[0], SEEDS[0]).run()
    loaded = load_recipe(recipe, settings)
    for side in (loaded.encoder, loaded.decoder):
        assert (side.layers, side.width, side.embedding_width) == (layers, WIDTH, WIDTH)
        assert side.cell == "lstm"
    assert not loaded.encoder.reverse_source
    assert loaded.decoder.attends == (model == "luong")
    shallow = load_recipe(*Setup(model, 1, PAIRS[0], RATES[0], SEEDS[0]).run())
    assert loaded.training == shallow.training


def test_every_setup_has_a_folder_of_its_own():
    setups = [Setup(*parts) for parts in product(MODELS, LAYERS, PAIRS, RATES, SEEDS)]
    assert len({setup.name for setup in setups}) == len(setups)


def test_the_rate_is_the_one_of_the_best_validation_not_of_the_best_test():
    scores = {RATES[0]: (50.0, 10.0), RATES[1]: (40.0, 30.0)}
    tried = {
        Setup("luong", 2, 2000, rate, SEEDS[0]): {"valid_chrf": valid, "bleu": test}
        for rate, (valid, test) in scores.items()
    }
    assert best_rate(tried, "luong", 2, 2000) == RATES[0]


def test_the_lesson_reads_what_the_experiment_writes():
    scored = [
        {
            "parameters": 5,
            "bleu": bleu,
            "chrf": bleu,
            "valid_chrf_by_step": [(1, bleu)],
            "by_length": [{"least": 1, "most": 5, "sentences": 3, "bleu": bleu}],
        }
        for bleu in (10.0, 12.0, 14.0)
    ]
    rows = [row(scored, model, layers, pairs) | {"learning_rate": 0.001}
            for model, layers, pairs in product(MODELS, LAYERS, PAIRS)]  # fmt: skip
    assert (rows[0]["mean"], rows[0]["deviation"]) == (12, 2)
    figures = {"width": 1, "steps": 1, "longest": 30, "test_sentences": 3, "rates": RATES}
    depth = read_depth("r", {**figures, "rows": rows})
    assert depth.of("luong", PAIRS[-1], 4).by_length == ((10.0, 12.0, 14.0),)
