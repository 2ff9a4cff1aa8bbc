"""One spelling for every text."""

import sys
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dhyan.text.normalize import normalize

AWKWARD = (
    "aé\u0301\u0323कक़हि\u093c\u094d\u0f73।॥|\"')“‹▁\ud800"
    " \t\u0085\u2028\u00a0\u200d\u200c\u200b\ufeff"
)
patient = settings(deadline=None)
texts = st.text() | st.text(alphabet=AWKWARD) | st.text(alphabet="क|। \"'", max_size=12)


@patient
@given(texts)
def test_normalisation_is_idempotent(text):
    assert normalize(normalize(text)) == normalize(text)


def test_every_single_character_is_normalised_idempotently():
    for first in range(0, sys.maxunicode, 200):
        once = normalize(
            " ".join(f"a{chr(first + i)}b" for i in range(200) if first + i < 0x110000)
        )
        assert normalize(once) == once


@patient
@given(texts)
def test_the_result_is_composed_and_has_no_stray_space(text):
    result = normalize(text)
    assert unicodedata.is_normalized("NFC", result)
    assert result == " ".join(result.split())
    assert not set(result) & set("\0\u00ad\u200b\u2060\ufeff▁“‹")


@pytest.mark.parametrize("letter", [*map(chr, range(0x958, 0x960)), "\u0929", "\u0931", "\u0934"])
def test_all_spellings_of_a_nukta_letter_are_equal(letter):
    apart = unicodedata.normalize("NFD", letter)
    assert len(apart) == 2
    assert normalize(letter) == normalize(apart) == normalize(f"{apart[0]}\u200b{apart[1]}")


def test_nukta_and_halant_in_either_order_are_equal():
    assert normalize("क\u094d\u093c") == normalize("क\u093c\u094d") == normalize("\u0958\u094d")


@pytest.mark.parametrize("joiner", ["\u200c", "\u200d"])
def test_joiners_are_preserved(joiner):
    assert normalize(f"क्{joiner}ष") == f"क्{joiner}ष"


def test_quotes_become_straight():
    assert normalize("“a” „b‟ «c» ‘d’ ‚e‛ ‹f›") == "\"a\" \"b\" \"c\" 'd' 'e' 'f'"


@pytest.mark.parametrize("space", [c for c in map(chr, range(0x3001)) if c.isspace()])
def test_every_white_space_separates_words(space):
    assert normalize(f"{space}a{space}{space}b{space}") == "a b"


@pytest.mark.parametrize(
    "character",
    ["\u200b", "\u2060", "\ufeff", "\u00ad", "\u202e", "\u2067", "\u200f", "\U000e0061", "\0"],
)
def test_invisible_characters_are_removed(character):
    assert normalize(f"{character}न{character}हीं{character}") == "नहीं"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("वह घर गया|", "वह घर गया।"),
        ("वह गया | वह आया |", "वह गया । वह आया ।"),
        ("श्लोक ||", "श्लोक ॥"),
        ("श्लोक।। १।।", "श्लोक॥ १॥"),
        ('"वह गया|"', '"वह गया।"'),
        ("a | b", "a | b"),
        ("क|ख", "क|ख"),
        ("क |||", "क |||"),
        ("| क", "| क"),
        ("वह गया।", "वह गया।"),
    ],
)
def test_a_pipe_is_a_danda_where_a_hindi_sentence_ends(text, expected):
    assert normalize(text) == expected


def test_word_marks_and_lone_surrogates_are_replaced():
    assert normalize("a▁b \ud83d") == "a_b \ufffd"


@pytest.mark.parametrize(
    "unit", ["|", "क|", "क |", "क|''", " ", "\u0301\u0323", "\u094d\u093c", "\u0f73", "\u200b", "।"]
)
def test_the_time_is_linear(unit):
    text = "क" + unit * 200_000
    began = time.process_time()
    normalize(text)
    assert time.process_time() - began < 20, "a quadratic step would take minutes"


@patient
@given(st.text(alphabet=AWKWARD, min_size=1))
def test_a_long_text_is_composed_as_a_short_one(text):
    line = normalize(f"ख {text}")
    assert normalize("\n".join([line] * 400)) == " ".join([line] * 400)
