"""Decoding options: bounds, contradictions, and changes for one call."""

import math
from typing import get_type_hints

import pytest

from dhyan.config import DecodingChanges, DecodingOptions
from dhyan.config.declare_settings import settings_of
from dhyan.errors import UnsupportedOption, UserError


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"beam": 0}, "beam: 0 is too small; give at least 1"),
        ({"nbest": 0}, "nbest: 0 is too small"),
        ({"min_length": -1}, "min_length: -1 is too small"),
        ({"min_length": 5, "max_length": 5}, "min_length 5 leaves no room for an end within max_"),
        ({"temperature": 0.0}, "temperature: 0.0 is not between 1e-06 and"),
        ({"temperature": 1e-40}, "temperature: 1e-40 is not between 1e-06 and"),
        ({"length_penalty": -0.1}, "length_penalty: -0.1 is not between 0 and 10"),
        ({"length_penalty": 11.0}, "length_penalty: 11.0 is not between 0 and 10"),
        ({"coverage_penalty": -0.1}, "coverage_penalty: -0.1"),
        ({"diversity_penalty": -0.1}, "diversity_penalty: -0.1"),
        ({"top_k": -1}, "top_k: -1"),
        ({"seed": -1}, "seed: -1 is too small; give at least 0"),
        ({"top_p": 0.0}, "top_p: 0.0"),
        ({"top_p": 1.5}, "top_p: 1.5"),
        ({"beam": 5, "beam_groups": 2}, "beam_groups 2 do not divide a beam of 5"),
        ({"beam": 2, "nbest": 5, "beam_groups": 2}, "beam_groups 2 do not divide a beam of 5"),
        ({"sample": True, "beam_groups": 2}, "set beam_groups to 1"),
        ({"sample": True, "coverage_penalty": 0.1}, "coverage_penalty ranks the hypotheses of"),
    ],
)
def test_bounds_and_contradictions_are_errors(settings, message):
    with pytest.raises(UserError, match=message):
        DecodingOptions(**settings).check()
    with pytest.raises(UserError, match=message):
        DecodingOptions().changed(**settings)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "name", [name for name, s in settings_of(DecodingOptions).items() if s.type is float]
)
def test_numbers_are_finite(name, value):
    with pytest.raises(UserError, match=f"{name}: {value} is not between"):
        DecodingOptions(**{name: value}).check()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"temperature": 0.5}, "temperature has no effect without sample"),
        ({"top_k": 3}, "top_k has no effect without sample"),
        ({"top_p": 0.5}, "top_p has no effect without sample"),
        ({"seed": 3}, "seed has no effect without sample"),
        ({"diversity_penalty": 1.0}, "diversity_penalty needs two beam_groups or more"),
        ({"sample": True, "beam": 4}, "leave out beam 4"),
        ({"coverage_penalty": 0.1, "beam": 1}, "coverage_penalty needs a beam of 2 or more"),
    ],
)
def test_a_change_without_effect_is_an_error(changes, message):
    with pytest.raises(UserError, match=message):
        DecodingOptions().changed(**changes)


def test_an_error_can_spell_options_for_the_command_line():
    with pytest.raises(UnsupportedOption) as caught:
        DecodingOptions().changed(top_k=3)
    assert str(caught.value) == "top_k has no effect without sample: add it"
    assert caught.value.spelled(str.upper) == "TOP_K has no effect without SAMPLE: add it"
    odd = UnsupportedOption("{beam} and {term!r}", term="{beam}")
    assert str(odd) == "beam and '{beam}'"


def test_a_recipe_may_hold_options_for_later():
    recipe = DecodingOptions(temperature=0.5, diversity_penalty=2.0)
    assert recipe.changed(sample=True).temperature == 0.5
    assert recipe.changed(beam=4, beam_groups=2).diversity_penalty == 2.0


def test_none_leaves_an_option_as_it_is():
    options = DecodingOptions(beam=7, min_length=2)
    changed = options.changed(beam=None, nbest=3)
    assert changed == DecodingOptions(beam=7, min_length=2, nbest=3)
    with pytest.raises(TypeError, match="bem"):
        options.changed(bem=3)


def test_every_option_but_the_source_length_can_be_changed():
    options = dict(settings_of(DecodingOptions))
    del options["max_source_length"]
    types = {name: setting.type | None for name, setting in options.items()}
    assert get_type_hints(DecodingChanges) == types
    with pytest.raises(TypeError, match="max_source_length"):
        DecodingOptions().changed(max_source_length=3)


def test_the_beam_holds_all_of_nbest():
    assert DecodingOptions(beam=2, nbest=4).width == 4
    assert DecodingOptions(sample=True, nbest=4).width == 1
    assert DecodingOptions(beam=4, beam_groups=2).constrains
    assert not DecodingOptions(beam=4, beam_groups=4).constrains
