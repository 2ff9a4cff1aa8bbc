"""Pictures and sounds of a trace: the picture that was read, the sound that was written."""

import base64
import hashlib
from dataclasses import dataclass
from math import sqrt
from pathlib import Path
from typing import Any

from dhyan.safe_io.data_uri import encode_data_uri, is_data_uri
from dhyan.text.codec import SourceCodec
from dhyan.text.image_frames import Box, data_uri, read_picture
from dhyan.text.tokenizer import Tokenizer

MAX_PIXELS = 2**19  # of the picture in a trace; a larger one is made smaller
NAME = "picture-"  # of a picture without a path; the page makes the same names
NAME_DIGITS = 12


@dataclass(frozen=True)
class TracedPicture:
    """A picture as a data URI, its size in pixels, and the part of it that each frame shows."""

    uri: str
    width: int
    height: int
    boxes: tuple[Box, ...]

    @classmethod
    def from_json(cls, parts: dict[str, Any] | None) -> "TracedPicture | None":
        """A picture from the JSON of a trace."""
        if parts is None:
            return None
        boxes = tuple((float(a), float(b), float(c), float(d)) for a, b, c, d in parts["boxes"])
        return cls(**{**parts, "boxes": boxes})


@dataclass(frozen=True)
class TracedSound:
    """A sound as a data URI of a WAV file; symbol t of the output is centred on t · `frame_seconds`.

    `outline` has the lowest and the highest sample of equal spans.
    """

    uri: str
    seconds: float
    frame_seconds: float
    outline: tuple[tuple[float, float], ...]

    @classmethod
    def from_json(cls, parts: dict[str, Any] | None) -> "TracedSound | None":
        """A sound from the JSON of a trace."""
        if parts is None:
            return None
        outline = tuple((float(low), float(high)) for low, high in parts["outline"])
        return cls(**{**parts, "outline": outline})

    def wav(self) -> bytes:
        """The WAV file."""
        return base64.b64decode(self.uri.partition(",")[2])


def source_name(text: str) -> str:
    """A source as a trace names it: the text or path itself, and a short name for a data URI."""
    if not is_data_uri(text):
        return text
    return NAME + hashlib.sha256(text.encode()).hexdigest()[:NAME_DIGITS]


def traced_picture(codec: SourceCodec, text: str) -> TracedPicture | None:
    """The picture that a codec reads, with the boxes of its frames; None if it reads text.

    The codec refuses a path that may not be opened before anything is read here.
    """
    boxes = None if isinstance(codec, Tokenizer) else codec.boxes(text)
    if boxes is None:
        return None
    image = read_picture(text)
    scale = min(1.0, sqrt(MAX_PIXELS / (image.width * image.height)))
    if scale < 1:
        across, down = (max(1, int(side * scale)) for side in image.size)
        x, y = across / image.width, down / image.height
        image = image.resize((across, down))
        boxes = [(left * x, top * y, right * x, bottom * y) for left, top, right, bottom in boxes]
    rounded = tuple(
        (round(left, 2), round(top, 2), round(right, 2), round(bottom, 2))
        for left, top, right, bottom in boxes
    )
    return TracedPicture(data_uri(image), image.width, image.height, rounded)


def traced_sound(folder: Path, symbols: str) -> TracedSound | None:
    """The sound of an output, by the codebook of the model's folder; None if it has none."""
    from dhyan.audio.codebook import read_codebook, waveform

    codebook = read_codebook(folder)
    if codebook is None or not symbols:
        return None
    sound = waveform(symbols, codebook)
    outline = tuple((round(low, 4), round(high, 4)) for low, high in sound.outline)
    uri = encode_data_uri(sound.wav, "audio/wav")
    return TracedSound(uri, sound.seconds, sound.frame_seconds, outline)
