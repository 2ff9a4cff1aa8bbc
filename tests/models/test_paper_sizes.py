"""Recipes named after a paper have its sizes: the parameters are counted."""

import pytest

from dhyan.compare.equal_parameters import parameter_counter
from dhyan.config import load_recipe

SIZES = {  # parameters in millions of the recipe, and of the paper where it says
    "sutskever2014": (384.1, 384),
    "transformer2017": (63.1, 65),
}


@pytest.mark.parametrize("name", SIZES)
def test_a_recipe_has_the_parameters_of_its_paper(name):
    counted, paper = SIZES[name]
    recipe = load_recipe(name)
    source = recipe.text.source_vocabulary_size
    target = source if recipe.text.shared_vocabulary else recipe.text.target_vocabulary_size
    millions = parameter_counter(source, target)(recipe) / 1e6
    assert round(millions, 1) == counted
    assert millions == pytest.approx(paper, rel=0.03)


def test_the_recurrent_weights_of_sutskever_are_64_million():
    recipe = load_recipe("sutskever2014")
    everything = parameter_counter(160_000, 80_000)(recipe)
    words = 160_000 * 1000 + 2 * 80_000 * 1000 + 80_000  # embeddings, output layer and its bias
    assert everything - words == pytest.approx(64e6, rel=0.002)
