"""BLEU, chrF++ and TER by sacreBLEU, with the tokenizer of a language."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any
from unicodedata import category

from sacrebleu.metrics.base import Metric as SacreBLEU
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from dhyan.evaluation.metric import Metric, Totals

LATIN = set(
    "af az bs ca cs cy da de en eo es et eu fi fr ga gl hr hu id is it lt lv ms nb nl nn no pl pt "
    "ro sk sl sq sv sw tl tr uz vi xh yo zu".split()
)
UNSPACED = {"zh": "zh", "ja": "char", "km": "char", "lo": "char", "my": "char", "th": "char"}
SCRIPTS = {  # Unicode ranges to guess the language from, where none is given
    "zh": ("\u4e00", "\u9fff"),
    "ja": ("\u3040", "\u30ff"),
    "th": ("\u0e00", "\u0e7f"),
    "en": ("A", "\u024f"),
}


def bleu(tokenizer: str = "intl") -> Metric:
    """BLEU (Papineni et al., 2002) with one of sacreBLEU's tokenizers."""
    return _metric(
        "bleu",
        "BLEU",
        "BLEU (Papineni et al., 2002), by sacreBLEU.",
        BLEU(tokenize=tokenizer),
        for_tokenizer=bleu,
    )


def sentence_bleu(tokenizer: str = "intl") -> Metric:
    """BLEU of one sentence, of n-grams as long as the sentence allows."""
    return _metric(
        "bleu",
        "BLEU",
        "BLEU of n-grams as long as the sentence allows, by sacreBLEU.",
        BLEU(tokenize=tokenizer, effective_order=True),
        for_tokenizer=sentence_bleu,
    )


def chrf() -> Metric:
    """chrF++ (Popović, 2017): character and word n-grams."""
    about = "chrF++ (Popović, 2017): character and word n-grams, by sacreBLEU."
    return _metric("chrf", "chrF++", about, CHRF(word_order=2))


def ter(tokenizer: str = "intl") -> Metric:
    """TER (Snover et al., 2006), with the options that fit BLEU's tokenizer.

    It keeps its defaults for Latin scripts. For others it splits ASCII punctuation from words; a
    danda stays, since TER has no option for it. Chinese and Japanese are split into characters.
    """
    return _metric(
        "ter",
        "TER",
        "Translation edit rate (Snover et al., 2006), by sacreBLEU; slow.",
        TER(normalized=tokenizer != "13a", asian_support=tokenizer in ("zh", "char")),
        for_tokenizer=ter,
        lower_is_better=True,
    )


def _metric(name: str, label: str, about: str, metric: SacreBLEU, **options: Any) -> Metric:
    return Metric(
        name=name,
        label=label,
        about=about,
        counts=partial(_counts, metric),
        score=partial(_score, metric),
        sign=partial(_sign, metric),
        **options,
    )


# sacreBLEU's own tests of significance start from these counts; nothing public returns them.


def _counts(metric: SacreBLEU, hypothesis: str, references: Sequence[str]) -> Totals:
    streams: list[Any] = [[reference] for reference in references]
    [counts] = metric._extract_corpus_statistics([hypothesis], streams)
    return dict(enumerate(counts))


def _score(metric: SacreBLEU, totals: Totals) -> float:
    return float(metric._compute_score_from_stats([totals[n] for n in range(len(totals))]).score)


def _sign(metric: SacreBLEU, reference_count: int, marks: Mapping[str, object]) -> str:
    """sacreBLEU's signature; resampling is marked by `bs`, `ar` and `seed`."""
    metric.num_refs = reference_count
    signature = metric.get_signature()
    for key, value in marks.items():
        signature.update(key, value)
    return str(signature)


def bleu_tokenizer(language: str, references: Sequence[str]) -> str:
    """sacreBLEU's tokenizer for a language, or for the script of most of the references.

    13a splits off ASCII punctuation only, so it is for Latin scripts; Hindi and all others get
    `intl`, which splits a danda from its word, or `char` where words are not spaced.
    """
    code = language.partition("-")[0] or _language_by_script(references)
    if code in LATIN:
        return "13a"
    return UNSPACED.get(code, "intl")


def _language_by_script(references: Sequence[str]) -> str:
    characters = [c for text in references[:1000] for c in text if category(c)[0] in "LM"]
    for code, (first, last) in SCRIPTS.items():
        if 2 * sum(first <= c <= last for c in characters) > len(characters):
            return code
    return ""
