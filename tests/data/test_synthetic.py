"""Synthetic tasks: numbers, dates, copying, reversing, counting."""

import itertools
from datetime import date

import pytest

from dhyan.data.synthetic import (
    COLOURS,
    DATE_FORMATS,
    HINDI,
    TRAINED_VERSES,
    UNPAIRED,
    copy_pairs,
    counting_pair,
    counting_pairs,
    date_pairs,
    english_date,
    english_number,
    hindi_number,
    is_held_out_count,
    number_pairs,
    reverse_pairs,
)


@pytest.mark.parametrize(
    ("number", "english", "hindi"),
    [
        (0, "zero", "शून्य"),
        (7, "seven", "सात"),
        (42, "forty two", "बयालीस"),
        (100, "one hundred", "एक सौ"),
        (1001, "one thousand one", "एक हज़ार एक"),
        (99_999, "ninety nine thousand nine hundred ninety nine",
         "निन्यानवे हज़ार नौ सौ निन्यानवे"),
        (234_506, "two hundred thirty four thousand five hundred six",
         "दो लाख चौंतीस हज़ार पाँच सौ छह"),
        (10_000_000, "ten million", "एक करोड़"),
    ],
)  # fmt: skip
def test_number_names_are_right(number, english, hindi):
    assert english_number(number) == english
    assert hindi_number(number) == hindi


def test_hindi_has_its_own_word_for_each_number_below_a_hundred():
    assert len(HINDI) == len(set(HINDI)) == 100


def test_different_numbers_have_different_names():
    numbers = range(0, 3_000_000, 997)
    assert len({english_number(n) for n in numbers}) == len(numbers)
    assert len({hindi_number(n) for n in numbers}) == len(numbers)


def test_pairs_follow_from_the_seed():
    for task in (number_pairs, reverse_pairs, copy_pairs, date_pairs, counting_pairs):
        first, again, other = (list(itertools.islice(task(seed=s), 50)) for s in (1, 1, 2))
        assert first == again
        assert first != other


def test_reverse_pairs_are_reversed():
    for pair in itertools.islice(reverse_pairs(seed=3, min_length=1, max_length=5), 100):
        tokens = pair.source.split()
        assert pair.target.split() == tokens[::-1]
        assert 1 <= len(tokens) <= 5


def test_copy_pairs_are_equal():
    for pair in itertools.islice(copy_pairs(seed=3, min_length=1, max_length=5), 100):
        assert pair.target == pair.source
        assert 1 <= len(pair.source.split()) <= 5


def test_every_date_format_is_written():
    assert [english_date(date(1998, 3, 25), date_format) for date_format in DATE_FORMATS] == [
        "25 march 1998",
        "march 25, 1998",
        "wednesday, 25 march 1998",
        "the 25 of march 1998",
    ]


def test_dates_are_translated_to_the_same_day():
    pairs = list(itertools.islice(date_pairs(seed=3), 200))
    for pair in pairs:
        day = date.fromisoformat(pair.target)
        assert pair.source in [english_date(day, date_format) for date_format in DATE_FORMATS]
    assert len({pair.target[:4] for pair in pairs}) > 100


def test_a_count_has_every_number_with_its_colours():
    pair = counting_pair(("red", "blue", "green"), 5, 7)
    assert pair.source == "red blue green 5 to 7"
    assert pair.target == "पाँच लाल नीला हरा छह लाल नीला हरा सात लाल नीला हरा"


def test_counts_have_six_words_and_up_to_hundreds_and_no_held_out_one_is_trained_on():
    pairs = list(itertools.islice(counting_pairs(seed=1), 3000))
    lengths = [len(pair.target.split()) for pair in pairs]
    assert {len(pair.source.split()) for pair in pairs} == {6}
    assert max(lengths) == 4 * TRAINED_VERSES
    assert not any(is_held_out_count(pair.source) for pair in pairs)
    assert not any({*pair.source.split()} >= UNPAIRED for pair in pairs)
    assert len({*COLOURS.values()}) == len(COLOURS)
    assert [pair.line for pair in pairs] == [*range(1, 3001)]
