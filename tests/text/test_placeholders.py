"""Spans that stay whole: what counts as one, and that nothing is lost on the way."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dhyan.errors import UserError
from dhyan.text.normalize import normalize
from dhyan.text.placeholders import (
    FIRST_CODE,
    KINDS,
    MAX_PLACEHOLDERS,
    PLACEHOLDER_RANGE,
    mask,
    mask_pair,
    restore,
)
from dhyan.text.tokenizer import Tokenizer

A, B, C = (chr(FIRST_CODE + at) for at in range(3))
PARTS = [
    *("see", "पुल", "है।", "2", "१२३", "1,234.56", "12:30", "2026-11-15", "5th", "क5", "v1.2"),
    *("https://a.example/x_(y)?q=1", "www.b.example.", "me@c.example", "<b>", "</b>", "{name}"),
    *("{{x}}", "%s", "%(n)d", "100%", "\ue000", "\ue001", "\ue063", "\ue064", "(", ")", '"', ","),
]
texts = st.text() | st.lists(st.sampled_from(PARTS)).map(" ".join)
tight = st.lists(st.sampled_from(PARTS)).map("".join)
chosen = st.lists(st.sampled_from(KINDS), min_size=1, unique=True)
patient = settings(deadline=None)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("go to https://a.example/b?c=1#d, then", ["https://a.example/b?c=1#d"]),
        ("(see www.a.example/x_(y).)", ["www.a.example/x_(y)"]),
        ("देखें http://उदाहरण.example/क।", ["http://उदाहरण.example/क"]),
        ("ftp://a.example!", ["ftp://a.example"]),
        ("write to first.last+tag@mail.a.example.", ["first.last+tag@mail.a.example"]),
        ("it cost 1,234.56 at 12:30", ["1,234.56", "12:30"]),
        ("on 2026-11-15, or 15/11/2026.", ["2026-11-15", "15/11/2026"]),
        ("कुल १,२३४.५६ रुपये, 50%", ["१,२३४.५६", "50"]),
        ("No.5, covid-19, -7 and 3-4", ["5", "19", "7", "3-4"]),
        ("the 5th of B2B in v1.2, क5 or 5क", []),
        ("<b>bold</b> <br/> <a href='x y'>", ["<b>", "</b>", "<br/>", "<a href='x y'>"]),
        ("{name} {0:.2f} {{ user }} ${HOME}", ["{name}", "{0:.2f}", "{{ user }}", "${HOME}"]),
        ("%s has %d of %(count)s, %1$s %5.2f", ["%s", "%d", "%(count)s", "%1$s", "%5.2f"]),
        ("5 < 7 and 9 > 8, 5% daily, 5%d", ["5", "7", "9", "8"]),
        ("an a@b and http:// are nothing", []),
        ("keycaps 5\ufe0f\u20e3 are no numbers", []),
    ],
)
def test_spans_are_detected(text, expected):
    masked, spans = mask(text, KINDS)
    assert list(spans) == expected
    assert restore(masked, spans) == (text, ())


def test_only_the_chosen_kinds_are_masked():
    text = "<b> 5 a@b.example www.c.example"
    for kind, span in zip(("tag", "number", "email", "url"), text.split(), strict=True):
        assert mask(text, [kind]) == (text.replace(span, A), (span,))


def test_without_kinds_nothing_is_masked():
    text = f"5 {A} www.c.example"
    assert mask(text, ()) == (text, ())
    assert mask_pair(text, text, ()) == (text, text)


def test_a_repeated_span_has_one_placeholder():
    assert mask("5 or 6 or 5", ["number"]) == (f"{A} or {B} or {A}", ("5", "6"))


@patient
@given(text=texts | tight, kinds=chosen)
def test_any_text_is_restored(text, kinds):
    masked, spans = mask(text, kinds)
    assert restore(masked, spans) == (text, ())
    assert len(spans) <= MAX_PLACEHOLDERS
    characters = re.findall(f"[{PLACEHOLDER_RANGE}]", masked)
    assert list(dict.fromkeys(characters)) == [chr(FIRST_CODE + at) for at in range(len(spans))]


def test_spans_beyond_the_maximum_are_not_masked():
    text = " ".join([*map(str, range(MAX_PLACEHOLDERS + 20)), "\ue005", "\ue006", "0"])
    masked, spans = mask(text, ["number"])
    assert len(spans) == MAX_PLACEHOLDERS
    assert spans[-2:] == ("\ue005", "\ue006")
    assert f" {MAX_PLACEHOLDERS + 5} " in masked
    assert restore(masked, spans) == (text, ())


def test_missing_placeholders_are_reported_and_extra_ones_dropped():
    assert restore(f"x {B}{C} y", ("5", "6")) == ("x 6 y", ("5",))


def test_a_pair_has_the_placeholders_of_its_source():
    source, target = mask_pair("at 12:30 for 2 of {name}", "{name}, 12:30, दो", KINDS)
    assert (source, target) == (f"at {A} for 2 of {C}", f"{C}, {A}, दो")


def test_spans_are_compared_in_their_normal_form():
    source, target = mask_pair("www.cafe\u0301.example", "www.caf\u00e9.example", ["url"])
    assert (source, target) == (A, A)


def test_a_private_use_character_of_the_target_is_replaced():
    assert mask_pair(f"{B} x", f"{B} {C} y", ["url"]) == (f"{A} x", f"{A} \ufffd y")
    assert mask_pair(f"{B} x", "y", ["url"]) == (f"{A} x", "y")


@patient
@given(source=texts, target=texts, kinds=chosen)
def test_training_and_translation_use_the_same_placeholders(source, target, kinds):
    alone, spans = mask(source, kinds)
    masked_source, masked_target = mask_pair(source, target, kinds)
    assert restore(masked_source, spans) == (
        source,
        tuple(span for span in spans if not is_masked(span, masked_source, spans)),
    )
    placeholders = re.findall(f"[{PLACEHOLDER_RANGE}]", masked_source)
    assert set(placeholders) <= set(re.findall(f"[{PLACEHOLDER_RANGE}]", alone))
    assert set(re.findall(f"[{PLACEHOLDER_RANGE}]", masked_target)) <= set(placeholders)


def is_masked(span, text, spans):
    return chr(FIRST_CODE + spans.index(span)) in text


@patient
@given(text=texts, kinds=chosen)
def test_a_text_and_itself_are_masked_alike(text, kinds):
    masked, spans = mask(text, kinds)
    if len({normalize(span) for span in spans}) == len(spans):
        assert mask_pair(text, text, kinds) == (masked, masked)


@patient
@given(text=texts | tight)
def test_normalisation_preserves_placeholders(text):
    masked, _ = mask(text, KINDS)
    assert re.findall(f"[{PLACEHOLDER_RANGE}]", normalize(masked)) == re.findall(
        f"[{PLACEHOLDER_RANGE}]", masked
    )


@pytest.mark.parametrize("kind", ["words", "characters", "bpe", "unigram"])
def test_a_placeholder_is_a_token_of_its_own(kind):
    text = "(5) costs 6, पुल 7। <b>x</b> -8% {n}'s"
    masked, spans = mask(text, KINDS)
    tokenizer = Tokenizer.train([masked] * 3, kind=kind, size=330)
    ids = tokenizer.encode(masked)
    words = [word.text for word in tokenizer.words(ids)]
    assert [word for word in words if re.search(f"[{PLACEHOLDER_RANGE}]", word)] == [
        chr(FIRST_CODE + at) for at in range(len(spans))
    ]
    assert restore(tokenizer.decode(ids), spans) == (text, ())


def test_an_unknown_kind_is_an_error_that_lists_the_kinds():
    with pytest.raises(UserError, match="'date'.*url, email, number, tag"):
        mask("text", ["date"])


@pytest.mark.parametrize("text", ["a" * 10**5, "(" * 10**5, "http://" + "(" * 10**5, "1." * 10**5])
def test_a_long_line_is_masked_too(text):
    assert restore(*mask(text, KINDS)) == (text, ())
