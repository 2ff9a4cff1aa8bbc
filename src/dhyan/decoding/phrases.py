"""Phrases as token ids: whether a hypothesis contains one, and what would complete a term."""

from collections.abc import Callable, Iterable, Sequence
from unicodedata import category

from dhyan.special_tokens import NAMES
from dhyan.text.pretokenization import BYTE_TOKENS, WORD_MARK
from dhyan.text.tokenizer import Tokenizer

Phrase = tuple[int, ...]

SOME_LETTER = "\ua66e"  # occurs in no term


def contains(ids: Phrase, phrase: Phrase) -> bool:
    """Whether the ids contain the phrase."""
    return any(ids[at : at + len(phrase)] == phrase for at in range(len(ids) - len(phrase) + 1))


def completing_tokens(
    tokenizer: Tokenizer, terms: Iterable[str]
) -> Callable[[Sequence[int]], list[int]]:
    """A function from a hypothesis to the tokens that would complete one of the terms."""
    texts = token_texts(tokenizer)
    marked = [tokenizer.normalize(term).replace(" ", WORD_MARK) for term in terms]
    always, endings = _endings(texts, marked)
    longest = max(map(len, endings), default=0)

    def completing(ids: Sequence[int]) -> list[int]:
        latest = ids[max(len(ids) - longest - 1, 0) :]
        text = ("\n" + "".join(texts[id] for id in latest))[-longest - 1 :]
        starts = (at for at in range(len(text), 0, -1) if not is_word_character(text[at - 1]))
        return [*always, *(id for at in starts for id in endings.get(text[at:], ()))]

    return completing


def is_word_character(character: str) -> bool:
    """Whether a character is part of a word: letters, marks, digits, and the joiners."""
    return category(character)[0] in "LMN" or character in "_\u200c\u200d"


def token_texts(tokenizer: Tokenizer) -> list[str]:
    """The text of each token, a mark for a space; a byte of a longer character is a letter."""
    special = {
        name: chr(code) if code < 128 else SOME_LETTER for code, name in enumerate(BYTE_TOKENS)
    }
    special |= dict.fromkeys(NAMES, "\n")
    pieces = sorted(tokenizer.piece_ids().items(), key=lambda item: item[1])
    return [special.get(piece, piece) for piece, _ in pieces]


def _endings(texts: Sequence[str], terms: Sequence[str]) -> tuple[list[int], dict[str, list[int]]]:
    """The tokens that are a complete term; and by prefix of a term, the tokens that complete it."""
    ids_of: dict[str, list[int]] = {}
    for id, text in enumerate(texts):
        ids_of.setdefault(text, []).append(id)
    always = [id for term in terms for id in ids_of.get(WORD_MARK + term, ())]
    endings: dict[str, list[int]] = {}
    for term in terms:
        for at in range(len(term)):
            if term[at:] in ids_of:
                endings.setdefault(term[:at], []).extend(ids_of[term[at:]])
    return always, endings
