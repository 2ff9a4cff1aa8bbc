"""Segmenters: what a tokenizer cuts texts into the pieces of its vocabulary with."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

from tokenizers import Tokenizer as Backend
from tokenizers import models

from dhyan.special_tokens import NAMES, UNK
from dhyan.text.bpe import extend_bpe
from dhyan.text.normalize import normalize
from dhyan.text.pretokenization import (
    WORD_MARK,
    add_pre_tokenizer,
    by_frequency,
    count_words,
    new_characters,
)
from dhyan.text.unigram import extend_unigram


@dataclass(frozen=True)
class Segmentation:
    """The ids of a normalised text, and where each ends; None: as far on as its piece is long."""

    ids: list[int]
    ends: list[int | None]


@runtime_checkable
class Segmenter(Protocol):
    """Normalises texts, cuts them into pieces, and joins pieces to a text."""

    @property
    def kind(self) -> str:
        """How the recipe calls it."""
        ...

    def vocabulary(self) -> Mapping[str, int]:
        """The id of each piece."""
        ...

    def normalize(self, text: str) -> str:
        """The text as it is cut, with spaces."""
        ...

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of normalised texts."""
        ...

    def segment(self, texts: Sequence[str]) -> list[Segmentation]:
        """The same, with the position at which each id ends."""
        ...

    def decode(self, pieces: Sequence[str]) -> str:
        """The text of pieces."""
        ...

    def count(self, texts: Iterable[str]) -> Mapping[str, int]:
        """How often each word occurs, to extend the vocabulary by."""
        ...

    def extended(self, counts: Mapping[str, int], size: int) -> "Segmenter":
        """The same with new pieces, learned from counts of words, at most `size` in all."""
        ...

    def to_json(self) -> str:
        """All of it as one JSON text."""
        ...


class TrainedSegmenter:
    """A segmenter that was trained here: our normalisation, word marks, special and byte tokens."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    @property
    def kind(self) -> str:
        """The kind: words, characters, bpe or unigram."""
        subwords = {models.BPE: "bpe", models.Unigram: "unigram"}
        words = "words" if WORD_MARK not in self.backend.get_vocab() else "characters"
        return subwords.get(type(self.backend.model), words)

    def vocabulary(self) -> Mapping[str, int]:
        """The id of each piece."""
        return self.backend.get_vocab()

    def normalize(self, text: str) -> str:
        """NFC, straight quotes, no invisible characters."""
        return normalize(text)

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of normalised texts."""
        return [encoding.ids for encoding in self.backend.encode_batch_fast(list(texts))]

    def segment(self, texts: Sequence[str]) -> list[Segmentation]:
        """The same; only the end of an unknown token does not follow from its piece."""
        return [
            Segmentation(
                encoding.ids,
                [
                    end if id == UNK else None
                    for id, (_, end) in zip(encoding.ids, encoding.offsets, strict=True)
                ],
            )
            for encoding in self.backend.encode_batch(list(texts))
        ]

    def decode(self, pieces: Sequence[str]) -> str:
        """The normalised text of pieces."""
        return normalize(self.backend.decoder.decode(list(pieces)))

    def count(self, texts: Iterable[str]) -> Mapping[str, int]:
        """How often each word and symbol occurs."""
        return count_words(map(normalize, texts))

    def extended(self, counts: Mapping[str, int], size: int) -> "TrainedSegmenter":
        """Every old piece keeps its id; new pieces follow them, and are deterministic."""
        ids, kind = self.vocabulary(), self.kind
        vocabulary, room = sorted(ids, key=ids.__getitem__), max(size - len(ids), 0)
        match kind:
            case "words":
                new = [word for word in by_frequency(counts) if word not in ids][:room]
                backend = Backend(table([*vocabulary, *new]))
            case "characters":
                backend = Backend(table([*vocabulary, *new_characters(counts, ids, room)]))
            case "bpe":
                backend = Backend(extend_bpe(self.backend, counts, room))
            case _:
                backend = Backend(extend_unigram(self.backend, counts, room))
        return TrainedSegmenter(add_pre_tokenizer(backend, kind))

    def to_json(self) -> str:
        """All of it as one JSON text."""
        return self.backend.to_str()


def table(pieces: Sequence[str]) -> models.WordLevel:
    """A model that looks words or characters up."""
    ids = {piece: id for id, piece in enumerate(pieces)}
    return models.WordLevel(ids, unk_token=NAMES[UNK])
