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
MAX_SCORE = 1e30


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
            named = all(type(entry["content"]) is str and "id" in entry for entry in added)
        except (ValueError, TypeError, KeyError, AttributeError, binascii.Error) as error:
            raise UserError(f"{path}: is no tokenizer that can be read: {error}") from None
        if not isinstance(model, dict) or not isinstance(added, list) or not named:
            raise UserError(f"{path}: has no model, or an added token without id or content")
        return cls(path, model, added, charsmap)

    def tokens(self) -> list[str]:
        """The tokens by id; those that were added come after the model's own."""
        vocabulary = self.model.get("vocab")
        pairs: list[tuple[Any, Any]] = []
        if isinstance(vocabulary, dict):
            pairs = [(id, token) for token, id in vocabulary.items()]
        elif isinstance(vocabulary, list):
            pairs = list(enumerate(token for token, _ in map(self._scored, vocabulary)))
        pairs += [(entry["id"], entry["content"]) for entry in self.added]
        ids: dict[int, str] = {}
        for id, token in pairs:
            if type(id) is not int or ids.setdefault(id, token) != token:
                raise UserError(f"{self.path}: the id of {safe_repr(token)} is {safe_repr(id)}")
        if ids.keys() != set(range(len(ids))):
            raise UserError(f"{self.path}: its ids do not count from 0, each once")
        return [ids[id] for id in range(len(ids))]

    def pieces(self) -> SentencePieceFile:
        """The pieces with their scores, as in the SentencePiece file that the folder has not."""
        vocabulary, kind = self.model.get("vocab"), self.model.get("type")
        skipped = {entry["content"] for entry in self.added}
        algorithm: Literal["unigram", "bpe"]
        if kind == "Unigram" and isinstance(vocabulary, list):
            algorithm = "unigram"
            scores = dict(map(self._scored, vocabulary))
        elif kind == "BPE" and isinstance(vocabulary, dict):
            algorithm = "bpe"
            ranks = self._ranks()
            scores = {piece: -float(ranks.get(piece, len(ranks))) for piece in vocabulary}
        else:
            raise UserError(f"{self.path}: is of {safe_repr(kind)}; Unigram and BPE are read")
        pieces = {
            piece: score
            for piece, score in scores.items()
            if piece and piece not in skipped and not is_language_token(piece)
        }
        return SentencePieceFile(algorithm, pieces, self.charsmap, True, True)

    def _scored(self, entry: Any) -> tuple[str, float]:
        """A piece of a unigram model, and its score."""
        match entry:
            case [str() as piece, int() | float() as score] if abs(score) < MAX_SCORE:
                return piece, float(score)
        raise UserError(f"{self.path}: {safe_repr(entry)} is no piece with a score")

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


def read_pieces(
    folder: ForeignFolder, sentencepiece: str
) -> tuple[SentencePieceFile, TokenizerJson | None]:
    """The pieces of a folder's SentencePiece file, or else of its tokenizer.json; the latter too, if
    there is one."""
    table = TokenizerJson.read(folder) if folder.has(TOKENIZER) else None
    if folder.has(sentencepiece):
        return SentencePieceFile.read(folder.path / sentencepiece), table
    if table is None:
        raise UserError(f"{folder.path}: has neither {sentencepiece} nor {TOKENIZER}")
    return table.pieces(), table


def _charsmap(normalizer: Any) -> bytes:
    """The character map of SentencePiece's normalisation, alone or in a sequence."""
    if not isinstance(normalizer, dict):
        return b""
    parts = normalizer.get("normalizers", [normalizer])
    for part in parts:
        if part.get("type") == "Precompiled" and part.get("precompiled_charsmap"):
            return base64.b64decode(part["precompiled_charsmap"], validate=True)
    return b""
