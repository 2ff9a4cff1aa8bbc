"""The alignment of speech, against cases computed by hand and by exhaustive search."""

from itertools import combinations

import pytest
import torch

from dhyan.errors import UserError
from dhyan.evaluation.speech_alignment import (
    SpokenSentence,
    diagonality,
    monotonic_alignment,
    onsets,
    phoneme_of_frames,
    speech_alignment,
    uniform_alignment,
)


@pytest.fixture(autouse=True)
def _one_thread():
    torch.set_num_threads(1)


def one_hot(path, phonemes):
    return torch.nn.functional.one_hot(torch.tensor(path), phonemes).float()


def test_the_alignment_is_the_best_of_all_monotonic_paths():
    torch.manual_seed(0)
    for frames, phonemes in [(1, 1), (3, 3), (5, 2), (7, 4)]:
        weights = torch.rand(frames, phonemes).softmax(1)
        paths = []
        for starts in combinations(range(1, frames), phonemes - 1):
            steps = torch.zeros(frames, dtype=torch.long)
            steps[list(starts)] = 1
            paths.append(steps.cumsum(0))
        best = max(paths, key=lambda p: float(weights.gather(1, p[:, None]).log().sum()))
        assert torch.equal(monotonic_alignment(weights), best)


def test_a_monotonic_attention_is_its_own_alignment():
    path = [0, 0, 0, 1, 2, 2, 3]
    assert monotonic_alignment(one_hot(path, 4)).tolist() == path


def test_one_frame_that_strays_does_not_move_the_alignment():
    strayed = one_hot([0, 0, 2, 0, 1, 1, 2, 2], 3)
    assert monotonic_alignment(strayed).tolist() == [0, 0, 0, 0, 1, 1, 2, 2]


def test_fewer_frames_than_phonemes_are_an_error():
    with pytest.raises(UserError, match="2 frames cannot be aligned to 3 phonemes"):
        monotonic_alignment(torch.ones(2, 3))
    with pytest.raises(UserError, match="0 phonemes"):
        monotonic_alignment(torch.ones(2, 0))


def test_onsets_lie_between_frames():
    assert onsets(torch.tensor([0, 0, 1, 1, 1, 2]), 0.01) == pytest.approx([0, 0.015, 0.045])
    assert uniform_alignment(6, 3).tolist() == [0, 0, 1, 1, 2, 2]
    assert uniform_alignment(5, 2).tolist() == [0, 0, 0, 1, 1]


def test_the_phoneme_of_a_frame_is_the_one_at_its_centre():
    assert phoneme_of_frames([0.012, 0.02, 0.05], 6, 0.01).tolist() == [0, 0, 1, 1, 1, 2]


def test_diagonality_by_hand():
    assert diagonality(torch.eye(5)) == 1
    assert diagonality(torch.eye(3).flip(0)) == pytest.approx(1 - 2 / 3)
    assert diagonality(torch.full((3, 3), 1 / 3)) == pytest.approx(1 - (0.5 + 1 / 3 + 0.5) / 3)
    assert diagonality(2 * torch.eye(5)) == 1  # rows need not sum to one
    assert diagonality(torch.ones(1, 3)) == diagonality(torch.ones(4, 1)) == 1


def test_measures_by_hand():
    weights = one_hot([0, 0, 1, 1, 2, 2], 3)
    weights[1] = torch.tensor([0.6, 0.2, 0.2])  # onsets at 0, 0.15 and 0.35 seconds
    figures = speech_alignment([SpokenSentence(weights, [0.0, 0.12, 0.45])], 0.1)
    assert figures.onsets_within == 0.5  # 30 ms and 100 ms away
    assert figures.onset_error == pytest.approx(0.065)
    assert figures.focus_rate == pytest.approx(5.6 / 6)
    # centres 0 … 0.5 s are phonemes 0 0 1 1 1 2
    assert figures.weight_on_phoneme == pytest.approx((1 + 0.6 + 1 + 1 + 0 + 1) / 6)
    assert figures.sentences == 1
    exact = speech_alignment([SpokenSentence(weights, [0.0, 0.15, 0.35])] * 2, 0.1)
    assert (exact.onsets_within, exact.onset_error) == (1, pytest.approx(0))


def test_a_wider_tolerance_never_lowers_the_share():
    torch.manual_seed(1)
    sentences = [SpokenSentence(torch.rand(12, 4), [0.0, 0.1, 0.2, 0.3]) for _ in range(5)]
    shares = [
        speech_alignment(sentences, 0.03, tolerance=t).onsets_within for t in (0.0, 0.02, 0.1, 1.0)
    ]
    assert shares == sorted(shares)
    assert shares[-1] == 1


def test_mistakes_are_named():
    with pytest.raises(UserError, match="no sentence"):
        speech_alignment([], 0.01)
    with pytest.raises(UserError, match="2 onsets for 3 phonemes"):
        speech_alignment([SpokenSentence(torch.ones(4, 3), [0.0, 0.1])], 0.01)
