"""Scores are sacreBLEU's own, on text in one normal form, with the tokenizer of the language."""

import unicodedata

import pytest
import sacrebleu

from dhyan.errors import UserError
from dhyan.evaluation.metrics import count, score, scores_of
from dhyan.evaluation.sacrebleu_metrics import bleu_tokenizer

HYPOTHESES = ["वह घर जाता है।", "मैं पानी पीता हूँ।", "लड़की किताब पढ़ती है।"]
REFERENCES = ["वह घर जाता है ।", "मैं दूध पीता हूँ ।", "लड़की एक किताब पढ़ती है ।"]


def test_scores_equal_sacrebleu():
    scores = score(HYPOTHESES, REFERENCES, language="hi")
    assert (
        scores["bleu"].value
        == sacrebleu.corpus_bleu(HYPOTHESES, [REFERENCES], tokenize="intl").score
    )
    assert (
        scores["chrf"].value == sacrebleu.corpus_chrf(HYPOTHESES, [REFERENCES], word_order=2).score
    )
    assert "tok:intl" in scores["bleu"].signature
    assert "nw:2" in scores["chrf"].signature


def test_a_danda_is_split_from_its_word():
    assert score(["वह घर जाता है।"], ["वह घर जाता है ।"], language="hi")["bleu"].value > 99.9


@pytest.mark.parametrize(
    ("language", "references", "tokenizer"),
    [
        ("hi", HYPOTHESES, "intl"),
        ("", HYPOTHESES, "intl"),
        ("en", ["a"], "13a"),
        ("", ["a plain sentence"], "13a"),
        ("mr", HYPOTHESES, "intl"),
        ("zh", ["中文"], "zh"),
        ("de", ["Straße"], "13a"),
        ("", ["straße, größer"], "13a"),
        ("ru", ["да"], "intl"),
        ("tr", ["evet"], "13a"),
        ("ko", ["예"], "intl"),
        ("zh-CN", ["中文"], "zh"),
        ("", ["这是中文"], "zh"),
        ("", ["これはひらがなです"], "char"),
    ],
)
def test_the_tokenizer_follows_the_language(language, references, tokenizer):
    assert bleu_tokenizer(language, references) == tokenizer


def test_three_encodings_of_a_character_score_equally():
    forms = [unicodedata.normalize(form, "लड़का ज़मीन पर है") for form in ("NFC", "NFD")]
    forms.append("ल\u095cका \u095bमीन पर है")
    figures = [score([form], [other])["chrf"].value for form in forms for other in forms]
    assert figures == [pytest.approx(100)] * 9


def test_the_signature_says_when_the_text_was_normalised():
    plain = score(["वह घर"], ["वह घर"], language="hi")["bleu"].signature
    curly = score(["वह “घर”"], ["वह “घर”"], language="hi")["bleu"].signature
    assert "dhyan-normal" not in plain
    assert curly == f"{plain}|text:dhyan-normal"


def test_counts_must_agree():
    with pytest.raises(UserError, match="2 translations for 3 references"):
        score(HYPOTHESES[:2], REFERENCES)
    with pytest.raises(UserError, match="nothing to score"):
        score([], [])


def test_ter_is_optional_and_lower_is_better():
    assert set(score(HYPOTHESES, REFERENCES)) == {"bleu", "chrf"}
    ter = score(HYPOTHESES, REFERENCES, language="hi", metrics=["ter"])["ter"]
    assert ter.value == sacrebleu.corpus_ter(HYPOTHESES, [REFERENCES], normalized=True).score
    assert ter.lower_is_better
    assert "norm:yes" in ter.signature


@pytest.mark.parametrize(
    ("language", "options"),
    [("en", "norm:no|punct:yes|asian:no"), ("hi", "norm:yes|punct:yes|asian:no"),
     ("zh", "norm:yes|punct:yes|asian:yes")],
)  # fmt: skip
def test_ter_tokenises_by_language(language, options):
    assert options in score(["a"], ["b"], language=language, metrics=["ter"])["ter"].signature


def test_ter_of_the_reference_is_zero_and_of_an_empty_output_100():
    same, silent = (
        score(hypotheses, REFERENCES, metrics=["ter"])["ter"]
        for hypotheses in (REFERENCES, [""] * 3)
    )
    assert same.value == 0
    assert silent.value == 100


def test_an_empty_translation_is_scored_not_refused():
    scores = scores_of(count(["", *HYPOTHESES[1:]], REFERENCES, language="hi"))
    assert all(0 < metric.value < 100 for metric in scores.values())
    assert all(metric.value == 0 for metric in score(["", "", ""], REFERENCES).values())


def test_the_score_of_some_sentences_is_that_of_a_corpus_of_them():
    counts = count(HYPOTHESES, REFERENCES, language="hi")
    subset = scores_of(counts, [0, 2])
    alone = scores_of(count(HYPOTHESES[::2], REFERENCES[::2], language="hi"))
    assert subset == alone
