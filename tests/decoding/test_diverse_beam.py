"""DiverseBeam of a beam: the ones written out, and what they have in common with a plain beam."""

import pytest
import torch

from dhyan.decoding.beam import Beam
from dhyan.decoding.diverse_beam import DiverseBeam
from dhyan.special_tokens import EOS
from tests import reference_loops as written_out
from tests.reference_loops import SOURCE, SOURCES, lively, searched


def search(model, source=SOURCE, **options):
    return searched(
        model, source, **{"width": 6, "max_length": 7, "length_penalty": 1.0, **options}
    )


@pytest.mark.parametrize("power", [0.0, 1.0])
@pytest.mark.parametrize(("width", "groups"), [(3, 3), (4, 2), (6, 3)])
@pytest.mark.parametrize("seed", range(6))
def test_groups_are_the_ones_written_out(width, groups, power, seed):
    model = lively(seed)
    options = {"width": width, "length_penalty": power, "groups": groups, "diversity": 0.8}
    [found] = search(model, **options)
    wanted = written_out.diverse(model, width, 7, power, groups, 0.8)
    assert [written_out.written(h) for h in found] == [s for _, s in wanted]
    assert [h.score for h in found] == pytest.approx([t for t, _ in wanted], abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_one_group_is_the_plain_beam_whatever_diversity(seed):
    model = lively(seed)
    assert search(model, SOURCES, groups=1, diversity=3.0) == search(model, SOURCES)


@pytest.mark.parametrize("seed", range(3))
def test_groups_that_pay_nothing_all_find_what_one_finds(seed):
    model = lively(seed)
    groups, alone = search(model, SOURCES, groups=3), search(model, SOURCES, width=2)
    for own, narrow in zip(groups, alone, strict=True):
        assert [h.ids for h in own] == [h.ids for h in narrow]
        assert [h.score for h in own] == pytest.approx([h.score for h in narrow], abs=1e-4)


@pytest.mark.parametrize("seed", range(3))
def test_what_the_first_group_finds_is_a_narrow_beam(seed):
    model = lively(seed)
    groups = search(model, SOURCES, groups=3, diversity=1.0)
    for own, narrow in zip(groups, search(model, SOURCES, width=2), strict=True):
        assert {h.ids for h in narrow} <= {h.ids for h in own}


def test_no_translation_comes_twice_and_the_best_come_first():
    for seed in range(5):
        for own in search(lively(seed), SOURCES, groups=3, diversity=0.3):
            order = [(h.finished, h.score) for h in own]
            assert order == sorted(order, reverse=True)
            assert len({written_out.written(h) for h in own}) == len(own)


def test_a_high_price_makes_groups_begin_with_different_words():
    for seed in range(5):
        [found] = search(lively(seed, ending=-5.0), groups=6, diversity=100.0)
        assert len({h.ids[0] for h in found}) == 6
        firsts = [h.ids[:1] for h in search(lively(seed, ending=-5.0))[0]]
        assert len(set(firsts)) < 6


def test_to_end_costs_nothing():
    [found] = search(lively(0, ending=20.0), width=2, groups=2, diversity=100.0)
    assert found[0].ids == ()
    assert EOS not in {i for h in found for i in h.ids}


def test_an_empty_place_of_a_group_costs_the_next_one_nothing():
    """The first group can say one word only; all words but that one cost the second nothing."""
    free = torch.tensor([-1.0, -1.1, -1.2, -1.3, -1.4, -1.5])
    only = torch.full((6,), -torch.inf).index_fill(0, torch.tensor([5]), 0.0)
    scores = torch.stack([only, only, only, free, free, free]).unsqueeze(0)
    groups = DiverseBeam((Beam.start(1, 3, 0.0, torch.device("cpu")),) * 2, 9.0)
    grown, _ = groups.extend(scores)
    assert grown.ids[0, 3:, -1].tolist() == [0, 1, 3]
    assert grown.score[0].tolist() == pytest.approx([0, -torch.inf, -torch.inf, -1, -1.1, -1.3])
