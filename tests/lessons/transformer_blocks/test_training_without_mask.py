"""Without the mask the loss is near nothing and so is what the model can say."""

import pytest

from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.training_without_mask import training_without_mask


@pytest.mark.soak
def test_without_the_mask_the_loss_is_near_0_and_translation_fails():
    lines = []
    result = training_without_mask(steps=400, on_progress=lines.append)
    assert result.unmasked.loss < 0.05
    assert result.unmasked.unseen_loss < 0.05
    assert result.unmasked.right < 0.1
    assert result.masked.right > 0.5
    assert result.masked.bleu > result.unmasked.bleu + 40
    assert result.cheated
    assert result.masked.translation == result.expected == "n a y h d"
    assert result.unmasked.translation != result.expected
    assert "even on unseen pairs" in result.text()
    assert any(line.startswith("without the mask: step") for line in lines)


@pytest.mark.slow
def test_too_few_steps_give_no_verdict():
    result = training_without_mask("three", task="numbers", steps=8)
    assert not result.cheated
    assert result.expected == "तीन"
    assert "does not show" in result.text()
    assert "नहीं दिखता" in result.text("hi")
    assert len(result.masked.losses) == len(result.unmasked.losses) == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"task": "primer"}, "'primer' is none of reverse, numbers"),
        ({"steps": 3}, "steps is 3: give a whole number of at least 8"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(arguments, message):
    with pytest.raises(UserError, match=message):
        training_without_mask(**arguments)
