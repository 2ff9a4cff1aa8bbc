"""Pre-tokenization, word counts, and the special and byte tokens that all tokenizers share."""

from collections import Counter
from collections.abc import Container, Iterable, Mapping

from tokenizers import Regex, decoders, pre_tokenizers
from tokenizers import Tokenizer as Backend

from dhyan.special_tokens import NAMES

WORD_MARK = "▁"
BYTE_TOKENS = [f"<0x{byte:02X}>" for byte in range(256)]
FIXED_TOKENS = [*NAMES, *BYTE_TOKENS]

# The joiners are not letters in Unicode, yet they spell words. A character that is no letter is a
# word of its own, with all that combines with it, so that no piece can ever read "</s>" or "<0x41>".
_LETTER = r"\p{L}\p{M}\p{N}_\u200c\u200d"
_WORD = rf"[{_LETTER}]+(?:'[{_LETTER}]+)*"
_SYMBOL = rf"(?:[🇦-🇿]{{2}}|[^{_LETTER}▁\n])(?:[\p{{M}}🏻-🏿\u200c]|\u200d[^{_LETTER}▁\n]?)*"
WORD_SPLIT = pre_tokenizers.Split(Regex(rf"▁?(?:{_WORD}|{_SYMBOL})|[▁\n]"), "isolated")
CHARACTER_SPLIT = pre_tokenizers.Split(Regex("."), "isolated")


def with_word_mark(split: pre_tokenizers.Split) -> pre_tokenizers.Sequence:
    """A pre-tokenizer that first replaces spaces by word marks."""
    return pre_tokenizers.Sequence([pre_tokenizers.Metaspace(WORD_MARK, split=False), split])


def add_pre_tokenizer(backend: Backend, kind: str) -> Backend:
    """The backend with the pre-tokenizer and the decoder of a kind of tokenizer."""
    split = CHARACTER_SPLIT if kind == "characters" else WORD_SPLIT
    backend.pre_tokenizer = with_word_mark(split)
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(WORD_MARK)])
    return backend


def count_words(texts: Iterable[str]) -> Counter[str]:
    """How often each word and symbol occurs in normalised texts."""
    split = with_word_mark(WORD_SPLIT)
    return Counter(word for text in texts for word, _ in split.pre_tokenize_str(text))


def by_frequency(counts: Mapping[str, int] | Mapping[str, float]) -> list[str]:
    """Most frequent first; ties in code point order, so that the order is deterministic."""
    return sorted(counts, key=lambda piece: (-counts[piece], piece))


def frequent_characters(counts: Mapping[str, int], limit: int) -> list[str]:
    """The most frequent characters, the word mark always first."""
    characters: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word:
            characters[character] += count
    del characters[WORD_MARK]
    return [WORD_MARK, *by_frequency(characters)[: limit - 1]]


def new_characters(counts: Mapping[str, int], vocabulary: Container[str], limit: int) -> list[str]:
    """The most frequent characters that are not in a vocabulary."""
    characters = frequent_characters(counts, sum(map(len, counts)))
    return [character for character in characters if character not in vocabulary][:limit]
