"""Alignment of speech: whether attention is at the phoneme that sounds, against its true times."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from jaxtyping import Float, Int
from torch import Tensor

from dhyan.errors import UserError

TOLERANCE = 0.05  # seconds


@dataclass(frozen=True)
class SpeechAlignment:
    """Attention against the true times of the phonemes, over all sentences.

    `onsets_within` is the share of onsets at most the tolerance away, `onset_error` their mean
    distance in seconds; a sentence's first onset is not counted, since every alignment begins there.
    `weight_on_phoneme` is the mean weight on the phoneme that sounds. `focus_rate` is the mean of
    the largest weights (Ren et al., 2019).
    """

    onsets_within: float
    onset_error: float
    weight_on_phoneme: float
    diagonality: float
    focus_rate: float
    sentences: int


@dataclass(frozen=True)
class SpokenSentence:
    """Weights of frames on phonemes, and when each phoneme truly begins, in seconds."""

    weights: Float[Tensor, "T S"]
    onsets: Sequence[float]


def monotonic_alignment(weights: Float[Tensor, "T S"]) -> Int[Tensor, " T"]:
    """The phoneme of each frame on the most probable monotonic path through the weights.

    The path begins at the first phoneme, ends at the last, and leaves none out; the search is that
    of Kim et al. (2020, Glow-TTS), by dynamic programming.
    """
    frames, phonemes = weights.shape
    if not 0 < phonemes <= frames:
        raise UserError(
            f"{frames} frames cannot be aligned to {phonemes} phonemes: each needs at least one"
        )
    logs = weights.double().clamp_min(1e-12).log()
    best = torch.full((phonemes,), -torch.inf, dtype=torch.float64)
    best[0] = logs[0, 0]
    moved = torch.zeros(frames, phonemes, dtype=torch.bool)
    for frame in range(1, frames):
        before = torch.cat([best.new_full((1,), -torch.inf), best[:-1]])
        moved[frame] = before > best
        best = torch.maximum(best, before) + logs[frame]
    path = [phonemes - 1]
    for frame in range(frames - 1, 0, -1):
        path.append(path[-1] - int(moved[frame, path[-1]]))
    return torch.tensor(path[::-1])


def uniform_alignment(frames: int, phonemes: int) -> Int[Tensor, " T"]:
    """The alignment that gives every phoneme as many frames: what a model must beat."""
    return torch.arange(frames) * phonemes // frames


def onsets(path: Int[Tensor, " T"], frame_seconds: float) -> list[float]:
    """When each phoneme of a path begins; frame t lasts from t - ½ to t + ½, the first from 0."""
    first = torch.cat([torch.tensor([True]), path.diff() > 0]).nonzero().squeeze(1)
    return [max(frame - 0.5, 0.0) * frame_seconds for frame in first.tolist()]


def phoneme_of_frames(begins: Sequence[float], frames: int, seconds: float) -> Int[Tensor, " T"]:
    """The phoneme that truly sounds at the centre of each frame."""
    centres = torch.arange(frames, dtype=torch.float64) * seconds
    after = torch.searchsorted(torch.tensor(begins, dtype=torch.float64), centres, right=True)
    return (after - 1).clamp_min(0)


def diagonality(weights: Float[Tensor, "T S"]) -> float:
    """One minus the mean distance of the attention from the diagonal, as a share of the source."""
    frames, phonemes = weights.shape
    if frames < 2 or phonemes < 2:
        return 1.0
    place = torch.arange(phonemes, dtype=torch.float64) / (phonemes - 1)
    time = torch.arange(frames, dtype=torch.float64) / (frames - 1)
    distances = (place - time.unsqueeze(1)).abs()
    shares = weights.double() / weights.double().sum(dim=1, keepdim=True).clamp_min(1e-12)
    return 1 - float((shares * distances).sum(dim=1).mean())


def speech_alignment(
    sentences: Sequence[SpokenSentence], frame_seconds: float, *, tolerance: float = TOLERANCE
) -> SpeechAlignment:
    """Onsets by the monotonic alignment of the weights, against the true ones."""
    if not sentences:
        raise UserError("no sentence to align: give the weights of at least one")
    errors = list[float]()
    on_phoneme, largest = list[Tensor](), list[Tensor]()
    for sentence in sentences:
        weights, true = sentence.weights, sentence.onsets
        if len(true) != weights.shape[1]:
            raise UserError(
                f"{len(true)} onsets for {weights.shape[1]} phonemes: give one for each"
            )
        predicted = onsets(monotonic_alignment(weights), frame_seconds)
        errors += [abs(p - t) for p, t in zip(predicted[1:], true[1:], strict=True)]
        sounding = phoneme_of_frames(true, len(weights), frame_seconds)
        on_phoneme.append(weights.double().gather(1, sounding.unsqueeze(1)))
        largest.append(weights.double().max(dim=1).values)
    return SpeechAlignment(
        onsets_within=sum(error <= tolerance for error in errors) / max(len(errors), 1),
        onset_error=sum(errors) / max(len(errors), 1),
        weight_on_phoneme=float(torch.cat(on_phoneme).mean()),
        diagonality=sum(diagonality(s.weights) for s in sentences) / len(sentences),
        focus_rate=float(torch.cat(largest).mean()),
        sentences=len(sentences),
    )
