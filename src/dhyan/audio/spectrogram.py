"""Mel spectrograms of sounds, and back to a sound by Griffin and Lim (1984).

Letters of the shapes: N samples, T frames, K frequencies of the Fourier transform, M mel bands.
"""

from dataclasses import dataclass

import torch
from jaxtyping import Complex, Float
from torch import Tensor

QUIETEST = 1e-3  # the magnitude below which a mel band counts as silent
NNLS_UPDATES = 50


@dataclass(frozen=True, kw_only=True)
class SpectrogramSettings:
    """Sampling rate in Hz, window and hop in samples, mel bands up to `top` Hz."""

    rate: int = 22_050
    window: int = 1024
    hop: int = 352
    mels: int = 80
    top: int = 8000

    @property
    def frame_seconds(self) -> float:
        """The time from one frame to the next."""
        return self.hop / self.rate

    @property
    def frequencies(self) -> int:
        """The number of frequencies of the Fourier transform."""
        return self.window // 2 + 1

    def frames(self, samples: int) -> int:
        """The number of frames of so many samples; frame t is centred on sample t · hop."""
        return 1 + samples // self.hop

    def samples(self, frames: int) -> int:
        """The number of samples that so many frames become."""
        return max(frames - 1, 0) * self.hop


def mel_filters(settings: SpectrogramSettings) -> Float[Tensor, "M K"]:
    """Triangular filters, equally wide on the mel scale m = 2595 log₁₀(1 + f / 700).

    Each filter's weights sum to one, so a band is an average of magnitudes.
    """
    highest = 2595 * torch.log10(torch.tensor(1 + settings.top / 700, dtype=torch.float64))
    mels = torch.linspace(0, float(highest), settings.mels + 2, dtype=torch.float64)
    edges = 700 * (10 ** (mels / 2595) - 1)
    bins = torch.linspace(0, settings.rate / 2, settings.frequencies, dtype=torch.float64)
    left, centre, right = edges[:-2, None], edges[1:-1, None], edges[2:, None]
    rising, falling = (bins - left) / (centre - left), (right - bins) / (right - centre)
    triangles = torch.minimum(rising, falling).clamp_min(0)
    return (triangles / triangles.sum(dim=1, keepdim=True).clamp_min(1e-9)).float()


def magnitudes(samples: Float[Tensor, " N"], settings: SpectrogramSettings) -> Float[Tensor, "T K"]:
    """The magnitudes of the short-time Fourier transform."""
    return _stft(samples, settings).abs()


def log_mel(samples: Float[Tensor, " N"], settings: SpectrogramSettings) -> Float[Tensor, "T M"]:
    """The logarithm of the mel spectrogram."""
    mel = magnitudes(samples, settings) @ mel_filters(settings).T
    return mel.clamp_min(QUIETEST).log()


def magnitudes_of_log_mel(
    log_mels: Float[Tensor, "T M"], settings: SpectrogramSettings
) -> Float[Tensor, "T K"]:
    """Magnitudes x ≥ 0 whose mel spectrogram is closest: min ‖A x − b‖ for the filters A.

    From the pseudo-inverse, by the multiplicative updates of Lee and Seung (2001).
    """
    filters, mel = mel_filters(settings), log_mels.exp()
    mel = torch.where(mel <= QUIETEST * 1.01, 0.0, mel)
    result = (mel @ torch.linalg.pinv(filters).T).clamp_min(1e-6)
    gram, projected = filters.T @ filters, mel @ filters
    for _ in range(NNLS_UPDATES):
        result = result * projected / (result @ gram).clamp_min(1e-9)
    return result


def griffin_lim(
    magnitude: Float[Tensor, "T K"],
    settings: SpectrogramSettings,
    *,
    iterations: int = 60,
    momentum: float = 0.99,
    seed: int = 0,
) -> Float[Tensor, " N"]:
    """A sound whose short-time Fourier transform has these magnitudes, or nearly so.

    Griffin and Lim (1984) alternate between the given magnitudes and the transform of a real sound;
    the fast variant of Perraudin, Balazs and Søndergaard (2013) steps beyond it by `momentum`.
    """
    if len(magnitude) < 2:
        return magnitude.new_zeros(0)
    generator = torch.Generator().manual_seed(seed)
    phase = 2 * torch.pi * torch.rand(magnitude.shape, generator=generator)
    transform = torch.polar(magnitude, phase)
    previous = transform
    for _ in range(iterations):
        consistent = _stft(_istft(_with_magnitude(transform, magnitude), settings), settings)
        transform = consistent + momentum * (consistent - previous)
        previous = consistent
    return _istft(_with_magnitude(transform, magnitude), settings)


def _with_magnitude(
    transform: Complex[Tensor, "T K"], magnitude: Float[Tensor, "T K"]
) -> Complex[Tensor, "T K"]:
    return transform * (magnitude / transform.abs().clamp_min(1e-9))


def _stft(samples: Float[Tensor, " N"], settings: SpectrogramSettings) -> Complex[Tensor, "T K"]:
    return torch.stft(
        samples,
        settings.window,
        settings.hop,
        window=torch.hann_window(settings.window),
        pad_mode="constant",
        return_complex=True,
    ).T


def _istft(transform: Complex[Tensor, "T K"], settings: SpectrogramSettings) -> Float[Tensor, " N"]:
    return torch.istft(
        transform.T,
        settings.window,
        settings.hop,
        window=torch.hann_window(settings.window),
        length=settings.samples(len(transform)),
    )
