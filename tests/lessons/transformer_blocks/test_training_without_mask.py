"""Without the mask the loss is near nothing and so is what the model can say."""

import pytest

from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.training_without_mask import training_without_mask


@pytest.mark.soak
def test_without_the_mask_the_loss_falls_to_nothing_and_the_model_can_say_nothing():
    heard = []
    found = training_without_mask(steps=400, on_progress=heard.append)
    assert found.unmasked.loss < 0.05
    assert found.unmasked.unseen_loss < 0.05
    assert found.unmasked.right < 0.1
    assert found.masked.right > 0.5
    assert found.masked.bleu > found.unmasked.bleu + 40
    assert found.cheated
    assert found.masked.said == found.wanted == "n a y h d"
    assert found.unmasked.said != found.wanted
    assert "near 0" in found.text()
    assert any(line.startswith("without the mask: step") for line in heard)


@pytest.mark.slow
def test_too_few_steps_give_no_verdict():
    found = training_without_mask("three", task="numbers", steps=8)
    assert not found.cheated
    assert found.wanted == "तीन"
    assert "does not show" in found.text()
    assert "नहीं दिखता" in found.text("hi")
    assert len(found.masked.losses) == len(found.unmasked.losses) == 8


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"task": "primer"}, "'primer' is none of reverse, numbers"),
        ({"steps": 3}, "steps is 3: give a whole number of at least 8"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(given, message):
    with pytest.raises(UserError, match=message):
        training_without_mask(**given)
