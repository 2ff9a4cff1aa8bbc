"""BLEU and chrF++ by sacreBLEU, with signatures, on text in one normal form."""

from collections.abc import Sequence
from dataclasses import dataclass
from unicodedata import category

from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF

from dhyan.faults import Fault
from dhyan.text.normalize import normalize

NORMALIZED = "|text:dhyan-normal"
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


@dataclass(frozen=True)
class Score:
    """One number and the signature that says how it was reached."""

    name: str
    value: float
    signature: str


def score(
    said: Sequence[str], references: Sequence[str], *, language: str = "", tokenizer: str = ""
) -> dict[str, Score]:
    """Corpus BLEU and chrF++ of translations against one reference each.

    BLEU's tokenizer is named, or follows from the language, or from the references.

    Both sides are brought to dhyan's normal form first (NFC, plain quotes and spaces), so that
    two spellings of one Devanagari letter are one letter to the metric too; where that changed
    any text, the signature says so.
    """
    if len(said) != len(references):
        raise Fault(f"{len(said)} translations for {len(references)} references: one for each")
    if not said:
        raise Fault("nothing to score: no sentences")
    ours = [normalize(text) for text in said]
    theirs = [[normalize(text) for text in references]]
    changed = [*ours, *theirs[0]] != [*said, *references]
    metrics = {
        "bleu": ("BLEU", BLEU(tokenize=tokenizer or bleu_tokenizer(language, references))),
        "chrf": ("chrF++", CHRF(word_order=2)),
    }
    scores = {}
    for key, (name, metric) in metrics.items():
        value = metric.corpus_score(ours, theirs).score
        signature = f"{metric.get_signature()}{NORMALIZED if changed else ''}"
        scores[key] = Score(name, value, signature)
    return scores


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
