"""What a recipe implies of its weights is known without building the model, for every model."""

from dataclasses import asdict, replace

import pytest
import torch

from dhyan import config
from dhyan.config import load_recipe, shipped_recipes
from dhyan.config.settings import settings_of
from dhyan.errors import UserError
from dhyan.model_check import training_state as state
from dhyan.model_check import weight_shapes as weights
from dhyan.model_check.score_shapes import SCORES
from dhyan.models.build import build_model
from dhyan.run.load import weights_of
from dhyan.training.state import TrainState
from tests.laws.family import BUILT_IN, DECODERS, ENCODERS, MODELS

SIZES = (14, 17)


def built(recipe, sizes):
    """The shapes of the real model's weights, which take no room."""
    with torch.device("meta"):
        model = build_model(recipe, *sizes)
    return {name: tuple(weight.shape) for name, weight in weights_of(model).items()}


def recipe_of(encoder, decoder):
    return config.Recipe(
        encoder=ENCODERS[encoder],
        decoder=DECODERS[decoder],
        data=config.Data(max_tokens=40),
        text=config.Text(shared_vocabulary=True),
    )


@pytest.mark.parametrize(("encoder", "decoder"), MODELS[::3])
def test_the_weights_of_a_model_are_foreseen(encoder, decoder):
    recipe = recipe_of(encoder, decoder)
    assert weights.weights_of(recipe, *SIZES) == built(recipe, SIZES)


@pytest.mark.parametrize("name", shipped_recipes())
def test_the_weights_of_every_shipped_recipe_are_foreseen(name):
    recipe = load_recipe(name)
    assert weights.weights_of(recipe, *SIZES) == built(recipe, SIZES)


def test_all_that_a_run_keeps_of_itself_is_known_to_be_kept():
    kept = asdict(
        TrainState(
            step=3, best_step=2, best_score=1.5, best_scheduled_score=2.5, scores={"loss": 2.5}
        )
    )
    state.check_progress(kept, 3)
    for name in kept:
        with pytest.raises(UserError):
            state.check_progress({**kept, name: "text"}, 3)


@pytest.mark.soak
def test_the_weights_of_every_pair_of_halves_are_foreseen():
    compared = 0
    for encoder in ENCODERS:
        for decoder in DECODERS:
            recipe = recipe_of(encoder, decoder)
            try:
                wanted = built(recipe, SIZES)
            except UserError:
                continue
            assert weights.weights_of(recipe, *SIZES) == wanted, (encoder, decoder)
            compared += 1
    assert compared > 1000


def test_every_whole_number_that_bounds_work_has_an_upper_bound():
    recipe = load_recipe("bahdanau2015-small")
    for room in ("decoding", "data"):
        for name, setting in settings_of(getattr(recipe, room)).items():
            if setting.type is int and name != "seed":
                assert setting.high < 2**40, f"{room}.{name}"
                settings = replace(getattr(recipe, room), **{name: setting.high + 1})
                with pytest.raises(UserError, match=f"{room}.{name}: .* too large"):
                    replace(recipe, **{room: settings}).check()


def test_every_mechanism_of_our_own_is_foreseen():
    assert set(SCORES) == set(BUILT_IN)
