"""Where the words and signs of a normalised text begin and end."""

from collections import Counter
from collections.abc import Iterable

from tokenizers import Regex, decoders, pre_tokenizers
from tokenizers import Tokenizer as Backend

from dhyan.text.vocabulary import MARK

# The joiners are no letters to Unicode, yet they spell words. A sign that is no letter stands
# alone with all that combines with it, so that no piece can ever read "</s>" or "<0x41>".
_LETTER = r"\p{L}\p{M}\p{N}_\u200c\u200d"
_WORD = rf"[{_LETTER}]+(?:'[{_LETTER}]+)*"
_SIGN = rf"(?:[🇦-🇿]{{2}}|[^{_LETTER}▁\n])(?:[\p{{M}}🏻-🏿\u200c]|\u200d[^{_LETTER}▁\n]?)*"
WORDS = pre_tokenizers.Split(Regex(rf"▁?(?:{_WORD}|{_SIGN})|[▁\n]"), "isolated")
CHARACTERS = pre_tokenizers.Split(Regex("."), "isolated")


def after_marking(split: pre_tokenizers.Split) -> pre_tokenizers.Sequence:
    """A cut of the text whose spaces have become word marks."""
    return pre_tokenizers.Sequence([pre_tokenizers.Metaspace(MARK, split=False), split])


def furnished(backend: Backend, kind: str) -> Backend:
    """With what cuts a text before its pieces are found, and what puts it together again."""
    backend.pre_tokenizer = after_marking(CHARACTERS if kind == "characters" else WORDS)
    backend.decoder = decoders.Sequence([decoders.ByteFallback(), decoders.Metaspace(MARK)])
    return backend


def word_counts(texts: Iterable[str]) -> Counter[str]:
    """How often each word and sign stands in normalised texts."""
    cut = after_marking(WORDS)
    return Counter(word for text in texts for word, _ in cut.pre_tokenize_str(text))
