"""Key-word test: how many everyday sentences keep their key words in a model's translation."""

import unicodedata
from collections.abc import Mapping
from typing import Any

import dhyan
from dhyan.pretrained import model_names
from dhyan.pretrained.everyday_sentences import KEY_WORDS

NUKTA, CHANDRABINDU, ANUSVARA = "\u093c", "\u0901", "\u0902"


def key_word_test(key_words: Mapping[str, str] = KEY_WORDS) -> dict[str, Any]:
    """Translate every sentence with each English–Hindi model, and count those with all key words."""
    names = [name for name in model_names() if name.startswith("en-hi")]
    return {"sentences": len(key_words), "models": {name: _test(name, key_words) for name in names}}


def has_key_words(translation: str, key_words: str) -> bool:
    """Whether a translation contains one spelling of each key word, or the beginning of a form."""
    text = plain_spelling(translation)
    return all(
        any(plain_spelling(word) in text for word in words.split("/"))
        for words in key_words.split()
    )


def plain_spelling(text: str) -> str:
    """The text without nukta, and with anusvara for chandrabindu, as people type."""
    return unicodedata.normalize("NFD", text).replace(NUKTA, "").replace(CHANDRABINDU, ANUSVARA)


def _test(name: str, key_words: Mapping[str, str]) -> dict[str, Any]:
    translations = [own.text for own in dhyan.load(name)(list(key_words))]
    wrong = {
        sentence: translation
        for (sentence, words), translation in zip(key_words.items(), translations, strict=True)
        if not has_key_words(translation, words)
    }
    return {"right": len(key_words) - len(wrong), "wrong": wrong}
