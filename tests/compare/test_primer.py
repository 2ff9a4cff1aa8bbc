"""The primer's tests: as many of each length, none that was trained on, in either direction."""

import pytest

from dhyan.compare.primer import Sizes, primer_tests
from dhyan.evaluation.slices import LENGTHS, parts

FEW = Sizes(4, 3, 3)


def lengths(sheet):
    return [len(one.source.split()) for one in sheet.questions]


@pytest.fixture(scope="module")
def tests():
    return primer_tests(longest=15, sizes=FEW, known=())


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


def test_what_is_known_is_not_asked(tests):
    known = {one.source for one in tests.main.questions}
    second = primer_tests(longest=15, sizes=FEW, known=known)
    assert not known & {one.source for one in second.main.questions}
    assert len(second.main.questions) == len(tests.main.questions)


def test_a_reference_says_what_is_wanted(tests):
    for sheet in tests.sheets:
        for one in sheet.questions:
            assert all(want.met(one.target) for want in one.wanted), (one.target, one.wanted)


def test_backwards_sides_and_links_change_places(tests):
    back = primer_tests(longest=15, sizes=FEW, known=(), backwards=True)
    one, other = tests.choosing, back.choosing
    assert [q.source for q in one.questions] == [q.target for q in other.questions]
    for ours, theirs in zip(one.exam().gold, other.exam().gold, strict=True):
        assert {(b, a) for a, b in ours.sure} == theirs.sure
