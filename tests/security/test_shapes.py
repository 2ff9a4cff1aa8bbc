"""What a recipe implies of its weights is known without building the model, for every model."""

from contextlib import nullcontext
from dataclasses import asdict, fields, replace

import pytest
import torch

from dhyan import config
from dhyan.config import load_recipe, shipped_recipes
from dhyan.errors import UserError
from dhyan.model_check import match_recipe as fitting
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


def test_every_whole_number_that_bounds_work_is_bounded():
    rooms = {"decoding": config.DecodingOptions, "data": config.Data}
    numbers = {f"{room}.{f.name}" for room, kind in rooms.items() for f in fields(kind)
               if f.type is int}  # fmt: skip
    assert numbers - {"decoding.seed"} == set(fitting.MOST)
    for name in shipped_recipes():
        fitting.check_bounds(load_recipe(name))
    recipe = load_recipe("bahdanau2015-small")
    for key, most in fitting.MOST.items():
        room, _, name = key.partition(".")
        for value, refused in (
            (most, nullcontext()),
            (most + 1, pytest.raises(UserError, match=key)),
        ):
            told = {room: replace(getattr(recipe, room), **{name: value})}
            with refused:
                fitting.check_bounds(replace(recipe, **told))


def test_every_mechanism_of_our_own_is_foreseen():
    assert set(SCORES) == set(BUILT_IN)
