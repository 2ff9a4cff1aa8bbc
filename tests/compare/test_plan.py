"""What is compared differs in its model and in how that is best trained, and in nothing else."""

import pytest

from dhyan.compare.budget import Budget
from dhyan.compare.ladder import LADDER, Preset, Rung
from dhyan.compare.plan import Candidate, control_recipes, name_candidates
from dhyan.config import differences, load_recipe
from dhyan.errors import UserError

OWN = ("encoder.", "decoder.", "about")
OWN_TRAINING = {
    *(
        "learning_rate",
        "schedule",
        "warmup_steps",
        "halve_from",
        "halve_every",
        "min_learning_rate_ratio",
    ),
    *("min_learning_rate_ratio", "optimizer", "betas", "clip_norm", "precision", "weight_decay"),
}


def candidates(*names):
    return name_candidates([(name, load_recipe(name)) for name in names])


def test_shared_settings_are_those_of_the_first_recipe():
    controlled = control_recipes(
        candidates("numbers", "sutskever2014", "transformer2017"), Budget(steps=40)
    )
    first, *others = (candidate.recipe for candidate in controlled)
    for other in others:
        for key in differences(first, other):
            assert key.startswith(OWN) or key.removeprefix("training.") in OWN_TRAINING, key


def test_a_step_budget_disables_early_stopping():
    recipe = load_recipe("numbers", {"training.patience": 3})
    [candidate] = control_recipes([Candidate("a", recipe)], Budget(steps=40))
    assert candidate.recipe.training.steps == 40
    assert candidate.recipe.training.validate_every == 4
    assert candidate.recipe.training.patience == 0


def test_a_repeated_name_gets_a_number():
    assert [candidate.name for candidate in candidates("numbers", "reverse", "numbers")] == [
        "numbers",
        "reverse",
        "numbers-2",
    ]


def test_candidate_names_are_unique():
    recipe = load_recipe("numbers")
    named = name_candidates([("a", recipe), ("a-2", recipe), ("a", recipe)])
    assert [candidate.name for candidate in named] == ["a", "a-2", "a-3"]


@pytest.mark.parametrize(
    ("settings", "budget", "message"),
    [
        ({"training.schedule": "cosine"}, Budget(seconds=9.0), "numbers: a cosine schedule needs"),
        ({"training.init_from": "runs/a"}, Budget(steps=9), "all models start from scratch"),
        ({"training.tokens_per_batch": 0}, Budget(steps=9), "set one for all"),
    ],
)
def test_unfair_settings_are_refused(settings, budget, message):
    with pytest.raises(UserError, match=message):
        control_recipes([Candidate("numbers", load_recipe("numbers", settings))], budget)


def test_the_ladder_has_thirteen_described_rungs():
    assert len({rung.name for rung in LADDER}) == len(LADDER) == 13
    assert all(rung.about for rung in LADDER)


def test_a_rung_is_a_transformer_by_its_decoder_not_by_its_name():
    preset = Preset("1", "", recurrent={"a": 1}, transformer={"a": 2})
    assert Rung("rnn", "bahdanau2015-small", "").settings_for(preset) == {"a": 1}
    assert Rung("modern", "modern-small", "").settings_for(preset) == {"a": 2}
