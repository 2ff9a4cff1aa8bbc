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
from dhyan.text.unigram import MAX_PIECE_LENGTH
from dhyan.text.vocabulary import add_pre_tokenizer

MAX_BYTES = 48 * 2**20
MAX_PIECES = 500_000
MAX_CHARACTERS = {"[": 2 * MAX_PIECES, '"': 10 * MAX_PIECES, ",": 10 * MAX_PIECES}
WIDEST_BYTES = 32 * 2**20  # of a file with letters of four bytes: all others take as much then
BLOCK = 2**20  # bytes, in every such block of a file a string must begin or end
EDGE = re.compile(rb'[^\\]"')
WIDE = re.compile(rb"[\xf0-\xff]")
BY_ID = ("WordLevel", "BPE")


def decode_file(data: bytes) -> str:
    """The text of a tokenizer file, unless parsing it would need too much memory."""
    for character, most in MAX_CHARACTERS.items():
        if data.count(character.encode()) > most:
            raise _too_many(character, most)
    for start in range(0, len(data) - BLOCK, BLOCK):
        if not EDGE.search(data, start, start + BLOCK):
            raise UserError(f"this is not a whole tokenizer: no piece has {BLOCK:,} bytes")
    if len(data) > WIDEST_BYTES and WIDE.search(data):
        raise UserError(f"the tokenizer has more than the {WIDEST_BYTES:,} bytes it may")
    return data.decode()


def count_pieces(text: str) -> int:
    """The number of pieces of a tokenizer, after a check that all of it is harmless."""
    table = _table(text)
    model = table["model"]
    templates = _templates().get(str(model.get("type")))
    if templates is None:
        raise _foreign(f"its model is of the kind {safe_repr(model.get('type'))}")
    pieces = model.pop("vocab", None)
    merges = model.pop("merges", []) if model["type"] == "BPE" else []
    if not any(_agree(table, ours) for ours in templates):
        raise _foreign("it cuts, changes or joins text in a way of its own")
    vocabulary = _by_id(pieces) if model["type"] in BY_ID else _by_score(pieces)
    if len(vocabulary) > MAX_PIECES:
        raise UserError(
            f"the tokenizer has {len(vocabulary):,} pieces, more than the {MAX_PIECES:,} it may"
        )
    if tuple(vocabulary[: len(NAMES)]) != NAMES:
        raise _foreign(f"its ids must begin with {', '.join(NAMES)}")
    _check_merges(merges, set(vocabulary))
    return len(vocabulary)


def _table(text: str) -> dict[str, Any]:
    for character, most in MAX_CHARACTERS.items():
        if text.count(character) > most:
            raise _too_many(character, most)
    try:
        table = read_json(text)
    except ValueError as error:
        raise UserError(f"this is not a whole tokenizer: {error}") from None
    if not isinstance(table, dict) or not isinstance(table.get("model"), dict):
        raise _foreign("it has no model")
    return table


@lru_cache
def _templates() -> dict[str, list[dict[str, Any]]]:
    """What the library writes of our tokenizers, less their pieces, by the kind of model."""
    unknown = NAMES[UNK]
    table = models.WordLevel({unknown: 0}, unk_token=unknown)
    pairs = models.BPE({unknown: 0}, [], unk_token=unknown, byte_fallback=True)
    scored = models.Unigram([(name, 0.0) for name in NAMES], UNK, byte_fallback=True)
    content: dict[str, list[dict[str, Any]]] = {}
    for model, kind in ((table, "words"), (table, "characters"), (pairs, "bpe"), (scored, "bpe")):
        written = json.loads(add_pre_tokenizer(Backend(model), kind).to_str())
        for pieces in ("vocab", "merges"):
            written["model"].pop(pieces, None)
        content.setdefault(written["model"]["type"], []).append(written)
    return content


def _agree(content: Any, ours: Any) -> bool:
    """Whether all that is said is as we say it; an older library may not have said what is not."""
    if isinstance(ours, dict) and isinstance(content, dict):
        unsaid = (value for key, value in ours.items() if key not in content)
        said = (key in ours and _agree(value, ours[key]) for key, value in content.items())
        return all(said) and not any(unsaid)
    if isinstance(ours, list) and isinstance(content, list):
        return len(content) == len(ours) and all(map(_agree, content, ours))
    return type(content) is type(ours) and content == ours


def _by_id(pieces: Any) -> list[str]:
    """The pieces of a table in the order of their ids, which leave none out."""
    if not isinstance(pieces, dict):
        raise _foreign("its vocabulary is no table of ids")
    by_id: list[Any] = [None] * len(pieces)
    for piece, id in pieces.items():
        if type(id) is not int or not 0 <= id < len(by_id) or by_id[id] is not None:
            raise _foreign(f"the id of {safe_repr(piece)} is not its own")
        by_id[id] = piece
    return _check_text(by_id)


def _by_score(pieces: Any) -> list[str]:
    """The pieces of a list, each with its score."""
    if not isinstance(pieces, list):
        raise _foreign("its vocabulary is no list of scores")
    for entry in pieces:
        match entry:
            case [str(piece), int() | float()] if len(piece) <= MAX_PIECE_LENGTH:
                continue
        raise _foreign(
            f"{safe_repr(entry)} is no piece of at most {MAX_PIECE_LENGTH} letters and a score"
        )
    content = [piece for piece, _ in pieces]
    if len(set(content)) < len(content):
        raise _foreign("a piece comes twice")
    return _check_text(content)


def _check_text(pieces: list[str]) -> list[str]:
    """The same pieces, if they are text."""
    try:
        "".join(pieces).encode()
    except UnicodeEncodeError:
        raise _foreign("a piece is no text but half a character") from None
    return pieces


def _check_merges(merges: Any, vocabulary: set[str]) -> None:
    if not isinstance(merges, list):
        raise _foreign("its merges are no list")
    for entry in merges:
        match entry:
            case [str(left), str(right)] if vocabulary.issuperset((left, right, left + right)):
                continue
        raise _foreign(f"{safe_repr(entry)} does not merge two pieces into a third")


def _too_many(character: str, most: int) -> UserError:
    return UserError(f"this is not a whole tokenizer: it has more than {most:,} {character}")


def _foreign(reason: str) -> UserError:
    return UserError(f"not a tokenizer of dhyan: {reason}")
