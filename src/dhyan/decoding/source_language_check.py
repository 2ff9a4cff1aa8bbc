"""Language check: whether a text looks like the source language of a model, by script and words."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from math import inf, sqrt

from dhyan.data.filters import split_words
from dhyan.decoding.translator import Translator
from dhyan.errors import spell_option
from dhyan.text.languages import Script, script_of
from dhyan.text.normalize import normalize
from dhyan.text.placeholders import KINDS, mask
from dhyan.text.pretokenization import FIXED_TOKENS, WORD_MARK
from dhyan.text.tokenizer import Tokenizer

SAMPLE_WORDS, SAMPLE_SENTENCES = 2000, 200  # the first ones of a text are checked
MIN_SCRIPT_WORDS, WRONG_SCRIPT_SHARE = 2, 0.5
MIN_UNKNOWN_WORDS = 8
UNKNOWN_SHARE = {"words": 0.6, "characters": 0.5}
SUBWORD_UNKNOWN_SHARES = {1500: 0.8, 4000: 0.55, inf: 0.42}  # by the most pieces of a vocabulary
FRAGMENT_LENGTH = 2  # characters of the pieces of a word that is not in the language, on average
SHORT_PIECES = "zh ja ko th lo km my"  # languages whose pieces are short in any text


@dataclass
class LanguageCheck:
    """Counts the words of a text that are not in the source language of a model.

    Words with capital letters or digits, addresses and symbols are left out, since names, numbers,
    URLs and emoji occur in every language. The shares at which a warning is due were chosen on
    texts of five languages and other domains than the vocabularies were trained on.
    """

    source: Tokenizer
    target: Tokenizer
    source_language: str = ""
    target_language: str = ""
    words: int = 0
    other_script: int = 0
    target_script: int = 0
    unknown: int = 0
    unknown_in_target: int = 0
    complete: bool = False

    @classmethod
    def of(cls, translator: Translator) -> "LanguageCheck":
        """The check for a text that a translator is given."""
        languages = translator.source_language, translator.language
        if not isinstance(translator.source, Tokenizer):  # what is not text has no language
            return cls(translator.target, translator.target, *languages, complete=True)
        return cls(translator.source, translator.target, *languages)

    def add(self, sentences: Iterable[str]) -> None:
        """Count the words of further sentences, until the sample is complete."""
        for sentence in sentences:
            self.complete = self.complete or self.words >= SAMPLE_WORDS
            if self.complete:
                return
            words = plain_words(sentence)
            source, target = self._scripts
            self.words += len(words)
            self.unknown += count_unknown(self.source, words)
            self.unknown_in_target += count_unknown(self.target, words)
            if source:
                self.other_script += sum(not source.letters.search(word) for word in words)
            if target and target != source:
                self.target_script += sum(bool(target.letters.search(word)) for word in words)

    def warning(self) -> str:
        """What is unlike the source language, and what to do; empty if nothing is."""
        script, _ = self._scripts
        if script and _is_most(self.other_script, self.words):
            reason = f"{self.other_script:,} of {self.words:,} words have no {script.name} letter"
            swapped = 2 * self.target_script > self.words
        elif self._most_unknown():
            reason = f"{self.unknown:,} of {self.words:,} words are not in the source vocabulary"
            swapped = 2 * self.unknown_in_target < self.unknown
        else:
            return ""
        hint = "source and target seem to be swapped: " if swapped else ""
        remedy = "give a text in the source language, or a model for the language of this text"
        return f"{reason}, {self._languages()}; {hint}{remedy}"

    def _languages(self) -> str:
        """What the model translates, or how its languages are set in training."""
        if not (self.source_language or self.target_language):
            keys = "data.source_language and data.target_language"
            return f"and the languages of the model are unknown (training sets them by {keys})"
        source, target = _name(self.source_language), _name(self.target_language)
        return f"but the model translates from {source} into {target}"

    def _most_unknown(self) -> bool:
        """Whether more words are unknown than in texts of other domains; few words need more."""
        if self.words < MIN_UNKNOWN_WORDS:
            return False
        limit = _unknown_share(self.source) + 1 / sqrt(self.words)
        return self.unknown >= min(limit, 1.0) * self.words

    @cached_property
    def _scripts(self) -> tuple[Script | None, Script | None]:
        return script_of(self.source_language), script_of(self.target_language)


def script_warning(texts: Iterable[str], language: str) -> str:
    """What says that texts are not in the script of their language; empty if nothing does."""
    script = script_of(language)
    if script is None:
        return ""
    words = [word for text in islice(texts, SAMPLE_SENTENCES) for word in plain_words(text)]
    others = sum(not script.letters.search(word) for word in words)
    if not _is_most(others, len(words)):
        return ""
    reason = f"{others:,} of {len(words):,} words have no {script.name} letter"
    option = spell_option("language")
    remedy = f"see that the files are in the right order, or name the language with {option}"
    return f"{reason}, but the target language is {_name(language)}; {remedy}"


def _is_most(count: int, words: int) -> bool:
    return count >= MIN_SCRIPT_WORDS and count > WRONG_SCRIPT_SHARE * words


def _unknown_share(tokenizer: Tokenizer) -> float:
    """The share of unknown words that a text in the language of a tokenizer does not reach."""
    if (kind := _kind(tokenizer)) in UNKNOWN_SHARE:
        return UNKNOWN_SHARE[kind]
    shares = SUBWORD_UNKNOWN_SHARES.items()
    return next(share for pieces, share in shares if len(tokenizer) < pieces)


def plain_words(sentence: str) -> list[str]:
    """The words of a sentence without names, numbers, addresses and single letters.

    A word is left out if it has a capital letter or a digit.
    """
    masked, _ = mask(normalize(sentence), KINDS)
    return [
        word
        for word in split_words(masked)
        if len(word) > 1 and word == word.lower() and not any(map(str.isdigit, word))
    ]


def count_unknown(tokenizer: Tokenizer, words: Sequence[str]) -> int:
    """The number of words with an unknown token, or split into fragments of a few characters."""
    subwords = _kind(tokenizer) not in UNKNOWN_SHARE
    return sum(
        tokenizer.has_unknown(ids) or (subwords and _fragments(word, ids))
        for word, ids in zip(words, tokenizer.encode_batch(words, within=True), strict=True)
    )


def _kind(tokenizer: Tokenizer) -> str:
    """The kind of a tokenizer; that of an imported model may have characters alone."""
    pieces = tokenizer.piece_ids().keys() - set(FIXED_TOKENS)
    characters = all(len(piece.strip(WORD_MARK)) <= 1 for piece in pieces)
    return "characters" if characters else tokenizer.kind


def _fragments(word: str, ids: Sequence[int]) -> bool:
    """Whether the pieces of a word are as short as those of a word of another language."""
    short = len(ids) > 1 and len(word) <= FRAGMENT_LENGTH * len(ids)
    return short and not any(script.letters.search(word) for script in _SHORT_PIECES)


_SHORT_PIECES = [script for code in SHORT_PIECES.split() if (script := script_of(code))]


def _name(language: str) -> str:
    return f"'{language}'" if language else "an unknown language"
