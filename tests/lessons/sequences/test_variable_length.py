"""Sentences of any length, in and out."""

import pytest

from dhyan.errors import UserError
from dhyan.lessons.sequences.variable_length import NOTHING, variable_length


def flat_text(result, lang="en"):
    return " ".join(result.text(lang).split())


@pytest.fixture(scope="module")
def result():
    return variable_length(steps=0, output_length=80)


def test_padding_changes_no_logit_of_any_model(result):
    assert [name for name, *_ in result.logit_differences] == [
        "LSTM",
        "GRU, Bahdanau",
        "Transformer",
    ]
    for _, batch, wider in result.logit_differences:
        assert max(batch, wider) < NOTHING
    assert "Padding changes nothing" in flat_text(result)
    assert "padding से कुछ नहीं बदलता" in flat_text(result, "hi")


def test_the_output_does_not_depend_on_the_batch(result):
    assert result.outputs == result.single_outputs


def test_a_search_cut_by_its_limit_is_reported(result):
    greedy, beam, usual = result.long_searches
    assert (greedy.length, beam.length) == (80, 80)
    assert (usual.limit, usual.length, usual.finished) == (68, 68, False)


def test_the_long_output_is_described_as_untrained(result):
    assert "This model is untrained" in flat_text(result)
    assert "the words themselves have no meaning" in flat_text(result)
    assert "यह मॉडल अप्रशिक्षित है" in flat_text(result, "hi")


@pytest.mark.slow
def test_six_words_may_give_six_hundred():
    result = variable_length(steps=0)
    greedy, beam, _ = result.long_searches
    assert len(result.sentence.split()) == 6
    assert (greedy.length, greedy.finished) == (600, True)
    assert (beam.length, beam.finished) == (600, True)


@pytest.mark.slow
def test_nice_to_meet_you_gets_another_length():
    result = variable_length(output_length=70)
    assert result.outputs == tuple(target for _, target in result.pairs)
    assert len(result.outputs[0].split()) != len(result.pairs[0][0].split())
    assert "3 of 3 correctly" in flat_text(result)


def test_other_pairs_may_have_any_lengths():
    pairs = [["a", "b " * 30], ["a " * 40, "b"]]
    result = variable_length(pairs, steps=0, output_length=3, sentence="a")
    assert result.unchanged
    assert [search.length for search in result.long_searches] == [3, 3, 3]
    assert "0 reach" in flat_text(result)


def test_the_verdict_follows_the_numbers(result):
    moved = type(result)(
        result.pairs,
        (("LSTM", 0.1, 0.1),),
        result.outputs,
        result.single_outputs,
        "a",
        1,
        result.long_searches,
    )
    assert "Padding changes the logits" in flat_text(moved)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"pairs": []}, "give sentences with their translations"),
        ({"output_length": 0}, "output_length is 0: give a whole number of at least 1"),
        ({"sentence": ""}, "the sentence is empty"),
    ],
)
def test_wrong_arguments_are_errors(arguments, message):
    with pytest.raises(UserError, match=message):
        variable_length(**arguments)
