"""The primer's tests: every group of lengths alike, none trained on, in either direction."""

import pytest

from dhyan.compare.test_sets import Sizes, primer_tests
from dhyan.data.primer import splits as stream
from dhyan.evaluation.slices import LENGTHS, slice_rows
from dhyan.text.tokenizer import Tokenizer

FEW = Sizes(4, 3, 3)


def lengths(test_set):
    return [len(example.source.split()) for example in test_set.examples]


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
        assert all(example.links for example in test_set.examples)
        test_set.reference_set()
    for name in ("context", "idiom", "attachment", "agreement"):
        assert any(example.checks for example in by_name[name].examples)


def test_unseen_pairings_are_of_words_that_the_vocabularies_have(tests):
    half = tests.sets[1].examples[::2]
    sides = ([example.source for example in half], [example.target for example in half])
    words = tuple(Tokenizer.train(side, kind="words", size=9000) for side in sides)
    again = primer_tests(longest=15, sizes=Sizes(1, 2, 1), words=words, splits=("unseen",))
    assert [example.source for example in again.sets[1].examples] == [
        example.source for example in half
    ]


@pytest.mark.parametrize("shortest", [4, 9])
def test_sentences_have_the_minimum_length(shortest):
    result = primer_tests(shortest=shortest, longest=12, sizes=FEW, splits=("unseen", "longer"))
    main, unseen, longer = result.sets
    for test_set in (main, unseen, result.selection):
        assert shortest <= min(lengths(test_set)) <= max(lengths(test_set)) <= 12
    assert min(lengths(longer)) > 12
    assert f"of {shortest} to 12 words" in main.about


def test_a_test_set_that_cannot_be_generated_is_left_out_and_logged(log, monkeypatch):
    monkeypatch.setattr(stream, "MAX_ATTEMPTS", 300)
    result = primer_tests(longest=4, sizes=FEW, splits=("agreement", "longer"))
    assert [test_set.name for test_set in result.sets] == ["random", "longer"]
    assert log.messages[0] == "test 'agreement': found 0 of 3 sentences; left out"


def test_a_short_test_set_is_kept_and_logged(log, monkeypatch):
    monkeypatch.setattr(stream, "MAX_ATTEMPTS", 1200)

    def words(test_set):
        sides = (
            [example.source for example in test_set.examples],
            [example.target for example in test_set.examples],
        )
        return tuple(Tokenizer.train(side, kind="words", size=9000) for side in sides)

    settings = {"longest": 5, "splits": ("unseen",)}
    two = primer_tests(sizes=Sizes(1, 2, 1), **settings).sets[1]
    result = primer_tests(sizes=Sizes(1, 30, 1), words=words(two), **settings)
    count = len(result.sets[1].examples)
    assert 2 <= count < 30
    assert log.messages == [f"test 'unseen': found {count} of 30 sentences"]


def test_references_contain_the_required_words(tests):
    for test_set in tests.sets:
        for example in test_set.examples:
            assert all(check.passes(example.target) for check in example.checks), (
                example.target,
                example.checks,
            )


def test_backwards_swaps_sides_and_links(tests):
    back = primer_tests(longest=15, sizes=FEW, backwards=True)
    forward, backward = tests.selection, back.selection
    assert [example.source for example in forward.examples] == [
        example.target for example in backward.examples
    ]
    for links, swapped in zip(
        forward.reference_set().gold, backward.reference_set().gold, strict=True
    ):
        assert {(b, a) for a, b in links.sure} == swapped.sure
