"""Constrained beam search: equal to its reference, and every phrase occurs."""

import itertools

import pytest
import torch

from dhyan.decoding.beam import Beam
from dhyan.decoding.constrained_beam import ConstrainedBeam, Progress, allocate
from dhyan.decoding.rules import forbid_tokens, force_prefix
from dhyan.special_tokens import EOS
from tests.decoding import reference_search
from tests.decoding.reference_search import (
    SOURCE,
    SOURCES,
    beam_search_with,
    contains,
    random_model,
)
from tests.laws.family import VOCABULARY

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
def test_constrained_beam_search_equals_the_reference(phrases, width, power, seed):
    model = random_model(seed)
    [results] = beam_search_with(
        model, SOURCE, width=width, max_length=8, length_penalty=power, required=[phrases]
    )
    expected = reference_search.constrained(model, width, 8, power, phrases)
    assert [reference_search.with_bos_and_eos(h) for h in results] == [s for _, s in expected]
    assert [h.score for h in results] == pytest.approx([t for t, _ in expected], abs=1e-4)


@pytest.mark.parametrize("options", [{}, {"groups": 2, "diversity": 1.0}])
@pytest.mark.parametrize("phrases", PHRASES.values(), ids=PHRASES)
def test_finished_hypotheses_contain_every_phrase(phrases, options):
    finished = 0
    for seed in range(4):
        [results] = beam_search_with(
            random_model(seed, ending=3.0),
            SOURCE,
            width=4,
            max_length=12,
            required=[phrases],
            **options,
        )
        for hypothesis in (h for h in results if h.finished):
            assert all(contains(hypothesis.ids, phrase) for phrase in phrases)
            finished += 1
    assert finished


@pytest.mark.parametrize("phrases", [((6,),), ((6, 9),), ((6,), (9,))])
@pytest.mark.parametrize("power", [0.0, 1.0])
def test_a_wide_beam_finds_the_best_with_the_phrases(power, phrases):
    options = {"width": 1500, "max_length": 3, "length_penalty": power}
    [free] = beam_search_with(random_model(5), SOURCE, **options)
    [constrained] = beam_search_with(random_model(5), SOURCE, required=[phrases], **options)
    expected = [h.ids for h in free if h.finished and all(contains(h.ids, p) for p in phrases)]
    assert expected
    assert [h.ids for h in constrained if h.finished] == expected


def test_phrases_that_do_not_fit_leave_hypotheses_unfinished():
    model = random_model(0, ending=5.0)
    too_long = [((4, 5, 6, 7),)]
    for results in (
        beam_search_with(model, SOURCE, width=4, max_length=4, required=too_long),
        beam_search_with(
            model, SOURCE, width=4, max_length=9, required=too_long, rules=[forbid_tokens(7)]
        ),
    ):
        assert results[0]
        assert not any(h.finished for h in results[0])
    assert results[0][0].ids.count(7) == 0


def test_sentences_without_phrases_are_unaffected():
    model = random_model(3)
    options = {"width": 4, "max_length": torch.tensor([4, 9, 7]), "length_penalty": 1.0}
    plain = beam_search_with(model, SOURCES, **options)
    assert beam_search_with(model, SOURCES, required=[[], [()], []], **options) == plain
    mixed = beam_search_with(model, SOURCES, required=[[], [(6, 7)], []], **options)
    for row in (0, 2):
        assert [h.ids for h in mixed[row]] == [h.ids for h in plain[row]]
        scores = [h.score for h in plain[row]]
        assert [h.score for h in mixed[row]] == pytest.approx(scores, abs=1e-4)
    assert all(contains(h.ids, (6, 7)) for h in mixed[1] if h.finished)


def test_each_sentence_has_its_own_phrases_limit_and_rules():
    model = random_model(4)
    required = [[(6,)], [(7, 8), (9,)], [(10, 4)]]
    prefixes, limits = [[5], [7], [12, 12]], torch.tensor([5, 9, 7])
    batched = beam_search_with(
        model,
        SOURCES,
        width=4,
        max_length=limits,
        required=required,
        rules=[force_prefix(prefixes)],
    )
    for row, hypotheses in enumerate(batched):
        [alone] = beam_search_with(
            model,
            SOURCES.select(torch.tensor([row])),
            width=4,
            max_length=int(limits[row]),
            required=[required[row]],
            rules=[force_prefix([prefixes[row]])],
        )
        assert [reference_search.with_bos_and_eos(h) for h in hypotheses] == [
            reference_search.with_bos_and_eos(h) for h in alone
        ]
        assert all(list(h.ids[: len(prefixes[row])]) == prefixes[row] for h in hypotheses)


def test_without_missing_phrases_it_is_the_plain_beam():
    torch.manual_seed(8)
    plain = Beam.start(2, 5, 1.0, torch.device("cpu"))
    constrained = ConstrainedBeam.start(plain, [[], []])
    for _ in range(5):
        scores = torch.randn(2, 5, VOCABULARY).log_softmax(-1)
        plain, parents = plain.extend(scores)
        constrained, others = constrained.extend(scores)
        assert torch.equal(parents, others)
        assert torch.equal(plain.ids, constrained.ids)
        assert torch.equal(plain.score, constrained.score)
        assert plain.ranked(1) == constrained.ranked(1)


def test_progress_by_tokens_equals_progress_of_the_whole():
    phrases = ((4, 4, 5), (5, 4), (4,))
    for ids in itertools.product((4, 5, 6), repeat=6):
        progress = Progress(phrases)
        for length, token in enumerate(ids, start=1):
            before, progress = progress, progress.append(token)
            assert progress.missing == reference_search.missing(ids[:length], phrases)
            if progress.missing < sum(map(len, before.unmet)):
                assert token in before.next_tokens() or not before.unmet


def test_slots_are_allocated_in_turn():
    assert allocate(5, {2: 9, 0: 9}) == {0: 3, 2: 2}
    assert allocate(6, {0: 1, 1: 2, 2: 9}) == {0: 1, 1: 2, 2: 3}
    assert allocate(2, {0: 9, 1: 9, 2: 9}) == {0: 1, 1: 1, 2: 0}
    assert allocate(9, {0: 2, 3: 1}) == {0: 2, 3: 1}


def test_a_phrase_required_twice_occurs_at_least_once():
    [results] = beam_search_with(
        random_model(1, ending=3.0), SOURCE, width=3, max_length=9, required=[[(6, 7), (6, 7)]]
    )
    assert results[0].finished
    assert contains(results[0].ids, (6, 7))
    assert EOS not in results[0].ids


def test_phrases_for_too_many_sentences_are_an_error():
    with pytest.raises(ValueError, match="phrases of 2 sentences for a beam of 1"):
        ConstrainedBeam.start(Beam.start(1, 3, 1.0, torch.device("cpu")), [[], [(6,)]])
