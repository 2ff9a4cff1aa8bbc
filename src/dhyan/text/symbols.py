"""Symbols: labels, tags, phonemes, picture cells or codebook entries, each a token, verbatim."""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal, get_args

from dhyan.errors import UserError
from dhyan.safe_io.json_toml import safe_repr
from dhyan.special_tokens import NAMES, UNK
from dhyan.text.pretokenization import by_frequency
from dhyan.text.segmenter import Segmentation

SymbolKind = Literal["symbols", "labels"]
KINDS: tuple[SymbolKind, ...] = get_args(SymbolKind)
KEYS = {"type", "pieces"}
MAX_SYMBOL = 256  # characters


class SymbolTable:
    """`symbols` are separated by spaces and joined by one; a line of `labels` is one symbol.

    Nothing is normalised but the spaces, so that a tag or a phoneme comes out as it went in.
    """

    def __init__(self, kind: SymbolKind, pieces: Sequence[str]) -> None:
        self.kind: SymbolKind = kind
        self._ids = {piece: id for id, piece in enumerate(pieces)}

    @classmethod
    def train(cls, kind: SymbolKind, counts: Mapping[str, int], size: int) -> "SymbolTable":
        """The most frequent symbols, special tokens included in the size."""
        return cls(kind, [*NAMES, *by_frequency(counts)[: size - len(NAMES)]])

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "SymbolTable":
        """The table that `to_json` wrote, checked by `check_table`."""
        return cls(table["type"], table["pieces"])

    def to_json(self) -> str:
        """All of it as one JSON text."""
        return json.dumps({"type": self.kind, "pieces": list(self._ids)}, ensure_ascii=False)

    def vocabulary(self) -> dict[str, int]:
        """The id of each symbol."""
        return self._ids

    def normalize(self, text: str) -> str:
        """The text with single spaces."""
        return " ".join(text.split())

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of normalised texts."""
        return [[self._id(symbol) for symbol in self._split(text)] for text in texts]

    def segment(self, texts: Sequence[str]) -> list[Segmentation]:
        """The same, with the position at which each symbol ends."""
        segmentations = []
        for text, ids in zip(texts, self.encode(texts), strict=True):
            ends, end = list[int | None](), 0
            for symbol in self._split(text):
                end = text.index(symbol, end) + len(symbol)
                ends.append(end)
            segmentations.append(Segmentation(ids, ends))
        return segmentations

    def decode(self, pieces: Sequence[str]) -> str:
        """The symbols, with spaces between them."""
        return " ".join(pieces)

    def count(self, texts: Iterable[str]) -> Counter[str]:
        """How often each symbol occurs."""
        return Counter(symbol for text in texts for symbol in self._split(self.normalize(text)))

    def extended(self, counts: Mapping[str, int], size: int) -> "SymbolTable":
        """The same with new symbols, at most `size` in all."""
        new = [symbol for symbol in by_frequency(counts) if symbol not in self._ids]
        return SymbolTable(self.kind, [*self._ids, *new[: max(size - len(self._ids), 0)]])

    def _id(self, symbol: str) -> int:
        """The id of a symbol; no text spells a special token."""
        id = self._ids.get(symbol, UNK)
        return id if id >= len(NAMES) else UNK

    def _split(self, text: str) -> list[str]:
        return text.split() if self.kind == "symbols" else [text] * bool(text)


def check_table(table: Mapping[str, Any], most: int) -> int:
    """The number of symbols of a table from a file; an error if it is none of ours."""
    pieces = table.get("pieces")
    if table.keys() != KEYS or table["type"] not in KINDS or not isinstance(pieces, list):
        raise UserError("not a tokenizer of dhyan: its table of symbols has other fields")
    if len(pieces) > most:
        raise UserError(f"the tokenizer has {len(pieces):,} pieces, more than the {most:,} it may")
    if tuple(pieces[: len(NAMES)]) != NAMES or len(set(map(str, pieces))) < len(pieces):
        raise UserError(f"not a tokenizer of dhyan: its ids must begin with {', '.join(NAMES)}")
    for piece in pieces:
        if not isinstance(piece, str) or not 0 < len(piece) <= MAX_SYMBOL or not _is_clean(piece):
            raise UserError(f"not a tokenizer of dhyan: {safe_repr(piece)} is no symbol")
    return len(pieces)


def _is_clean(piece: str) -> bool:
    """Whether a symbol is valid Unicode with single spaces at most."""
    return piece == " ".join(piece.split()) and not any("\ud800" <= c <= "\udfff" for c in piece)
