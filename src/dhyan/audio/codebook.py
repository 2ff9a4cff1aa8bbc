"""Codebook of mel frames: a sound as symbols, one for each frame, and back (vector quantisation)."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from io import BytesIO
from pathlib import Path

import torch
from jaxtyping import Float, Int
from safetensors.torch import load, save
from torch import Tensor

from dhyan.audio.codebook_file import (
    CODEBOOK_FILE,
    LIMITS,
    MAX_CODEBOOK_BYTES,
    MAX_MAGNITUDE,
    check_codebook_header,
)
from dhyan.audio.spectrogram import (
    SpectrogramSettings,
    griffin_lim,
    log_mel,
    magnitudes_of_log_mel,
)
from dhyan.audio.wav import envelope, to_wav_bytes
from dhyan.errors import UserError
from dhyan.safe_io.bounded_files import read_file
from dhyan.safe_io.safetensors_header import InvalidHeader, read_header

_SYMBOL = re.compile(r"c([0-9]{3,6})", re.ASCII)


@dataclass(frozen=True, eq=False)
class Codebook:
    """Log-mel frames; frame i is the symbol `c017` for i = 17, the quietest frame is `c000`."""

    settings: SpectrogramSettings
    entries: Float[Tensor, "C M"]

    @classmethod
    def train(
        cls,
        sounds: Iterable[Float[Tensor, " _"]],
        settings: SpectrogramSettings,
        *,
        size: int,
        iterations: int = 30,
        seed: int = 0,
    ) -> "Codebook":
        """The means of `size` clusters of the sounds' frames, or fewer if fewer frames differ."""
        frames = torch.cat([log_mel(samples, settings) for samples in sounds])
        means = k_means(frames, size, iterations=iterations, seed=seed)
        return cls(settings, means[means.mean(dim=1).argsort(stable=True)])

    @property
    def symbols(self) -> list[str]:
        """Every symbol, in the order of the entries."""
        return [f"c{index:03d}" for index in range(len(self.entries))]

    def encode(self, samples: Float[Tensor, " N"]) -> str:
        """The symbols of a sound's frames, with spaces between them."""
        return self.spell(self.nearest(log_mel(samples, self.settings)))

    def decode(self, symbols: str | Sequence[str], *, iterations: int = 60) -> Float[Tensor, " N"]:
        """The sound of these symbols, its phase by Griffin and Lim (1984)."""
        magnitude = magnitudes_of_log_mel(self.frames(symbols), self.settings)
        return griffin_lim(magnitude, self.settings, iterations=iterations)

    def nearest(self, frames: Float[Tensor, "T M"]) -> Int[Tensor, " T"]:
        """The index of the nearest entry to each frame."""
        return torch.cdist(frames.double(), self.entries.double()).argmin(dim=1)

    def spell(self, indices: Int[Tensor, " T"]) -> str:
        """The symbols of these entries."""
        return " ".join(f"c{index:03d}" for index in indices.tolist())

    def frames(self, symbols: str | Sequence[str]) -> Float[Tensor, "T M"]:
        """The log-mel frame of each symbol."""
        indices = [self._index(symbol) for symbol in _split(symbols)]
        return self.entries[torch.tensor(indices, dtype=torch.long)]

    def to_bytes(self) -> bytes:
        """All of it as a safetensors file."""
        numbers = {name: torch.tensor([value]) for name, value in asdict(self.settings).items()}
        return save({"entries": self.entries.contiguous(), **numbers})

    @classmethod
    def from_bytes(cls, data: bytes, name: str = "the codebook") -> "Codebook":
        """The codebook that `to_bytes` wrote; any other file is refused."""
        try:
            check_codebook_header(read_header(BytesIO(data), len(data)))
        except InvalidHeader as fault:
            raise UserError(f"{name}: is no codebook: {fault}") from None
        tensors = load(data)
        entries = tensors.pop("entries")
        numbers = {setting: int(value) for setting, value in tensors.items()}
        for setting, (low, high) in LIMITS.items():
            if not low <= numbers[setting] <= high:
                raise UserError(f"{name}: its {setting} is {numbers[setting]}, not {low} to {high}")
        settings = SpectrogramSettings(**numbers)
        contradicts = (
            settings.hop > settings.window // 2
            or settings.window % 2
            or 2 * settings.top > settings.rate
            or settings.mels != entries.shape[1]
            or not len(entries)
        )
        if contradicts or not entries.isfinite().all() or entries.abs().max() > MAX_MAGNITUDE:
            raise UserError(f"{name}: its numbers contradict each other; write it again")
        return cls(settings, entries)

    def write(self, path: Path) -> None:
        """Write it as a file."""
        path.write_bytes(self.to_bytes())

    @classmethod
    def read(cls, path: Path) -> "Codebook":
        """Read what `write` wrote; a file of unknown origin is checked first."""
        if not path.is_file():
            raise UserError(f"{path}: there is no codebook; give the file that made the symbols")
        data = read_file(path, max_bytes=MAX_CODEBOOK_BYTES, follow_links=True)
        return cls.from_bytes(data, str(path))

    def _index(self, symbol: str) -> int:
        match = _SYMBOL.fullmatch(symbol)
        index = int(match[1]) if match else len(self.entries)
        if index >= len(self.entries):
            raise UserError(
                f"{symbol[:20]!r} is none of the {len(self.entries)} symbols of the codebook; give "
                f"the codebook that the model was trained with"
            )
        return index


@dataclass(frozen=True)
class Waveform:
    """A sound as a page plays and draws it: a WAV file, and its outline.

    `outline` has the lowest and the highest sample of equal spans. Symbol t of the sound is centred
    on t · `frame_seconds`.
    """

    wav: bytes
    seconds: float
    frame_seconds: float
    outline: list[list[float]]


def waveform(symbols: str | Sequence[str], codebook: Codebook, *, points: int = 400) -> Waveform:
    """The sound of these symbols, to be played and drawn."""
    samples, settings = codebook.decode(symbols), codebook.settings
    return Waveform(
        to_wav_bytes(samples, settings.rate),
        len(samples) / settings.rate,
        settings.frame_seconds,
        envelope(samples, points).tolist(),
    )


def read_codebook(folder: Path) -> Codebook | None:
    """The codebook of a model's folder, or beside it in the folder of its run; None without one."""
    places = (folder / CODEBOOK_FILE, folder.parent / CODEBOOK_FILE)
    return next((Codebook.read(path) for path in places if path.is_file()), None)


def k_means(
    points: Float[Tensor, "N M"], size: int, *, iterations: int = 30, seed: int = 0
) -> Float[Tensor, "C M"]:
    """Lloyd's algorithm (1957), started by k-means++ (Arthur and Vassilvitskii, 2007).

    Each mean is that of the points nearest to it; an empty cluster starts again from the point that
    is farthest from its mean.
    """
    means = _spread_points(points, size, torch.Generator().manual_seed(seed))
    for _ in range(iterations):
        distances, nearest = _nearest(points, means)
        counts = torch.bincount(nearest, minlength=len(means))
        sums = torch.zeros_like(means).index_add_(0, nearest, points)
        means = sums / counts.clamp_min(1).unsqueeze(1)
        empty = (counts == 0).nonzero().squeeze(1)
        means[empty] = points[distances.topk(len(empty)).indices]
    return torch.unique(means, dim=0)


def _spread_points(
    points: Float[Tensor, "N M"], size: int, generator: torch.Generator
) -> Float[Tensor, "C M"]:
    """Different points, each drawn by its squared distance from those drawn before it."""
    chosen = [int(torch.randint(len(points), (1,), generator=generator))]
    squares = (points - points[chosen[0]]).square().sum(dim=1)
    while len(chosen) < size and squares.max() > 0:
        chosen.append(int(torch.multinomial(squares, 1, generator=generator)))
        squares = torch.minimum(squares, (points - points[chosen[-1]]).square().sum(dim=1))
    return points[chosen]


def _nearest(
    points: Float[Tensor, "N M"], means: Float[Tensor, "C M"]
) -> tuple[Float[Tensor, " N"], Int[Tensor, " N"]]:
    """The distance of each point to its nearest mean, and which that is."""
    parts = [torch.cdist(part, means).min(dim=1) for part in points.split(8192)]
    return torch.cat([part.values for part in parts]), torch.cat([part.indices for part in parts])


def _split(symbols: str | Sequence[str]) -> list[str]:
    return symbols.split() if isinstance(symbols, str) else list(symbols)
