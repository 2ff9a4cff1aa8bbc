"""Tasks made by code say what they should."""

import itertools

import pytest

from dhyan.data.synthetic import (
    HINDI,
    english_number,
    hindi_number,
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
def test_numbers_are_said_right(number, english, hindi):
    assert english_number(number) == english
    assert hindi_number(number) == hindi


def test_hindi_has_its_own_word_for_each_number_below_a_hundred():
    assert len(HINDI) == len(set(HINDI)) == 100


def test_different_numbers_are_said_differently():
    numbers = range(0, 3_000_000, 997)
    assert len({english_number(n) for n in numbers}) == len(numbers)
    assert len({hindi_number(n) for n in numbers}) == len(numbers)


def test_a_seed_makes_the_same_pairs_and_another_makes_others():
    for task in (number_pairs, reverse_pairs):
        one, again, other = (list(itertools.islice(task(seed=s), 50)) for s in (1, 1, 2))
        assert one == again
        assert one != other


def test_reversed_is_reversed():
    for pair in itertools.islice(reverse_pairs(seed=3, shortest=1, longest=5), 100):
        letters = pair.source.split()
        assert pair.target.split() == letters[::-1]
        assert 1 <= len(letters) <= 5
