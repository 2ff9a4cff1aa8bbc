"""Required phrases: the search written out, and the promise that they are said."""

import itertools

import pytest
import torch

from dhyan.decoding.beam import Beam
from dhyan.decoding.constrained_beam import ConstrainedBeam, Progress, allocate
from dhyan.decoding.rules import forbid_tokens, force_prefix
from dhyan.special_tokens import EOS
from tests import reference_loops as written_out
from tests.laws.family import VOCABULARY
from tests.reference_loops import SOURCE, SOURCES, contains, lively, searched

PHRASES = {
    "one": ((7,),),
    "long": ((6, 7, 8),),
    "two": ((9, 4), (5,)),
    "same beginning": ((6, 7), (6, 8)),
    "overlapping": ((5, 6), (6, 7)),
    "inside": ((5, 6, 7), (6,)),
    "itself again": ((5, 5, 6),),
}


@pytest.mark.parametrize("phrases", PHRASES.values(), ids=PHRASES)
@pytest.mark.parametrize(("width", "power"), [(1, 0.0), (3, 1.0), (4, 0.0), (6, 1.0)])
@pytest.mark.parametrize("seed", range(3))
def test_the_search_is_the_one_written_out(phrases, width, power, seed):
    model = lively(seed)
    [found] = searched(
        model, SOURCE, width=width, max_length=8, length_penalty=power, required=[phrases]
    )
    wanted = written_out.constrained(model, width, 8, power, phrases)
    assert [written_out.written(h) for h in found] == [s for _, s in wanted]
    assert [h.score for h in found] == pytest.approx([t for t, _ in wanted], abs=1e-4)


@pytest.mark.parametrize("options", [{}, {"groups": 2, "diversity": 1.0}])
@pytest.mark.parametrize("phrases", PHRASES.values(), ids=PHRASES)
def test_what_finishes_contains_every_phrase(phrases, options):
    finished = 0
    for seed in range(4):
        [found] = searched(
            lively(seed, ending=3.0), SOURCE, width=4, max_length=12, required=[phrases], **options
        )
        for one in (h for h in found if h.finished):
            assert all(contains(one.ids, phrase) for phrase in phrases)
            finished += 1
    assert finished


@pytest.mark.parametrize("phrases", [((6,),), ((6, 9),), ((6,), (9,))])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_beam_wide_enough_finds_the_best_of_all_that_have_the_phrases(power, phrases):
    options = {"width": 1500, "max_length": 3, "length_penalty": power}
    [free] = searched(lively(5), SOURCE, **options)
    [bound] = searched(lively(5), SOURCE, required=[phrases], **options)
    wanted = [h.ids for h in free if h.finished and all(contains(h.ids, p) for p in phrases)]
    assert wanted
    assert [h.ids for h in bound if h.finished] == wanted


def test_what_cannot_be_met_comes_back_unfinished():
    model = lively(0, ending=5.0)
    too_long = [((4, 5, 6, 7),)]
    for found in (
        searched(model, SOURCE, width=4, max_length=4, required=too_long),
        searched(model, SOURCE, width=4, max_length=9, required=too_long, rules=[forbid_tokens(7)]),
    ):
        assert found[0]
        assert not any(h.finished for h in found[0])
    assert found[0][0].ids.count(7) == 0


def test_sentences_without_phrases_are_searched_as_ever():
    model = lively(3)
    options = {"width": 4, "max_length": torch.tensor([4, 9, 7]), "length_penalty": 1.0}
    plain = searched(model, SOURCES, **options)
    assert searched(model, SOURCES, required=[[], [()], []], **options) == plain
    mixed = searched(model, SOURCES, required=[[], [(6, 7)], []], **options)
    for row in (0, 2):
        assert [h.ids for h in mixed[row]] == [h.ids for h in plain[row]]
        scores = [h.score for h in plain[row]]
        assert [h.score for h in mixed[row]] == pytest.approx(scores, abs=1e-4)
    assert all(contains(h.ids, (6, 7)) for h in mixed[1] if h.finished)


def test_each_sentence_has_its_own_phrases_limit_and_rules():
    model = lively(4)
    required = [[(6,)], [(7, 8), (9,)], [(10, 4)]]
    prefixes, limits = [[5], [7], [12, 12]], torch.tensor([5, 9, 7])
    together = searched(
        model,
        SOURCES,
        width=4,
        max_length=limits,
        required=required,
        rules=[force_prefix(prefixes)],
    )
    for row, own in enumerate(together):
        [alone] = searched(
            model,
            SOURCES.select(torch.tensor([row])),
            width=4,
            max_length=int(limits[row]),
            required=[required[row]],
            rules=[force_prefix([prefixes[row]])],
        )
        assert [written_out.written(h) for h in own] == [written_out.written(h) for h in alone]
        assert all(list(h.ids[: len(prefixes[row])]) == prefixes[row] for h in own)


def test_with_nothing_left_to_say_it_grows_as_the_usual_beam():
    torch.manual_seed(8)
    plain = Beam.start(2, 5, 1.0, torch.device("cpu"))
    bound = ConstrainedBeam.start(plain, [[], []])
    for _ in range(5):
        scores = torch.randn(2, 5, VOCABULARY).log_softmax(-1)
        plain, parents = plain.extend(scores)
        bound, others = bound.extend(scores)
        assert torch.equal(parents, others)
        assert torch.equal(plain.ids, bound.ids)
        assert torch.equal(plain.score, bound.score)
        assert plain.ranked(1) == bound.ranked(1)


def test_progress_word_by_word_is_what_reading_all_of_it_says():
    phrases = ((4, 4, 5), (5, 4), (4,))
    for words in itertools.product((4, 5, 6), repeat=6):
        progress = Progress(phrases)
        for place, word in enumerate(words, start=1):
            before, progress = progress, progress.append(word)
            assert progress.missing == written_out.left(words[:place], phrases)
            if progress.missing < sum(map(len, before.unmet)):
                assert word in before.next_tokens() or not before.unmet


def test_places_are_dealt_in_turn_to_all_that_can_fill_them():
    assert allocate(5, {2: 9, 0: 9}) == {0: 3, 2: 2}
    assert allocate(6, {0: 1, 1: 2, 2: 9}) == {0: 1, 1: 2, 2: 3}
    assert allocate(2, {0: 9, 1: 9, 2: 9}) == {0: 1, 1: 1, 2: 0}
    assert allocate(9, {0: 2, 3: 1}) == {0: 2, 3: 1}


def test_the_same_phrase_twice_is_said_once_at_least():
    [found] = searched(
        lively(1, ending=3.0), SOURCE, width=3, max_length=9, required=[[(6, 7), (6, 7)]]
    )
    assert found[0].finished
    assert contains(found[0].ids, (6, 7))
    assert EOS not in found[0].ids


def test_phrases_for_other_sentences_are_refused():
    with pytest.raises(ValueError, match="phrases of 2 sentences for a beam of 1"):
        ConstrainedBeam.start(Beam.start(1, 3, 1.0, torch.device("cpu")), [[], [(6,)]])
