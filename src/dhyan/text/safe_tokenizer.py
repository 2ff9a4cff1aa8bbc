"""Tokenizer files from untrusted sources: only what this package writes is accepted.

The library would also run arbitrary regular expressions, padding of any length and whatever else
its format allows; all of that is refused.
"""

import json
import re
from functools import lru_cache
from typing import Any

from tokenizers import Tokenizer as Backend
from tokenizers import models

from dhyan.errors import UserError
from dhyan.safe_io.json_toml import read_json, safe_repr
from dhyan.special_tokens import NAMES, UNK
from dhyan.text import symbols
from dhyan.text.pretokenization import add_pre_tokenizer
from dhyan.text.sentencepiece import FIRST_WORDS, SentencePiece, check_table
from dhyan.text.sentencepiece import KIND as SENTENCEPIECE
from dhyan.text.unigram import MAX_PIECE_LENGTH

MAX_BYTES = 48 * 2**20
MAX_PIECES = 500_000
MAX_CHARACTERS = {"[": 2 * MAX_PIECES, '"': 10 * MAX_PIECES, ",": 10 * MAX_PIECES}
MAX_WIDE_BYTES = 32 * 2**20  # of a file with characters of four bytes: in memory all then take four
BLOCK = 2**20  # bytes; in every block of a file a string must begin or end
EDGE = re.compile(rb'[^\\]"')
WIDE = re.compile(rb"[\xf0-\xff]")
BY_ID = ("WordLevel", "BPE")


def decode_file(data: bytes) -> str:
    """The text of a tokenizer file, unless parsing it would need too much memory."""
    for character, limit in MAX_CHARACTERS.items():
        if data.count(character.encode()) > limit:
            raise _too_many_characters(character, limit)
    for start in range(0, len(data) - BLOCK, BLOCK):
        if not EDGE.search(data, start, start + BLOCK):
            raise UserError(f"this is not a complete tokenizer: no piece has {BLOCK:,} bytes")
    if len(data) > MAX_WIDE_BYTES and WIDE.search(data):
        raise UserError(f"the tokenizer has more than the {MAX_WIDE_BYTES:,} bytes it may")
    return data.decode()


def count_pieces(text: str) -> int:
    """The number of pieces of a tokenizer, after a check that all of it is harmless."""
    table = _table(text)
    if table.get("type") == SENTENCEPIECE:
        return check_table(table, MAX_PIECES)
    if table.get("type") in symbols.KINDS:
        return symbols.check_table(table, MAX_PIECES)
    model = table["model"]
    templates = _templates().get(str(model.get("type")))
    if templates is None:
        raise _unsupported(f"its model is of type {safe_repr(model.get('type'))}")
    pieces = model.pop("vocab", None)
    merges = model.pop("merges", []) if model["type"] == "BPE" else []
    if not any(_matches_template(table, ours) for ours in templates):
        raise _unsupported("its normalizer, pre-tokenizer, decoder or model settings differ")
    vocabulary = _by_id(pieces) if model["type"] in BY_ID else _by_score(pieces)
    if len(vocabulary) > MAX_PIECES:
        raise UserError(
            f"the tokenizer has {len(vocabulary):,} pieces, more than the {MAX_PIECES:,} it may"
        )
    if tuple(vocabulary[: len(NAMES)]) != NAMES:
        raise _unsupported(f"its ids must begin with {', '.join(NAMES)}")
    _check_merges(merges, set(vocabulary))
    return len(vocabulary)


def read_sentencepiece(text: str) -> SentencePiece | None:
    """The segmenter of a checked tokenizer, if it is SentencePiece's."""
    return SentencePiece.from_table(read_json(text)) if text.startswith(FIRST_WORDS) else None


def read_symbols(text: str) -> symbols.SymbolTable | None:
    """The segmenter of a checked tokenizer, if it is a table of symbols."""
    first_words = tuple(f'{{"type": "{kind}"' for kind in symbols.KINDS)
    return symbols.SymbolTable.from_table(read_json(text)) if text.startswith(first_words) else None


def _table(text: str) -> dict[str, Any]:
    for character, limit in MAX_CHARACTERS.items():
        if text.count(character) > limit:
            raise _too_many_characters(character, limit)
    try:
        table = read_json(text)
    except ValueError as error:
        raise UserError(f"this is not a complete tokenizer: {error}") from None
    if not isinstance(table, dict) or not isinstance(table.get("model", {}), dict):
        raise _unsupported("it has no model")
    if "model" not in table and table.get("type") not in symbols.KINDS:
        raise _unsupported("it has no model")
    return table


@lru_cache
def _templates() -> dict[str, list[dict[str, Any]]]:
    """The JSON of our tokenizers without pieces, by the type of model."""
    unknown = NAMES[UNK]
    table = models.WordLevel({unknown: 0}, unk_token=unknown)
    pairs = models.BPE({unknown: 0}, [], unk_token=unknown, byte_fallback=True)
    scored = models.Unigram([(name, 0.0) for name in NAMES], UNK, byte_fallback=True)
    templates: dict[str, list[dict[str, Any]]] = {}
    for model, kind in ((table, "words"), (table, "characters"), (pairs, "bpe"), (scored, "bpe")):
        template = json.loads(add_pre_tokenizer(Backend(model), kind).to_str())
        for pieces in ("vocab", "merges"):
            template["model"].pop(pieces, None)
        templates.setdefault(template["model"]["type"], []).append(template)
    return templates


def _matches_template(content: Any, ours: Any) -> bool:
    """Whether JSON equals a template; empty fields, unknown to older versions, may be absent."""
    if isinstance(ours, dict) and isinstance(content, dict):
        omitted = (value for key, value in ours.items() if key not in content)
        matches = (
            key in ours and _matches_template(value, ours[key]) for key, value in content.items()
        )
        return all(matches) and not any(omitted)
    if isinstance(ours, list) and isinstance(content, list):
        return len(content) == len(ours) and all(map(_matches_template, content, ours))
    return type(content) is type(ours) and content == ours


def _by_id(pieces: Any) -> list[str]:
    """The pieces of a table in the order of their ids, which must be contiguous."""
    if not isinstance(pieces, dict):
        raise _unsupported("its vocabulary is no table of ids")
    by_id: list[Any] = [None] * len(pieces)
    for piece, id in pieces.items():
        if type(id) is not int or not 0 <= id < len(by_id) or by_id[id] is not None:
            raise _unsupported(f"the id of {safe_repr(piece)} is out of range or used twice")
        by_id[id] = piece
    return _check_text(by_id)


def _by_score(pieces: Any) -> list[str]:
    """The pieces of a list of pieces with scores."""
    if not isinstance(pieces, list):
        raise _unsupported("its vocabulary is no list of scores")
    for entry in pieces:
        match entry:
            case [str(piece), int() | float()] if len(piece) <= MAX_PIECE_LENGTH:
                continue
        raise _unsupported(
            f"{safe_repr(entry)} is no piece of at most {MAX_PIECE_LENGTH} characters and a score"
        )
    content = [piece for piece, _ in pieces]
    if len(set(content)) < len(content):
        raise _unsupported("a piece comes twice")
    return _check_text(content)


def _check_text(pieces: list[str]) -> list[str]:
    """The pieces, after a check that they are valid Unicode."""
    try:
        "".join(pieces).encode()
    except UnicodeEncodeError:
        raise _unsupported("a piece holds half a surrogate pair") from None
    return pieces


def _check_merges(merges: Any, vocabulary: set[str]) -> None:
    if not isinstance(merges, list):
        raise _unsupported("its merges are no list")
    for entry in merges:
        match entry:
            case [str(left), str(right)] if vocabulary.issuperset((left, right, left + right)):
                continue
        raise _unsupported(f"{safe_repr(entry)} does not merge two pieces into a third")


def _too_many_characters(character: str, limit: int) -> UserError:
    return UserError(f"this is not a complete tokenizer: it has more than {limit:,} {character}")


def _unsupported(reason: str) -> UserError:
    return UserError(f"not a tokenizer of dhyan: {reason}")
