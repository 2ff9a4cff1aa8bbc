"""Which of sacreBLEU's tokenizers a language asks for."""

from collections.abc import Sequence
from unicodedata import category

LATIN = set(
    "af az bs ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it lt lv ms nb nl nn no pl pt "
    "ro sk sl sq sv sw tl tr uz vi xh yo zu".split()
)
UNSPACED = {"zh": "zh", "ja": "char", "km": "char", "lo": "char", "my": "char", "th": "char"}
SCRIPTS = {  # where no language is named: what most letters of the references lie between
    "zh": ("\u4e00", "\u9fff"),
    "ja": ("\u3040", "\u30ff"),
    "th": ("\u0e00", "\u0e7f"),
    "en": ("A", "\u024f"),
}


def bleu_tokenizer(language: str, references: Sequence[str]) -> str:
    """sacreBLEU's tokenizer for a language, or for what most of the references' letters look like.

    13a parts ASCII punctuation only, so it is for Latin letters; Hindi and all others get `intl`,
    which parts a danda from its word, or single characters where words are not spaced.
    """
    code = language.partition("-")[0] or _by_script(references)
    if code in LATIN:
        return "13a"
    return UNSPACED.get(code, "intl")


def _by_script(references: Sequence[str]) -> str:
    letters = [c for text in references[:1000] for c in text if category(c)[0] in "LM"]
    for code, (first, last) in SCRIPTS.items():
        if 2 * sum(first <= letter <= last for letter in letters) > len(letters):
            return code
    return ""
