"""Sentences of any length, in and out."""

import pytest

from dhyan.errors import UserError
from dhyan.lessons.sequences.variable_length import NOTHING, variable_length


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


@pytest.fixture(scope="module")
def shown():
    return variable_length(steps=0, output_length=80)


def test_padding_changes_no_logit_of_any_model(shown):
    assert [name for name, *_ in shown.logit_differences] == [
        "LSTM",
        "GRU, Bahdanau",
        "Transformer",
    ]
    for _, batch, wider in shown.logit_differences:
        assert max(batch, wider) < NOTHING
    assert "Padding changes nothing" in flat_text(shown)
    assert "padding से कुछ नहीं बदलता" in flat_text(shown, "hi")


def test_the_output_does_not_depend_on_the_batch(shown):
    assert shown.outputs == shown.single_outputs


def test_a_search_cut_by_its_limit_is_reported(shown):
    greedy, beam, usual = shown.long_searches
    assert (greedy.length, beam.length) == (80, 80)
    assert (usual.limit, usual.length, usual.finished) == (68, 68, False)


def test_the_long_output_is_described_as_untrained(shown):
    assert "This model is untrained" in flat_text(shown)
    assert "the words themselves have no meaning" in flat_text(shown)
    assert "यह मॉडल अप्रशिक्षित है" in flat_text(shown, "hi")


@pytest.mark.slow
def test_six_words_may_give_six_hundred():
    shown = variable_length(steps=0)
    greedy, beam, _ = shown.long_searches
    assert len(shown.sentence.split()) == 6
    assert (greedy.length, greedy.finished) == (600, True)
    assert (beam.length, beam.finished) == (600, True)


@pytest.mark.slow
def test_nice_to_meet_you_gets_another_length():
    shown = variable_length(output_length=70)
    assert shown.outputs == tuple(target for _, target in shown.pairs)
    assert len(shown.outputs[0].split()) != len(shown.pairs[0][0].split())
    assert "3 of 3 correctly" in flat_text(shown)


def test_ones_own_pairs_may_have_any_lengths():
    pairs = [["a", "b " * 30], ["a " * 40, "b"]]
    shown = variable_length(pairs, steps=0, output_length=3, sentence="a")
    assert shown.unchanged
    assert [one.length for one in shown.long_searches] == [3, 3, 3]
    assert "0 reach" in flat_text(shown)


def test_the_verdict_follows_the_numbers(shown):
    moved = type(shown)(
        shown.pairs,
        (("LSTM", 0.1, 0.1),),
        shown.outputs,
        shown.single_outputs,
        "a",
        1,
        shown.long_searches,
    )
    assert "Padding changes the logits" in flat_text(moved)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"pairs": []}, "give sentences with their translations"),
        ({"output_length": 0}, "output_length is 0: give a whole number of at least 1"),
        ({"sentence": ""}, "the sentence is empty"),
    ],
)
def test_wrong_arguments_are_errors(given, message):
    with pytest.raises(UserError, match=message):
        variable_length(**given)
