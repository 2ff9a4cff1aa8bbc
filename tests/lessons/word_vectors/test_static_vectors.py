"""One vector for all uses of a word: the notes' apple, and where a word lies between its senses."""

import numpy as np
import pytest
import torch

from dhyan.errors import UserError
from dhyan.lessons.word_vectors import static_vectors as module
from dhyan.lessons.word_vectors.static_vectors import (
    MONEY,
    RIVER,
    between_senses,
    cooccurring_nouns,
    static_vectors,
)
from dhyan.lessons.word_vectors.word_embeddings import learn_vectors, read_corpus
from dhyan.text.word_vectors import WordVectors

FEW = {
    "bank": (1, 1, 0.1),
    "money": (1, 0, 0),
    "loan": (0.9, 0.1, 0),
    "river": (0, 1, 0),
    "boat": (0.1, 0.9, 0),
    "cloud": (0, 0, 1),
    "rain": (0, -0.2, 1),
}


def vectors(**changed):
    rows = {**FEW, **changed}
    return WordVectors(tuple(rows), np.array([*rows.values()], np.float32), frozenset())


@pytest.fixture
def lesson(monkeypatch):
    """The lesson over a few vectors instead of learned ones."""

    def call(result=None, **arguments):
        monkeypatch.setattr(module, "read_corpus", lambda *_: [])
        monkeypatch.setattr(module, "learn_vectors", lambda *_, **__: result or vectors())
        return static_vectors(
            **{"first_sense": "money loan", "second_sense": "river boat", **arguments}
        )

    return call


def test_the_notes_vector_of_apple_points_where_the_mean_of_its_uses_does(lesson):
    toy = lesson().toy
    assert toy.static.tolist() == [0.9, 0.3]
    assert toy.mean.tolist() == [0.75, 0.25]
    assert toy.use_sentences[0] == "An apple a day keeps the doctor away"
    assert toy.running_means[:, 1].tolist() == [0, 0, 0, 0.25]  # the fourth is about the company
    assert toy.cosine == pytest.approx(1.0)
    assert toy.static_share == pytest.approx(0.25)


def test_context_moves_apple_toward_technology_despite_the_orange(lesson):
    toy = lesson().toy
    assert toy.around.words == ("apple", "launched", "phone", "eating", "orange")
    assert toy.context.tolist() == pytest.approx([0.629, 0.314], abs=1e-3)
    assert toy.context_share == pytest.approx(0.333, abs=1e-3)
    assert toy.context_share > toy.static_share


def test_among_fruit_apple_moves_toward_taste(lesson):
    result = lesson(sentence="eating an apple, eating an orange")
    assert result.toy.context_share < result.toy.static_share
    assert "towards taste" in " ".join(result.text().split())


def test_the_words_that_are_left_out_are_named(lesson):
    text = " ".join(lesson().text().split())
    assert "Words without vectors are left out: a, new, while, i, was, an." in text
    assert "छोड़ दिए गए हैं: a, new, while, i, was, an।" in " ".join(lesson().text("hi").split())
    assert "left out" not in lesson(sentence="eating apple").text()


def test_the_verdict_on_the_mean_follows_the_numbers(lesson):
    assert "it has the direction of their mean" in " ".join(lesson().text().split())
    other = lesson(uses={"Apple makes phones": [0, 1]})
    assert "its direction differs from that of their mean" in " ".join(other.text().split())


def test_the_mean_of_both_senses_is_at_position_one_half():
    result = between_senses(vectors(), "bank", ("money", "loan"), ("river", "boat"))
    assert result.position == pytest.approx(0.5)
    assert result.cosines[0] == pytest.approx(result.cosines[1])
    assert result.in_between


def test_a_word_of_one_sense_is_at_its_end():
    result = between_senses(
        vectors(bank=(1, 0.05, 0)), "bank", ("money", "loan"), ("river", "boat")
    )
    assert result.position == pytest.approx(0, abs=0.05)
    assert not result.in_between


def test_swapping_the_senses_mirrors_the_position():
    groups, near = (("money", "loan"), ("river", "boat")), vectors(bank=(3, 1, 0))
    first, other = (
        between_senses(near, "bank", *groups),
        between_senses(near, "bank", *groups[::-1]),
    )
    assert first.position == pytest.approx(1 - other.position)
    assert torch.allclose(first.cosines, other.cosines.flip(0))


def test_a_word_of_a_group_is_held_against_the_others_of_it():
    result = between_senses(vectors(), "bank", ("money", "loan"), ("river", "boat"))
    positions = {word: x for word, x, _ in result.points}
    assert positions["money"] == positions["loan"] == pytest.approx(0.9 / 0.82**0.5)


def test_the_verdict_follows_the_numbers(lesson):
    assert "so it is an average of both senses." in " ".join(lesson().text().split())
    one_sided = lesson(vectors(bank=(1, 0.05, 0)))
    assert "so it is not an average of both senses." in " ".join(one_sided.text().split())
    mixed = lesson(first_sense="money river", second_sense="loan boat")
    assert not mixed.measured.separated
    assert not mixed.measured.in_between
    assert "do not form two groups" in " ".join(mixed.text().split())


def test_a_word_far_from_both_senses_is_not_in_between():
    result = between_senses(vectors(), "cloud", ("money", "loan"), ("river", "boat"))
    assert result.position == pytest.approx(0.5, abs=0.05)
    assert result.separated
    assert not result.in_between


def test_the_rule_selects_nouns_that_occur_with_one_sense_only():
    money, river = cooccurring_nouns("bank")
    assert {"loan", "cheque", "account", "money"} == {*money}
    assert len(river) == 6
    assert {"fish", "boat", "net"} < {*river}
    assert not {*money} & {*river}


def test_handpicked_words_are_reported_with_those_of_the_rule(lesson):
    rows = {word: (1, 0.1 * n, 0) for n, word in enumerate(cooccurring_nouns("bank")[0])}
    rows |= {word: (0.1 * n, 1, 0) for n, word in enumerate(cooccurring_nouns("bank")[1])}
    rows |= dict.fromkeys(MONEY.split(), (1, 0, 0.1))
    rows |= dict.fromkeys(RIVER.split(), (0, 1, 0.1))
    result = lesson(vectors(**rows), first_sense=None, second_sense=None)
    assert result.word_choice == "hand"
    assert result.ruled.separated
    text = " ".join(result.text().split())
    caveat, verdict = "The words were chosen by hand", "For the words chosen by hand: it is"
    assert 0 < text.index(caveat) < text.index(verdict)
    assert "average of both" not in text[: text.index(caveat)]
    assert "हाथ से चुने गए" in " ".join(result.text("hi").split())
    assert "chosen by hand" not in lesson().text()


def test_other_words_have_the_senses_of_the_primer(lesson):
    first, other = cooccurring_nouns("bat")
    rows = {"bat": (1, 1, 0), **dict.fromkeys(first, (1, 0, 0)), **dict.fromkeys(other, (0, 1, 0))}
    result = lesson(vectors(**rows), first_sense=None, second_sense=None, word="bat")
    assert (result.measured.first, result.measured.second) == (first, other)
    assert result.word_choice == "rule"
    assert "The words are the nouns most often in a sentence with it" in " ".join(
        result.text().split()
    )


@pytest.mark.parametrize("lang", ["en", "hi"])
def test_the_story_has_the_static_vector(lesson, lang):
    assert "0.90  0.30   apple" in lesson().text(lang)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"sentence": "a phone"}, "the sentence does not have the word 'apple' it is about"),
        ({"static": [1]}, "static: the numbers are 1; give 2"),
        ({"static": []}, r"static: not numbers in one row, such as \[1, 0\]"),
        ({"meanings": {"phone": 1}}, "meanings: not numbers in rows of one length"),
        ({"static": [0, 0]}, "static: give two numbers from 0 on, not both of them 0"),
        ({"first_sense": "money"}, "first_sense: has 1 word; give two or more"),
        (
            {"second_sense": None},
            "first_sense and second_sense: give words of both senses, or of neither",
        ),
        (
            {"first_sense": None, "second_sense": None, "word": "king"},
            "the primer has no senses of 'king': give first_sense and second_sense, some words of",
        ),
        ({"word": "banks"}, "'banks' is not among the 7 known ones; did you mean 'bank'"),
    ],
)
def test_a_wrong_argument_is_named_in_the_error(lesson, arguments, message):
    with pytest.raises(UserError, match=message):
        lesson(**arguments)


@pytest.mark.soak
def test_bank_is_in_between_and_ocean_and_king_are_not():
    result = learn_vectors(read_corpus("", 40_000, 1), "", steps=None, seed=1, on_progress=None)
    groups = (MONEY.split(), RIVER.split())
    bank, ocean, king = (
        between_senses(result, word, *groups) for word in ("bank", "ocean", "king")
    )
    assert (bank.cosines > bank.every).all()
    assert bank.in_between
    assert not ocean.in_between
    assert not king.in_between
    assert ocean.position > bank.position
