"""Glossaries match words, and contradicting terms are errors."""

import pytest

from dhyan.config import DecodingOptions
from dhyan.decoding.glossary import (
    Glossary,
    check_allowed,
    check_terms,
    contains_words,
    encode_phrase,
)
from dhyan.errors import UserError
from dhyan.text.tokenizer import KINDS, Tokenizer
from tests.decoding.test_rules import TEXTS

PLACEHOLDERS = ("number", "url")


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request):
    return Tokenizer.train(TEXTS, kind=request.param, size=330)


@pytest.mark.parametrize("term", ["cat", "mat", "का", "new york"])
def test_a_term_is_encoded_alike_anywhere(tokenizer, term):
    ids = encode_phrase(tokenizer, term)
    inside = tuple(tokenizer.encode(f"the {term} and"))
    assert ids in {inside[at : at + len(ids)] for at in range(len(inside))}


def test_a_glossary_matches_words_in_any_case(tokenizer):
    glossary = Glossary.build({"cat": "बिल्ली", "का": "of"}, tokenizer)
    assert glossary.target_terms("The Cat sat.") == ["बिल्ली"]
    assert glossary.target_terms("(CAT), cat") == ["बिल्ली"]
    assert glossary.target_terms("cats concatenate") == []
    assert glossary.target_terms("काम और कान") == []
    assert glossary.target_terms("बिल्ली का काम") == ["of"]


def test_the_longest_term_at_a_word_wins(tokenizer):
    glossary = Glossary.build({"new york": "A", "york": "B", "new": "C"}, tokenizer)
    assert glossary.target_terms("new york") == ["A"]
    assert glossary.target_terms("york is new, New York") == ["B", "C", "A"]
    longer = Glossary.build({"the new": "A", "new cat of york": "B", "york": "C"}, tokenizer)
    assert longer.target_terms("the new cat of york") == ["A", "C"]


def test_two_targets_for_a_term_are_an_error(tokenizer):
    with pytest.raises(UserError, match="both 'A' and 'B' for 'New  york', in whatever case"):
        Glossary.build({"new York": "A", "New  york": "B"}, tokenizer)
    assert Glossary.build({"Cat": "A", "cat": "A"}, tokenizer).target_terms("a CAT") == ["A"]


@pytest.mark.parametrize("terms", [{" ": "A"}, {"cat": " "}])
def test_empty_terms_are_an_error(tokenizer, terms):
    with pytest.raises(UserError, match="an empty term in the glossary"):
        Glossary.build(terms, tokenizer)


def test_a_placeholder_is_a_word_of_a_term(tokenizer):
    glossary = Glossary.build({"5": "five", "cat 1,250": "C"}, tokenizer, PLACEHOLDERS)
    assert glossary.target_terms("at 5.30, for 5,000 or https://a.org/5") == []
    assert glossary.target_terms("the Cat 1,250 (5)") == ["C", "five"]
    assert glossary.target_terms("cat 1,250.5") == []


@pytest.mark.parametrize("kind", ["words", "characters"])
def test_a_term_with_unknown_tokens_is_an_error(kind):
    tokenizer = Tokenizer.train(TEXTS, kind=kind, size=330)
    with pytest.raises(UserError, match="cannot write 'zebra'"):
        encode_phrase(tokenizer, "zebra")


@pytest.mark.parametrize(
    ("glossary", "forbidden", "options", "message"),
    [
        ({"a": "b"}, [], DecodingOptions(beam=1), "needs a beam of 2 or more"),
        ({"a": "b"}, [], DecodingOptions(beam=4, beam_groups=4), "needs a beam of 2 or more"),
        ({"a": "b"}, [], DecodingOptions(sample=True), "needs beam search"),
        (
            {"a": "new york"},
            ["york"],
            DecodingOptions(),
            "'york' is forbidden, but the glossary requires",
        ),
        (
            {"a": "(cat),"},
            ["x", "cat"],
            DecodingOptions(),
            r"'cat' is forbidden, but .* '\(cat\),'",
        ),
        ({}, [" "], DecodingOptions(), "an empty term is forbidden"),
        ({}, ["42"], DecodingOptions(), "'42' is forbidden, but the model copies such spans"),
        ({}, ["cat 4.2"], DecodingOptions(), "the model copies such spans"),
    ],
)
def test_terms_that_cannot_be_enforced_are_an_error(
    tokenizer, glossary, forbidden, options, message
):
    with pytest.raises(UserError, match=message):
        check_terms(glossary, forbidden, options, target=tokenizer, placeholders=PLACEHOLDERS)


def test_similar_terms_are_no_contradiction(tokenizer):
    check_terms({"a": "concatenated"}, ["cat", "42"], DecodingOptions(), target=tokenizer)


def test_a_text_written_through_a_forbidden_term_is_an_error():
    tokenizer = Tokenizer.train(TEXTS, kind="characters", size=330)
    check_allowed(["mat", "cat"], ["cats"], tokenizer, by="it says")
    with pytest.raises(UserError, match="'cat' is forbidden, but it says 'the cats'"):
        check_allowed(["mat", "the cats"], ["mats", "cat"], tokenizer, by="it says")


def test_words_are_found_in_any_segmentation(tokenizer):
    ids = tokenizer.encode("the new cat of new york")
    assert contains_words(tokenizer, tokenizer.encode("new york"), ids)
    assert not contains_words(tokenizer, tokenizer.encode("cat new"), ids)
    assert not contains_words(tokenizer, tokenizer.encode("york"), tokenizer.encode("new"))
