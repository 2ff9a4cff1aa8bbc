"""The primer's tests: every group of lengths alike, none trained on, in either direction."""

import pytest

from dhyan.compare.test_sets import Sizes, primer_tests
from dhyan.data.primer import splits as stream
from dhyan.evaluation.slices import LENGTHS, slice_rows
from dhyan.text.tokenizer import Tokenizer

FEW = Sizes(4, 3, 3)


def lengths(test_set):
    return [len(one.source.split()) for one in test_set.examples]


@pytest.fixture(scope="module")
def tests():
    return primer_tests(longest=15, sizes=FEW)


def test_length_slices_have_equal_sizes(tests):
    groups = slice_rows(lengths(tests.main), LENGTHS)
    assert [(part.least, len(part.rows)) for part in groups] == [(1, 4), (6, 4), (11, 4)]


def test_longer_sentences_are_longer_and_have_links(tests):
    by_name = {test_set.name: test_set for test_set in tests.sets}
    assert min(lengths(by_name["longer"])) > 15
    for test_set in (*tests.sets, tests.selection):
        assert all(one.links for one in test_set.examples)
        test_set.reference_set()
    for name in ("context", "idiom", "attachment", "agreement"):
        assert any(one.checks for one in by_name[name].examples)


def test_unseen_pairings_are_of_words_that_the_vocabularies_have(tests):
    kept = tests.sets[1].examples[::2]
    sides = ([one.source for one in kept], [one.target for one in kept])
    words = tuple(Tokenizer.train(side, kind="words", size=9000) for side in sides)
    again = primer_tests(longest=15, sizes=Sizes(1, 2, 1), words=words, splits=("unseen",))
    assert [one.source for one in again.sets[1].examples] == [one.source for one in kept]


@pytest.mark.parametrize("shortest", [4, 9])
def test_sentences_have_the_minimum_length(shortest):
    made = primer_tests(shortest=shortest, longest=12, sizes=FEW, splits=("unseen", "longer"))
    main, unseen, longer = made.sets
    for test_set in (main, unseen, made.selection):
        assert shortest <= min(lengths(test_set)) <= max(lengths(test_set)) <= 12
    assert min(lengths(longer)) > 12
    assert f"of {shortest} to 12 words" in main.about


def test_a_test_set_that_cannot_be_generated_is_left_out_and_logged(log, monkeypatch):
    monkeypatch.setattr(stream, "MAX_ATTEMPTS", 300)
    made = primer_tests(longest=4, sizes=FEW, splits=("agreement", "longer"))
    assert [test_set.name for test_set in made.sets] == ["random", "longer"]
    assert log.messages[0] == "test 'agreement': found 0 of 3 sentences; left out"


def test_a_short_test_set_is_kept_and_logged(log, monkeypatch):
    monkeypatch.setattr(stream, "MAX_ATTEMPTS", 1200)

    def words(test_set):
        sides = (
            [one.source for one in test_set.examples],
            [one.target for one in test_set.examples],
        )
        return tuple(Tokenizer.train(side, kind="words", size=9000) for side in sides)

    settings = {"longest": 5, "splits": ("unseen",)}
    two = primer_tests(sizes=Sizes(1, 2, 1), **settings).sets[1]
    made = primer_tests(sizes=Sizes(1, 30, 1), words=words(two), **settings)
    found = len(made.sets[1].examples)
    assert 2 <= found < 30
    assert log.messages == [f"test 'unseen': found {found} of 30 sentences"]


def test_references_contain_the_required_words(tests):
    for test_set in tests.sets:
        for one in test_set.examples:
            assert all(want.passes(one.target) for want in one.checks), (one.target, one.checks)


def test_backwards_swaps_sides_and_links(tests):
    back = primer_tests(longest=15, sizes=FEW, backwards=True)
    one, other = tests.selection, back.selection
    assert [q.source for q in one.examples] == [q.target for q in other.examples]
    for ours, theirs in zip(one.reference_set().gold, other.reference_set().gold, strict=True):
        assert {(b, a) for a, b in ours.sure} == theirs.sure
