"""The primer's tests: as many of each length, none that was trained on, in either direction."""

import pytest

from dhyan.compare.primer import Sizes, primer_tests
from dhyan.evaluation.slices import LENGTHS, parts
from dhyan.text.tokenizer import Tokenizer

FEW = Sizes(4, 3, 3)


def lengths(sheet):
    return [len(one.source.split()) for one in sheet.questions]


@pytest.fixture(scope="module")
def tests():
    return primer_tests(longest=15, sizes=FEW)


def test_there_are_as_many_of_each_length(tests):
    groups = parts(lengths(tests.main), LENGTHS)
    assert [(part.least, len(part.rows)) for part in groups] == [(1, 4), (6, 4), (11, 4)]


def test_longer_is_longer_and_every_test_has_its_links(tests):
    by_name = {sheet.name: sheet for sheet in tests.sheets}
    assert min(lengths(by_name["longer"])) > 15
    for sheet in (*tests.sheets, tests.choosing):
        assert all(one.links for one in sheet.questions)
        sheet.exam()
    for name in ("context", "idiom", "attachment", "agreement"):
        assert any(one.wanted for one in by_name[name].questions)


def test_unseen_pairings_are_of_words_that_the_vocabularies_have(tests):
    kept = tests.sheets[1].questions[::2]
    sides = ([one.source for one in kept], [one.target for one in kept])
    words = tuple(Tokenizer.learn(side, kind="words", size=9000) for side in sides)
    again = primer_tests(longest=15, sizes=Sizes(1, 2, 1), words=words, splits=("unseen",))
    assert [one.source for one in again.sheets[1].questions] == [one.source for one in kept]


def test_a_reference_says_what_is_wanted(tests):
    for sheet in tests.sheets:
        for one in sheet.questions:
            assert all(want.met(one.target) for want in one.wanted), (one.target, one.wanted)


def test_backwards_sides_and_links_change_places(tests):
    back = primer_tests(longest=15, sizes=FEW, backwards=True)
    one, other = tests.choosing, back.choosing
    assert [q.source for q in one.questions] == [q.target for q in other.questions]
    for ours, theirs in zip(one.exam().gold, other.exam().gold, strict=True):
        assert {(b, a) for a, b in ours.sure} == theirs.sure
