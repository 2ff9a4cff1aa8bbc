"""Diverse beam search: groups computed by hand, and what it shares with plain beam search."""

import pytest
import torch

from dhyan.decoding.beam import Beam
from dhyan.decoding.diverse_beam import DiverseBeam
from dhyan.special_tokens import EOS
from tests.decoding import reference_search
from tests.decoding.reference_search import SOURCE, SOURCES, beam_search_with, random_model


def search(model, source=SOURCE, **options):
    return beam_search_with(
        model, source, **{"width": 6, "max_length": 7, "length_penalty": 1.0, **options}
    )


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize(("width", "groups"), [(3, 3), (4, 2), (6, 3)])
@pytest.mark.parametrize("seed", range(6))
def test_diverse_beam_search_equals_the_reference(width, groups, power, seed):
    model = random_model(seed)
    options = {"width": width, "length_penalty": power, "groups": groups, "diversity": 0.8}
    [results] = search(model, **options)
    expected = reference_search.diverse(model, width, 7, power, groups, 0.8)
    assert [reference_search.with_bos_and_eos(h) for h in results] == [s for _, s in expected]
    assert [h.score for h in results] == pytest.approx([t for t, _ in expected], abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_a_single_group_is_the_plain_beam(seed):
    model = random_model(seed)
    assert search(model, SOURCES, groups=1, diversity=3.0) == search(model, SOURCES)


@pytest.mark.parametrize("seed", range(3))
def test_without_penalty_all_groups_find_the_same(seed):
    model = random_model(seed)
    groups, alone = search(model, SOURCES, groups=3), search(model, SOURCES, width=2)
    for hypotheses, narrow in zip(groups, alone, strict=True):
        assert [h.ids for h in hypotheses] == [h.ids for h in narrow]
        assert [h.score for h in hypotheses] == pytest.approx([h.score for h in narrow], abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_the_first_group_is_a_narrow_beam(seed):
    model = random_model(seed)
    groups = search(model, SOURCES, groups=3, diversity=1.0)
    for hypotheses, narrow in zip(groups, search(model, SOURCES, width=2), strict=True):
        assert {h.ids for h in narrow} <= {h.ids for h in hypotheses}


def test_hypotheses_are_unique_and_sorted():
    for seed in range(5):
        for hypotheses in search(random_model(seed), SOURCES, groups=3, diversity=0.3):
            order = [(h.finished, h.score) for h in hypotheses]
            assert order == sorted(order, reverse=True)
            assert len({reference_search.with_bos_and_eos(h) for h in hypotheses}) == len(
                hypotheses
            )


def test_a_high_penalty_gives_different_first_tokens():
    for seed in range(5):
        [results] = search(random_model(seed, ending=-5.0), groups=6, diversity=100.0)
        assert len({h.ids[0] for h in results}) == 6
        firsts = [h.ids[:1] for h in search(random_model(seed, ending=-5.0))[0]]
        assert len(set(firsts)) < 6


def test_eos_is_not_penalised():
    [results] = search(random_model(0, ending=20.0), width=2, groups=2, diversity=100.0)
    assert results[0].ids == ()
    assert EOS not in {i for h in results for i in h.ids}


def test_an_empty_slot_penalises_no_token():
    """The first group can say one word only; all words but that one cost the second nothing."""
    free = torch.tensor([-1.0, -1.1, -1.2, -1.3, -1.4, -1.5])
    only = torch.full((6,), -torch.inf).index_fill(0, torch.tensor([5]), 0.0)
    scores = torch.stack([only, only, only, free, free, free]).unsqueeze(0)
    groups = DiverseBeam((Beam.start(1, 3, 0.0, torch.device("cpu")),) * 2, 9.0)
    extended, _ = groups.extend(scores)
    assert extended.ids[0, 3:, -1].tolist() == [0, 1, 3]
    assert extended.score[0].tolist() == pytest.approx([0, -torch.inf, -torch.inf, -1, -1.1, -1.3])
