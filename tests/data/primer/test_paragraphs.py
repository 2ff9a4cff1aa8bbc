"""Paragraphs of primer sentences about persons."""

from itertools import islice

from dhyan.data.primer.paragraphs import (
    make_paragraphs,
    paragraph_pair,
    person_names,
    person_of,
    person_sentences,
)


def test_sentences_are_distinct_statements_about_persons():
    sentences = person_sentences("valid", 60, seed=1)
    assert len({pair.english for pair in sentences}) == len(sentences) == 60
    assert all(person_of(pair) in person_names() for pair in sentences)
    assert all(pair.english.endswith(".") for pair in sentences)


def test_half_of_the_paragraphs_end_with_the_person_they_begin_with():
    sentences = person_sentences("valid", 60, seed=1)
    paragraphs = list(islice(make_paragraphs(sentences, seed=2, least=2), 600))
    assert {len(paragraph) for paragraph in paragraphs} == {2, 3}
    same = sum(person_of(paragraph[0]) == person_of(paragraph[-1]) for paragraph in paragraphs)
    assert 250 < same < 350
    assert paragraphs == list(islice(make_paragraphs(sentences, seed=2, least=2), 600))


def test_a_pair_joins_the_sentences_of_both_languages():
    sentences = person_sentences("valid", 60, seed=1)
    [paragraph] = islice(make_paragraphs(sentences, seed=2, least=3), 1)
    pair = paragraph_pair(paragraph)
    assert pair.source == " ".join(sentence.english for sentence in paragraph)
    assert pair.target == " ".join(sentence.hindi for sentence in paragraph)
    single = next(make_paragraphs(sentences, seed=2, most=1))
    assert paragraph_pair(single).source == single[0].english
