"""Nothing of the future reaches the past through a mask, and all of it does without one."""

import pytest

from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.causal_leak import causal_leak

LONG = "I like eating pizza with my friends"


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("place", [1, 4, 7])
def test_a_later_word_changes_nothing_before_it_when_masked_and_something_when_not(seed, place):
    found = causal_leak(LONG, source="a b c", place=place, change="tea", seed=seed)
    assert found.masked_past == 0
    assert found.open_past > 0
    for moved in (found.masked_attention, found.masked_decoder):
        assert (moved[:place] == 0).all()
        assert (moved[place:] > 0).all()
    for moved in (found.open_attention, found.open_decoder):
        assert (moved > 0).all()


def test_the_notes_sentence_changes_its_last_word():
    found = causal_leak()
    assert found.words == ("<s>", "हम", "दोस्त", "हैं")
    assert found.place == 3
    assert "exactly 0" in found.text()
    assert "ठीक 0" in found.text("hi")


def test_the_same_seed_gives_the_same_numbers():
    assert causal_leak().open_past == causal_leak().open_past


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: causal_leak(place=4), "place: 4 is none of the 3 words; give 1 to 3"),
        (lambda: causal_leak(change="हैं"), "change: 'हैं' must be one word, and not 'हैं' again"),
        (lambda: causal_leak(place=-1), "place is -1: give a whole number of at least 0"),
        (lambda: causal_leak(change="two words"), "must be one word"),
        (lambda: causal_leak(""), "the sentence is empty"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(call, message):
    with pytest.raises(UserError, match=message):
        call()
