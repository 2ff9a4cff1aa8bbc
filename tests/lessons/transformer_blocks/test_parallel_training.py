"""Learning from all words at once is learning from them one by one."""

from dataclasses import replace

import pytest

from dhyan.errors import UserError
from dhyan.lessons.transformer_blocks.parallel_training import _typical, parallel_training


def test_sequential_and_parallel_passes_have_equal_loss_and_gradients():
    result = parallel_training(lengths=[1, 12, 25])
    for pair in (result.sentence, *result.timed):
        assert pair.sequential.losses.tolist() == pytest.approx(pair.parallel.losses.tolist())
        assert pair.loss_difference < 1e-12
        assert pair.gradient_difference < 1e-12
        assert pair.parallel.gradient.abs().max() > 1e-3
    assert result.same
    assert "are the same" in result.text()


def test_a_parallel_pass_runs_the_decoder_once():
    result = parallel_training("a b", target="c d e f", lengths=[3, 12])
    assert [pair.sequential.runs for pair in (result.sentence, *result.timed)] == [5, 4, 13]
    assert [pair.parallel.runs for pair in (result.sentence, *result.timed)] == [1, 1, 1]
    assert result.sentence.sequential.losses.shape == (5,)
    assert result.words == ("c", "d", "e", "f", "</s>")


@pytest.mark.slow
@pytest.mark.parametrize("words", [60, pytest.param(300, marks=pytest.mark.soak)])
def test_a_parallel_pass_over_many_words_is_faster(words):
    long = parallel_training(lengths=[3, words]).timed[1]
    assert (long.sequential.runs, long.parallel.runs) == (words + 1, 1)
    assert long.times_faster > 3
    assert max(long.loss_difference, long.gradient_difference) < 1e-9


def test_a_time_is_the_median_of_its_repeats_and_the_machine_is_named():
    pair = parallel_training(lengths=[1], repeats=1).timed[0]
    times = [0.1, 5.0, 0.3]
    several = [
        replace(pair, sequential=replace(pair.sequential, seconds=seconds)) for seconds in times
    ]
    assert _typical(several).sequential.seconds == 0.3
    result = parallel_training(lengths=[2], repeats=2)
    assert result.repeats == 2
    assert f"median of 2, a machine with {result.machine.cores} cores" in " ".join(
        result.text().split()
    )
    assert "2 मापों की माध्यिका" in " ".join(result.text("hi").split())


def test_the_page_is_in_both_languages():
    result = parallel_training(lengths=[2])
    assert "3 sequential decoder passes" in result.text().replace("\n", " ")
    assert "समांतर" in result.text("hi")


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
