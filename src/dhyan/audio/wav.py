"""WAV files of 16-bit samples in one channel, and the envelope of a sound for a picture of it."""

import io
import wave
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.errors import UserError
from dhyan.safe_io.bounded_files import read_file

MAX_WAV_BYTES = 2**28
FULL_SCALE = 32_767


def to_wav_bytes(samples: Float[Tensor, " N"], rate: int) -> bytes:
    """A WAV file; samples beyond ±1 are clipped."""
    numbers = (samples.clamp(-1, 1) * FULL_SCALE).round().to(torch.int16).numpy()
    buffer = io.BytesIO()
    with wave.open(buffer, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(rate)
        file.writeframes(numbers.astype("<i2").tobytes())
    return buffer.getvalue()


def from_wav_bytes(data: bytes, *, rate: int, name: str = "the sound") -> Float[Tensor, " N"]:
    """The samples, from -1 to 1, of a WAV file of this rate; channels are averaged."""
    try:
        with wave.open(io.BytesIO(data), "rb") as file:
            channels, width, found = file.getnchannels(), file.getsampwidth(), file.getframerate()
            raw = file.readframes(file.getnframes())
    except (wave.Error, EOFError, ValueError, RuntimeError) as error:
        raise UserError(f"{name}: is no WAV file of plain samples: {error}") from None
    if width != 2 or found != rate or not 1 <= channels <= 64:
        raise UserError(
            f"{name}: has {8 * width}-bit samples at {found} Hz in {channels} channels; convert it "
            f"to 16 bits at {rate} Hz, e.g. `sox IN.wav -b 16 -r {rate} OUT.wav`"
        )
    raw = raw[: len(raw) - len(raw) % (2 * channels)]
    numbers = np.frombuffer(raw, "<i2").reshape(-1, channels).astype(np.float32).mean(axis=1)
    return torch.from_numpy(numbers) / FULL_SCALE


def read_wav(path: Path, *, rate: int) -> Float[Tensor, " N"]:
    """The samples of a WAV file of this rate."""
    data = read_file(path, max_bytes=MAX_WAV_BYTES, follow_links=True)
    return from_wav_bytes(data, rate=rate, name=str(path))


def envelope(samples: Float[Tensor, " N"], points: int) -> Float[Tensor, "points 2"]:
    """The lowest and the highest sample of each of `points` equal spans, for a waveform's outline."""
    if points < 1:
        raise ValueError("an envelope has at least one point")
    spans = torch.tensor_split(samples, points)
    ends = [(float(s.min()), float(s.max())) if len(s) else (0.0, 0.0) for s in spans]
    return torch.tensor(ends)
