"""A manner of searching says what it cannot do, and keeps what it is not told to change."""

import math

import pytest

from dhyan.config import Decoding
from dhyan.decoding.errors import Unfit
from dhyan.decoding.options import Manner
from dhyan.errors import UserError
from dhyan.run.load import make_manner


@pytest.mark.parametrize(
    ("settings", "sentence"),
    [
        ({"beam": 0}, "beam is 0: give at least 1"),
        ({"nbest": 0}, "nbest is 0"),
        ({"least": -1}, "least is -1"),
        ({"least": 5, "limit": 5}, "least 5 leaves no room for an end within limit 5"),
        ({"temperature": 0.0}, "temperature is 0.0: give more than 0"),
        ({"temperature": 1e-40}, "temperature is 1e-40: give more than 0, at least 1e-06"),
        ({"length_power": -0.1}, "length_power is -0.1: give 0 to 10"),
        ({"length_power": 11.0}, "length_power is 11.0: give 0 to 10"),
        ({"coverage": -0.1}, "coverage is -0.1"),
        ({"diversity": -0.1}, "diversity is -0.1"),
        ({"top_k": -1}, "top_k is -1"),
        ({"seed": -1}, "seed is -1: give 0 or more"),
        ({"top_p": 0.0}, "top_p is 0.0"),
        ({"top_p": 1.5}, "top_p is 1.5"),
        ({"beam": 5, "groups": 2}, "groups 2 do not divide a beam of 5"),
        ({"beam": 2, "nbest": 5, "groups": 2}, "groups 2 do not divide a beam of 5"),
        ({"sample": True, "groups": 2}, "set groups to 1"),
        ({"sample": True, "coverage": 0.1}, "coverage ranks what a beam found"),
    ],
)
def test_contradictions_are_refused_with_a_sentence(settings, sentence):
    with pytest.raises(UserError, match=sentence):
        Manner(**settings)
    with pytest.raises(UserError, match=sentence):
        Manner().changed(**settings)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
@pytest.mark.parametrize(
    "name", [name for name, kind in Manner.__annotations__.items() if kind is float]
)
def test_what_is_no_number_is_refused(name, value):
    with pytest.raises(UserError, match=f"{name} is {value}: give a number"):
        Manner(**{name: value})


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"temperature": 0.5}, "temperature is of use only with sample"),
        ({"top_k": 3}, "top_k is of use only with sample"),
        ({"seed": 3}, "seed is of use only with sample"),
        ({"diversity": 1.0}, "diversity is of use only with two groups"),
        ({"sample": True, "beam": 4}, "leave out beam 4"),
        ({"coverage": 0.1, "beam": 1}, "coverage ranks what a beam of 2 or more found"),
    ],
)
def test_what_would_have_no_effect_is_refused_when_it_is_asked_for(changes, sentence):
    with pytest.raises(UserError, match=sentence):
        Manner().changed(**changes)


def test_a_fault_names_settings_as_the_one_who_asks_writes_them():
    with pytest.raises(Unfit) as caught:
        Manner().changed(top_k=3)
    assert str(caught.value) == "top_k is of use only with sample: add it"
    assert caught.value.spelled(str.upper) == "TOP_K is of use only with SAMPLE: add it"
    odd = Unfit("{beam} says {term!r}", term="{beam}")
    assert str(odd) == "beam says '{beam}'"


def test_a_recipe_may_hold_what_waits_to_be_asked_for():
    waiting = Manner(temperature=0.5, diversity=2.0)
    assert waiting.changed(sample=True).temperature == 0.5
    assert waiting.changed(beam=4, groups=2).diversity == 2.0


def test_what_is_not_given_stays_and_what_is_unknown_is_no_manner():
    manner = Manner(beam=7, least=2)
    assert manner.changed(beam=None, nbest=3) == Manner(beam=7, least=2, nbest=3)
    with pytest.raises(TypeError, match="no 'bem'"):
        manner.changed(bem=3)


def test_a_beam_is_at_least_as_wide_as_what_is_asked_for():
    assert Manner(beam=2, nbest=4).width == 4
    assert Manner(sample=True, nbest=4).width == 1
    assert Manner(beam=4, groups=2).requires
    assert not Manner(beam=4, groups=4).requires


def test_every_setting_of_a_recipe_is_one_of_a_manner():
    assert make_manner(Decoding()) == Manner()
    assert make_manner(Decoding(beam=6, groups=3, limit=40)) == Manner(beam=6, groups=3, limit=40)
    with pytest.raises(UserError, match="decoding: groups 2 do not divide"):
        make_manner(Decoding(groups=2))
