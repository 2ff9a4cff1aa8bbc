"""Learning from all words at once is learning from them one by one."""

from dataclasses import replace

import pytest

from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.parallel_training import _typical, parallel_training


def test_both_ways_have_the_same_loss_and_the_same_gradients():
    found = parallel_training(lengths=[1, 12, 25])
    for one in (found.own, *found.timed):
        assert one.in_turn.losses.tolist() == pytest.approx(one.at_once.losses.tolist())
        assert one.loss_difference < 1e-12
        assert one.gradient_difference < 1e-12
        assert one.at_once.gradient.abs().max() > 1e-3
    assert found.same
    assert "are the same" in found.text()


def test_n_words_take_n_and_one_runs_one_by_one_and_one_in_parallel():
    found = parallel_training("a b", target="c d e f", lengths=[3, 12])
    assert [one.in_turn.runs for one in (found.own, *found.timed)] == [5, 4, 13]
    assert [one.at_once.runs for one in (found.own, *found.timed)] == [1, 1, 1]
    assert found.own.in_turn.losses.shape == (5,)
    assert found.words == ("c", "d", "e", "f", "</s>")


@pytest.mark.slow
@pytest.mark.parametrize("words", [60, pytest.param(300, marks=pytest.mark.soak)])
def test_many_words_take_as_many_runs_one_by_one_and_less_time_at_once(words):
    long = parallel_training(lengths=[3, words]).timed[1]
    assert (long.in_turn.runs, long.at_once.runs) == (words + 1, 1)
    assert long.times_faster > 3
    assert max(long.loss_difference, long.gradient_difference) < 1e-9


def test_a_time_is_the_median_of_its_repeats_and_the_machine_is_named():
    pair = parallel_training(lengths=[1], repeats=1).timed[0]
    times = [0.1, 5.0, 0.3]
    several = [replace(pair, in_turn=replace(pair.in_turn, seconds=one)) for one in times]
    assert _typical(several).in_turn.seconds == 0.3
    found = parallel_training(lengths=[2], repeats=2)
    assert found.repeats == 2
    assert f"median of 2 on a machine with {found.machine.cores} cores" in " ".join(
        found.text().split()
    )
    assert "2 मापों की माध्यिका" in " ".join(found.text("hi").split())


def test_the_page_is_in_both_languages():
    found = parallel_training(lengths=[2])
    assert "3 runs one by one" in found.text().replace("\n", " ")
    assert "समांतर" in found.text("hi")


@pytest.mark.parametrize(
    ("lengths", "message"),
    [
        ([], "lengths: give at least one whole number in a list"),
        ([0, 3], "lengths is 0: give a whole number of at least 1"),
    ],
)
def test_wrong_lengths_are_errors(lengths, message):
    with pytest.raises(UserError, match=message):
        parallel_training(lengths=lengths)
