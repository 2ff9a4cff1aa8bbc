"""Codecs: text to what a model reads or writes, token ids (a tokenizer) or frames, and back."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Num

from dhyan.errors import UserError
from dhyan.safe_io.json_toml import read_json, safe_repr
from dhyan.special_tokens import EOS
from dhyan.text.image_frames import Box, ImageColumns, ImagePatches
from dhyan.text.safe_tokenizer import MAX_PIECES, count_pieces
from dhyan.text.tokenizer import Tokenizer, Word
from dhyan.text.word_characters import WordCharacters


@runtime_checkable
class FrameCodec(Protocol):
    """Turns a text, a picture or a sound into frames, which a stem reads.

    A source is given as a text: words, the path of a file, or a data URI. Its length is the number
    of words it knows, or the width of its frames.
    """

    @property
    def kind(self) -> str:
        """How the recipe calls it."""
        ...

    @property
    def width(self) -> int:
        """The numbers of a frame."""
        ...

    def encode_batch(self, texts: Iterable[str], /) -> list[Num[np.ndarray, "_ F"]]:
        """The frames of each source."""
        ...

    def words(self, frames: Num[np.ndarray, "S F"], text: str = "", /) -> list[Word]:
        """What each frame shows, grouped to words if frames are parts of words."""
        ...

    def pieces(self, frames: Num[np.ndarray, "S F"], text: str = "", /) -> list[str]:
        """A label for each frame."""
        ...

    def unknown_words(self, frames: Num[np.ndarray, "S F"], text: str, /) -> list[str]:
        """Words of the source that the codec does not know."""
        ...

    def boxes(self, text: str, /) -> list[Box] | None:
        """The part of the picture that each frame shows; None if the source is no picture."""
        ...

    def without_files(self) -> "FrameCodec":
        """The same codec for requests of others: a source that is a path is refused."""
        ...

    def to_json(self) -> str:
        """All of it as one JSON text."""
        ...

    def __len__(self) -> int: ...


SourceCodec = Tokenizer | FrameCodec
SourceSequence = Sequence[int] | Num[np.ndarray, "_ F"]
"""One source as an encoder reads it, without padding: token ids up to EOS, or frames."""


# By the "type" of the JSON: the check of a table of unknown origin, and the codec it makes.
_CHECKS: dict[str, Callable[[Mapping[str, Any], int], int]] = {
    WordCharacters.kind: WordCharacters.check,
    ImageColumns.kind: ImageColumns.check,
    ImagePatches.kind: ImagePatches.check,
}
_MAKERS: dict[str, Callable[[Mapping[str, Any]], FrameCodec]] = {
    WordCharacters.kind: WordCharacters.from_table,
    ImageColumns.kind: ImageColumns.from_table,
    ImagePatches.kind: ImagePatches.from_table,
}
FRAME_CODECS = tuple(_MAKERS)


def encode_sources(codec: SourceCodec, texts: Sequence[str]) -> list[Any]:
    """Sources as an encoder reads them: token ids up to EOS, or frames; empty ones stay empty."""
    if isinstance(codec, Tokenizer):
        return [[*ids, EOS] if ids else [] for ids in codec.encode_batch(texts)]
    return list(codec.encode_batch(texts))


def source_length(sequence: SourceSequence) -> int:
    """The number of tokens without EOS, or of frames."""
    return len(sequence) - (not isinstance(sequence, np.ndarray))


def words_of(codec: SourceCodec, source: SourceSequence, text: str = "") -> list[Word]:
    """The words of a source, with the positions of their tokens or frames."""
    if isinstance(codec, Tokenizer):
        return codec.words([int(id) for id in source], text)
    return codec.words(np.asarray(source), text)


def pieces_of(codec: SourceCodec, source: SourceSequence, text: str = "") -> list[str]:
    """A readable label for each token or frame of a source."""
    if isinstance(codec, Tokenizer):
        return codec.pieces([int(id) for id in source], text)
    return codec.pieces(np.asarray(source), text)


def without_files(codec: SourceCodec) -> SourceCodec:
    """The codec for requests of others: a source that is a path is refused, never opened."""
    return codec if isinstance(codec, Tokenizer) else codec.without_files()


def read_codec(text: str) -> SourceCodec:
    """The codec of a JSON text that `to_json` wrote; any other is refused."""
    table = _frame_table(text)
    if table is None:
        return Tokenizer.from_json(text)
    codec_size(text)
    return _MAKERS[table["type"]](table)


def codec_size(text: str) -> int:
    """The length of a codec, after a check that all of it is harmless."""
    table = _frame_table(text)
    if table is None:
        return count_pieces(text)
    return _CHECKS[table["type"]](table, MAX_PIECES)


def _frame_table(text: str) -> dict[str, Any] | None:
    """The table of a codec of frames; None for a tokenizer."""
    if not text.startswith(tuple(f'{{"type": "{kind}"' for kind in _MAKERS)):
        return None
    try:
        table = read_json(text)
    except ValueError as error:
        raise UserError(f"this is not a complete codec: {error}") from None
    if not isinstance(table, dict) or table.get("type") not in _MAKERS:
        raise UserError(f"not a codec of dhyan: {safe_repr(text[:40])}")
    return table


def load_codecs(files: Mapping[str, bytes]) -> tuple[SourceCodec, Tokenizer]:
    """The source and target codecs of a checkpoint."""
    source, target = (files[f"{side}.json"].decode() for side in ("source", "target"))
    return read_codec(source), Tokenizer.from_json(target)
