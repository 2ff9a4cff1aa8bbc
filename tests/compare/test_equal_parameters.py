"""Recipes are scaled to one number of parameters, and stay what they are."""

from functools import cache

import pytest

from dhyan.compare.budget import parse_count
from dhyan.compare.equal_parameters import parameter_counter, scale_to_budget, scale_widths
from dhyan.compare.ladder import FULL, LADDER, QUICK
from dhyan.config import load_recipe, shipped_recipes
from dhyan.errors import UserError

RUNGS = {rung.name: load_recipe(rung.recipe, rung.settings) for rung in LADDER}
OWN = {
    "tied": load_recipe(
        "luong2015-small", {"decoder.tie_embeddings": True, "decoder.embedding_width": 192}
    ),
    "tied-readout": load_recipe("bahdanau2015-small", {"decoder.tie_embeddings": True}),
    "shared": load_recipe(
        "transformer2017-small",
        {"decoder.share_source_embedding": True, "text.shared_vocabulary": True},
    ),
    "shared-recurrent": load_recipe(
        "luong2015-small", {"decoder.share_source_embedding": True, "text.shared_vocabulary": True}
    ),
    "heads": load_recipe("numbers", {"decoder.attention.heads": 4}),
    "modern": load_recipe("modern-small"),
}
count = cache(parameter_counter(900, 1100))  # a search asks for the same widths again
same = cache(parameter_counter(1000, 1000))


def counting(recipe):
    return same(recipe) if recipe.text.shared_vocabulary else count(recipe)


@pytest.mark.parametrize("name", [*RUNGS, *OWN])
@pytest.mark.parametrize("budget", [parse_count(preset.parameters) for preset in (QUICK, FULL)])
def test_scaled_models_are_within_three_percent_of_the_budget(name, budget):
    recipe = scale_to_budget({**RUNGS, **OWN}[name], budget, counting)
    assert counting(recipe) == pytest.approx(budget, rel=0.03)


@pytest.mark.parametrize("name", [*RUNGS, *OWN])
def test_only_widths_change_and_they_are_multiples_of_eight(name):
    old = {**RUNGS, **OWN}[name]
    new = scale_to_budget(old, 3_000_000, counting)
    assert (new.data, new.text, new.training, new.decoding) == (
        old.data,
        old.text,
        old.training,
        old.decoding,
    )
    for before, after in ((old.encoder, new.encoder), (old.decoder, new.decoder)):
        assert (before.kind, before.layers) == (after.kind, after.layers)
        assert after.width % 8 == 0
        assert after.width % getattr(after, "heads", 1) == 0


def test_a_recipe_of_the_right_size_is_unchanged():
    recipe = RUNGS["bahdanau"]
    assert scale_to_budget(recipe, count(recipe), count) is recipe


@pytest.mark.parametrize("budget", [1000, 10**12])
def test_an_unreachable_size_is_an_error_with_the_nearest(budget):
    with pytest.raises(UserError, match="the nearest size is") as error:
        scale_to_budget(RUNGS["bahdanau"], budget, count)
    nearest = int(str(error.value).partition("size is ")[2].partition(":")[0].replace(",", ""))
    assert count(scale_to_budget(RUNGS["bahdanau"], nearest, count)) == nearest


@pytest.mark.parametrize("factor", [0.3, 0.77, 1.9])
def test_widths_that_must_be_equal_stay_equal(factor):
    dot = scale_widths(RUNGS["luong-dot"], factor)
    assert 2 * dot.encoder.width == dot.decoder.width
    direct = scale_widths(RUNGS["bottleneck-deep"], factor)
    assert direct.encoder.width == direct.decoder.width
    tied = scale_widths(OWN["tied"], factor)
    assert tied.decoder.embedding_width == tied.decoder.width


def test_pretrained_embeddings_keep_their_width():
    recipe = load_recipe("bahdanau2015-small", {"encoder.pretrained_embedding": "glove.txt"})
    assert scale_widths(recipe, 3.0).encoder.embedding_width == recipe.encoder.embedding_width


@pytest.mark.parametrize("name", [name for name in shipped_recipes() if "small" in name])
def test_larger_factors_make_larger_models(name):
    recipe = load_recipe(name)
    assert (
        count(scale_widths(recipe, 0.5))
        < count(scale_widths(recipe, 1.0))
        < count(scale_widths(recipe, 2.0))
    )
