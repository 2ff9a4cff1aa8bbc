"""Nothing of the future reaches the past through a mask, and all of it does without one."""

import pytest

from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.causal_leak import causal_leak

LONG = "I like eating pizza with my friends"


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("position", [1, 4, 7])
def test_only_without_the_mask_a_later_word_changes_earlier_outputs(seed, position):
    result = causal_leak(LONG, source="a b c", position=position, change="tea", seed=seed)
    assert result.masked_past == 0
    assert result.open_past > 0
    for change in (result.masked_attention, result.masked_decoder):
        assert (change[:position] == 0).all()
        assert (change[position:] > 0).all()
    for change in (result.open_attention, result.open_decoder):
        assert (change > 0).all()


def test_the_notes_sentence_changes_its_last_word():
    result = causal_leak()
    assert result.words == ("<s>", "हम", "दोस्त", "हैं")
    assert result.position == 3
    assert "exactly 0" in result.text()
    assert "ठीक 0" in result.text("hi")


def test_the_same_seed_gives_the_same_numbers():
    assert causal_leak().open_past == causal_leak().open_past


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: causal_leak(position=4), "position: 4 is none of the 3 words; give 1 to 3"),
        (lambda: causal_leak(change="हैं"), "change: 'हैं' must be one word, and not 'हैं' again"),
        (lambda: causal_leak(position=-1), "position is -1: give a whole number of at least 0"),
        (lambda: causal_leak(change="two words"), "must be one word"),
        (lambda: causal_leak(""), "the sentence is empty"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(call, message):
    with pytest.raises(UserError, match=message):
        call()
