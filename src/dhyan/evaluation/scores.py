"""BLEU and chrF++ by sacreBLEU, with signatures, on text in one normal form."""

from collections.abc import Sequence
from dataclasses import dataclass

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dhyan.faults import Fault
from dhyan.text.normalize import normalize

TOKENIZERS = {"zh": "zh", "ja": "char", "ko": "char", "th": "char", "lo": "char", "my": "char"}
LATIN = {"cs", "da", "de", "en", "es", "fi", "fr", "it", "nl", "no", "pl", "pt", "ro", "sv", "vi"}


@dataclass(frozen=True)
class Score:
    """One number and the signature that says how it was reached."""

    name: str
    value: float
    signature: str


def score(
    said: Sequence[str], references: Sequence[str], *, language: str = ""
) -> dict[str, Score]:
    """Corpus BLEU and chrF++ of translations against one reference each.

    Both sides are brought to dhyan's normal form first (NFC, plain quotes and spaces), so that
    two spellings of one Devanagari letter are one letter to the metric too.
    """
    if len(said) != len(references):
        raise Fault(f"{len(said)} translations for {len(references)} references: one for each")
    if not said:
        raise Fault("nothing to score: no sentences")
    ours = [normalize(text) for text in said]
    theirs = [[normalize(text) for text in references]]
    bleu = BLEU(tokenize=bleu_tokenizer(language, references))
    chrf = CHRF(word_order=2)
    return {
        "bleu": Score("BLEU", bleu.corpus_score(ours, theirs).score, str(bleu.get_signature())),
        "chrf": Score("chrF++", chrf.corpus_score(ours, theirs).score, str(chrf.get_signature())),
    }


def bleu_tokenizer(language: str, references: Sequence[str]) -> str:
    """sacreBLEU's tokenizer for a language: 13a only where it splits all punctuation.

    Hindi and every script beyond ASCII punctuation get `intl`, which parts a danda from its word;
    where the language is not named, the references' own letters decide.
    """
    if language in TOKENIZERS:
        return TOKENIZERS[language]
    if language in LATIN:
        return "13a"
    if language:
        return "intl"
    letters = [letter for text in references[:1000] for letter in text if letter.isalpha()]
    beyond_latin = sum(letter > "\u024f" for letter in letters)
    return "intl" if 2 * beyond_latin > len(letters) else "13a"
