"""SentencePiece (Kudo and Richardson, 2018): the segmenter of an imported model."""

import base64
import binascii
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from copy import copy
from typing import Any, Literal, get_args

from tokenizers import Tokenizer as Backend
from tokenizers import models

from dhyan.errors import UserError, spell_option
from dhyan.safe_io.json_toml import safe_repr
from dhyan.special_tokens import NAMES, UNK
from dhyan.text.character_map import CharacterMap
from dhyan.text.normalize import remove_invisible
from dhyan.text.pretokenization import WORD_MARK
from dhyan.text.segmenter import Segmentation
from dhyan.text.sentencepiece_file import SentencePieceFile

Algorithm = Literal["unigram", "bpe", "characters"]
KIND = "sentencepiece"
FIRST_WORDS = f'{{"type": "{KIND}"'  # of its JSON
KEYS = {"type", "model", "charsmap", "dummy_prefix", "collapse_spaces", "vocabulary"}
LANGUAGE_KEYS = {"languages", "language"}  # of a multilingual model
MAX_PIECE = 128  # characters
MAX_BPE_CHARACTERS = 4_000_000  # of all pieces: each place in them may be that of a merge
MAX_SCORE = 1e30
UNKNOWN = " "  # no piece: a text has word marks where its spaces were
LANGUAGE = re.compile(r">>[^\s<>]{1,40}<<")
SURROGATES = dict.fromkeys(range(0xD800, 0xE000), "\ufffd")


class SentencePiece:
    """Pieces with scores, over a vocabulary that may lack some and have others.

    A text is normalised by the model's own rules, not ours, so that its ids are those it was
    trained on. A piece outside the vocabulary is unknown. A token such as `>>hin<<` at the
    beginning of a text names the target language of a multilingual model. Of one whose texts begin
    with the token of their own `language`, all its `languages` are known; no text spells them.
    """

    kind = KIND

    def __init__(
        self,
        algorithm: Algorithm,
        pieces: Mapping[str, float],
        vocabulary: Sequence[str],
        *,
        charsmap: bytes = b"",
        dummy_prefix: bool = True,
        collapse_spaces: bool = True,
        languages: Sequence[str] = (),
        language: str = "",
    ) -> None:
        self.algorithm: Algorithm = algorithm
        self.scores = dict(pieces)
        self.dummy_prefix, self.collapse_spaces = dummy_prefix, collapse_spaces
        self._map = CharacterMap(charsmap)
        self._ids = {piece: id for id, piece in enumerate(vocabulary)}
        self._marks = {token for token in vocabulary if LANGUAGE.fullmatch(token)}
        self.languages, self.language = dict.fromkeys(languages), language
        self._id_of_piece = [UNK, *map(self._id, pieces)]
        self._backend = Backend(_MODELS[algorithm](self.scores))

    @classmethod
    def from_file(
        cls,
        file: SentencePieceFile,
        vocabulary: Sequence[str],
        *,
        languages: Sequence[str] = (),
        language: str = "",
    ) -> "SentencePiece":
        """The segmenter of a file, with ids by the place of a piece in the vocabulary."""
        return cls(
            file.algorithm,
            file.pieces,
            vocabulary,
            charsmap=file.charsmap,
            dummy_prefix=file.dummy_prefix,
            collapse_spaces=file.collapse_spaces,
            languages=languages,
            language=language,
        )

    @classmethod
    def characters(cls, vocabulary: Sequence[str]) -> "SentencePiece":
        """Every character is a token: for models that came without a SentencePiece file."""
        pieces = {token: 0.0 for token in vocabulary[len(NAMES) :] if len(token) == 1}
        return cls("characters", pieces, vocabulary, dummy_prefix=False, collapse_spaces=False)

    @classmethod
    def from_table(cls, table: Mapping[str, Any]) -> "SentencePiece":
        """The segmenter that `to_json` wrote, checked by `check_table`."""
        return cls(
            table["model"]["type"],
            dict(table["model"]["vocab"]),
            table["vocabulary"],
            charsmap=base64.b64decode(table["charsmap"], validate=True),
            dummy_prefix=table["dummy_prefix"],
            collapse_spaces=table["collapse_spaces"],
            languages=table.get("languages", ()),
            language=table.get("language", ""),
        )

    def to_json(self) -> str:
        """The whole segmenter as one JSON text."""
        table = {
            "type": KIND,
            "model": {"type": self.algorithm, "vocab": list(self.scores.items())},
            "charsmap": base64.b64encode(self._map.data).decode(),
            "dummy_prefix": self.dummy_prefix,
            "collapse_spaces": self.collapse_spaces,
            "vocabulary": list(self._ids),
        }
        if self.languages:
            table |= {"languages": list(self.languages), "language": self.language}
        return json.dumps(table, ensure_ascii=False)

    def vocabulary(self) -> dict[str, int]:
        """The id of each token."""
        return self._ids

    def normalize(self, text: str) -> str:
        """The text by the model's own rules, with spaces; a language token stays as it is."""
        language, text = self._split_language(text)
        text = self._map(text.translate(SURROGATES))
        if self.collapse_spaces:
            text = re.sub(" +", " ", text).strip(" ").rstrip(WORD_MARK)
        return language + text

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of normalised texts."""
        return [segmentation.ids for segmentation in self.segment(texts)]

    def segment(self, texts: Sequence[str]) -> list[Segmentation]:
        """The ids of normalised texts, and where in them each ends."""
        parts = [self._split_language(text) for text in texts]
        own = list(self.language_prefix)
        marked = [self._with_marks(text) for _, text in parts]
        encodings = self._backend.encode_batch(marked)
        segmentations = []
        for (language, _), text, encoding in zip(parts, marked, encodings, strict=True):
            first = len(language) - self.dummy_prefix
            ids = [
                self._id_of_piece[piece] if piece else self._id(text[start:end])
                for piece, (start, end) in zip(encoding.ids, encoding.offsets, strict=True)
            ]
            ends: list[int | None] = [first + end for _, end in encoding.offsets]
            if language:
                ids, ends = [self._ids[language], *ids], [len(language), *ends]
            if ids:
                ids, ends = [*own, *ids], [*([-1] * len(own)), *ends]
            segmentations.append(Segmentation(ids, ends))
        return segmentations

    def decode(self, pieces: Sequence[str]) -> str:
        """The text of pieces, without languages and characters that cannot be seen."""
        pieces = [piece for piece in pieces if piece not in self.languages]
        return remove_invisible("".join(pieces).replace(WORD_MARK, " "))

    def count(self, texts: Iterable[str]) -> Mapping[str, int]:
        """Nothing: the vocabulary cannot be extended."""
        return {}

    def extended(self, counts: Mapping[str, int], size: int) -> "SentencePiece":
        """Never: pieces cannot be added to a SentencePiece model without training it anew."""
        raise UserError(
            f"a SentencePiece vocabulary cannot be extended: give "
            f"{spell_option('training.init_vocabulary', 'keep')} or new"
        )

    @property
    def language_prefix(self) -> tuple[int, ...]:
        """The id that every text begins with: its language, if it has one."""
        return (self._ids[self.language],) if self.language else ()

    def in_language(self, language: str) -> "SentencePiece":
        """The same for texts of another of its languages."""
        other = copy(self)
        other.language = language
        return other

    def _split_language(self, text: str) -> tuple[str, str]:
        """The language token at the beginning of a text, if it is in the vocabulary; the rest."""
        found = LANGUAGE.match(text) if self._marks else None
        if found and found[0] in self._marks:
            return found[0], text[found.end() :]
        return "", text

    def _id(self, piece: str) -> int:
        """The id of a piece, which the other side of a shared vocabulary may have brought in."""
        id = UNK if piece in self.languages else self._ids.get(piece, UNK)
        return id if id >= len(NAMES) else UNK  # no text spells a special token

    def _with_marks(self, text: str) -> str:
        marked = text.replace(" ", WORD_MARK)
        return WORD_MARK + marked if self.dummy_prefix and text else marked


def check_table(table: Mapping[str, Any], max_pieces: int) -> int:
    """The size of the vocabulary of a segmenter's JSON, after a check of all of it."""
    if table.keys() not in (KEYS, KEYS | LANGUAGE_KEYS) or table["model"].keys() != {
        "type",
        "vocab",
    }:
        raise _invalid("its settings differ")
    model, vocabulary, pieces = table["model"], table["vocabulary"], table["model"]["vocab"]
    flags = table["dummy_prefix"], table["collapse_spaces"]
    if model["type"] not in get_args(Algorithm) or {type(flag) for flag in flags} != {bool}:
        raise _invalid(f"its model is of type {safe_repr(model['type'])}")
    if not isinstance(vocabulary, list) or not isinstance(pieces, list):
        raise _invalid("its vocabulary is no list")
    if max(len(vocabulary), len(pieces)) > max_pieces:
        raise UserError(f"the tokenizer has more than the {max_pieces:,} pieces it may")
    if tuple(vocabulary[: len(NAMES)]) != NAMES:
        raise _invalid(f"its ids must begin with {', '.join(NAMES)}")
    _check_texts(vocabulary)
    _check_languages(table, vocabulary)
    _check_pieces(pieces, model["type"])
    try:
        CharacterMap(base64.b64decode(table["charsmap"], validate=True))
    except (TypeError, binascii.Error):
        raise _invalid("its charsmap is not in base64") from None
    return len(vocabulary)


def _check_languages(table: Mapping[str, Any], vocabulary: Sequence[str]) -> None:
    """Refuse languages that are no tokens, and a language that is none of them."""
    languages, language = table.get("languages", []), table.get("language", "")
    if not isinstance(languages, list) or not all(type(token) is str for token in languages):
        raise _invalid("its languages are no list of tokens")
    if not set(languages) <= set(vocabulary[len(NAMES) :]) or language not in ("", *languages):
        raise _invalid("a language is no token of its vocabulary")


def _check_pieces(pieces: Sequence[Any], algorithm: Algorithm) -> None:
    """Refuse pieces without a score, and those that a text could not have or should not."""
    for entry in pieces:
        match entry:
            case [str(), int() | float() as score] if abs(score) < MAX_SCORE:
                continue
        raise _invalid(f"{safe_repr(entry)} is no piece with a score")
    texts = [piece for piece, _ in pieces]
    _check_texts(texts)
    if algorithm == "bpe" and sum(map(len, texts)) > MAX_BPE_CHARACTERS:
        raise UserError(f"its pieces have more than the {MAX_BPE_CHARACTERS:,} characters they may")
    if not set(NAMES).isdisjoint(texts) or any(" " in text for text in texts):
        raise _invalid("a piece is a special token, or has a space")


def _check_texts(texts: Sequence[Any]) -> None:
    """Refuse tokens that are empty, long, used twice, or no valid Unicode."""
    for text in texts:
        if not isinstance(text, str) or not 0 < len(text) <= MAX_PIECE:
            raise _invalid(f"{safe_repr(text)} is no token of 1 to {MAX_PIECE} characters")
    if len(set(texts)) < len(texts):
        raise _invalid("a token comes twice")
    try:
        "".join(texts).encode()
    except UnicodeEncodeError:
        raise _invalid("a token holds half a surrogate pair") from None


def _invalid(reason: str) -> UserError:
    return UserError(f"not a tokenizer of dhyan: {reason}")


def _unigram(scores: Mapping[str, float]) -> models.Unigram:
    return models.Unigram([(UNKNOWN, 0.0), *scores.items()], 0)


def _bpe(scores: Mapping[str, float]) -> models.BPE:
    """The merges of every piece, in the order of their scores."""
    merges = [
        (-score, at, piece[:cut], piece[cut:])
        for at, (piece, score) in enumerate(scores.items())
        for cut in range(1, len(piece))
        if piece[:cut] in scores and piece[cut:] in scores
    ]
    ids = {piece: id for id, piece in enumerate((UNKNOWN, *scores))}
    ordered = [(left, right) for _, _, left, right in sorted(merges, key=lambda merge: merge[:2])]
    return models.BPE(ids, ordered, unk_token=UNKNOWN, fuse_unk=True)


def _characters(scores: Mapping[str, float]) -> models.BPE:
    ids = {piece: id for id, piece in enumerate((UNKNOWN, *scores))}
    return models.BPE(ids, [], unk_token=UNKNOWN)


_MODELS = {"unigram": _unigram, "bpe": _bpe, "characters": _characters}
