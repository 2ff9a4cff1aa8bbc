"""A tokenizer.json of Hugging Face as what SentencePiece's file would be: pieces, scores, tokens."""

import base64
import binascii
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from dhyan.errors import UserError
from dhyan.interop.foreign_folder import MAX_VOCABULARY_BYTES, ForeignFolder
from dhyan.safe_io.json_toml import read_json, safe_repr
from dhyan.text.language_tokens import is_language_token
from dhyan.text.safe_tokenizer import decode_file
from dhyan.text.sentencepiece_file import SentencePieceFile

TOKENIZER = "tokenizer.json"


@dataclass(frozen=True)
class TokenizerJson:
    """The parts of a tokenizer.json that are read; the library itself would run all of it."""

    path: str
    model: Mapping[str, Any]
    added: list[Any]
    charsmap: bytes

    @classmethod
    def read(cls, folder: ForeignFolder) -> "TokenizerJson":
        """The file of a folder; what it says beyond these parts is ignored."""
        path = str(folder.path / TOKENIZER)
        try:
            table = read_json(decode_file(folder.read(TOKENIZER, max_bytes=MAX_VOCABULARY_BYTES)))
            model, added = table["model"], table.get("added_tokens") or []
            charsmap = _charsmap(table.get("normalizer"))
        except (ValueError, TypeError, KeyError, AttributeError, binascii.Error) as error:
            raise UserError(f"{path}: is no tokenizer that can be read: {error}") from None
        if not isinstance(model, dict) or not isinstance(added, list):
            raise UserError(f"{path}: has no model")
        return cls(path, model, added, charsmap)

    def tokens(self) -> list[str]:
        """The tokens by id; those that were added come after the model's own."""
        vocabulary = self.model.get("vocab")
        ids: dict[Any, Any] = {}
        if isinstance(vocabulary, dict):
            ids = {id: token for token, id in vocabulary.items()}
        elif isinstance(vocabulary, list):
            ids = {id: _first_of(entry) for id, entry in enumerate(vocabulary)}
        for entry in self.added:
            if not isinstance(entry, dict):
                raise UserError(f"{self.path}: {safe_repr(entry)} is no token")
            ids.setdefault(entry.get("id"), entry.get("content"))
        tokens = [ids.get(id) for id in range(len(ids))]
        for id, token in enumerate(tokens):
            if not isinstance(token, str):
                raise UserError(f"{self.path}: has no token of id {id}")
        return [str(token) for token in tokens]

    def pieces(self) -> SentencePieceFile:
        """The pieces with their scores, as in the SentencePiece file that the folder has not."""
        vocabulary, kind = self.model.get("vocab"), self.model.get("type")
        skipped = {entry.get("content") for entry in self.added if isinstance(entry, dict)}
        algorithm: Literal["unigram", "bpe"]
        if kind == "Unigram" and isinstance(vocabulary, list):
            algorithm = "unigram"
            scores = {_first_of(entry): entry[1] for entry in vocabulary}
        elif kind == "BPE" and isinstance(vocabulary, dict):
            algorithm = "bpe"
            ranks = self._ranks()
            scores = {piece: -float(ranks.get(piece, len(ranks))) for piece in vocabulary}
        else:
            raise UserError(f"{self.path}: is of {safe_repr(kind)}; Unigram and BPE are read")
        pieces = {
            piece: score
            for piece, score in scores.items()
            if piece not in skipped and not is_language_token(piece)
        }
        if not all(type(score) in (int, float) for score in pieces.values()):
            raise UserError(f"{self.path}: a piece has no score")
        return SentencePieceFile(algorithm, pieces, self.charsmap, True, True)

    def _ranks(self) -> dict[str, int]:
        """The first merge that makes a piece."""
        ranks: dict[str, int] = {}
        merges = self.model.get("merges")
        for rank, merge in enumerate(merges if isinstance(merges, list) else []):
            parts = merge.split(" ") if isinstance(merge, str) else merge
            if not isinstance(parts, list) or not all(type(part) is str for part in parts):
                raise UserError(f"{self.path}: {safe_repr(merge)} is no merge")
            ranks.setdefault("".join(parts), rank)
        return ranks


def _first_of(entry: Any) -> Any:
    return entry[0] if isinstance(entry, list) and len(entry) == 2 else None


def _charsmap(normalizer: Any) -> bytes:
    """The character map of SentencePiece's normalisation, alone or in a sequence."""
    if not isinstance(normalizer, dict):
        return b""
    parts = normalizer.get("normalizers", [normalizer])
    for part in parts:
        if part.get("type") == "Precompiled" and part.get("precompiled_charsmap"):
            return base64.b64decode(part["precompiled_charsmap"], validate=True)
    return b""
