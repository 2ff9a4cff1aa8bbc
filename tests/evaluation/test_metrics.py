"""Scores are sacreBLEU's own, on text in one normal form, with the tokenizer of the language."""

import unicodedata

import pytest
import sacrebleu

from dhyan.errors import UserError
from dhyan.evaluation.metrics import bleu_tokenizer, count, score, scores_of

SAID = ["वह घर जाता है।", "मैं पानी पीता हूँ।", "लड़की किताब पढ़ती है।"]
WANTED = ["वह घर जाता है ।", "मैं दूध पीता हूँ ।", "लड़की एक किताब पढ़ती है ।"]


def test_scores_equal_sacrebleu():
    found = score(SAID, WANTED, language="hi")
    assert found["bleu"].value == sacrebleu.corpus_bleu(SAID, [WANTED], tokenize="intl").score
    assert found["chrf"].value == sacrebleu.corpus_chrf(SAID, [WANTED], word_order=2).score
    assert "tok:intl" in found["bleu"].signature
    assert "nw:2" in found["chrf"].signature


def test_a_danda_is_split_from_its_word():
    assert score(["वह घर जाता है।"], ["वह घर जाता है ।"], language="hi")["bleu"].value > 99.9


@pytest.mark.parametrize(
    ("language", "references", "wanted"),
    [
        ("hi", SAID, "intl"),
        ("", SAID, "intl"),
        ("en", ["a"], "13a"),
        ("", ["a plain sentence"], "13a"),
        ("mr", SAID, "intl"),
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
def test_the_tokenizer_follows_the_language(language, references, wanted):
    assert bleu_tokenizer(language, references) == wanted


def test_three_encodings_of_a_character_score_equally():
    forms = [unicodedata.normalize(form, "लड़का ज़मीन पर है") for form in ("NFC", "NFD")]
    forms.append("ल\u095cका \u095bमीन पर है")
    figures = [score([one], [other])["chrf"].value for one in forms for other in forms]
    assert figures == [pytest.approx(100)] * 9


def test_the_signature_says_when_the_text_was_normalised():
    plain = score(["वह घर"], ["वह घर"], language="hi")["bleu"].signature
    curly = score(["वह “घर”"], ["वह “घर”"], language="hi")["bleu"].signature
    assert "dhyan-normal" not in plain
    assert curly == f"{plain}|text:dhyan-normal"


def test_counts_must_agree():
    with pytest.raises(UserError, match="2 translations for 3 references"):
        score(SAID[:2], WANTED)
    with pytest.raises(UserError, match="nothing to score"):
        score([], [])


def test_ter_is_optional_and_lower_is_better():
    assert set(score(SAID, WANTED)) == {"bleu", "chrf"}
    found = score(SAID, WANTED, language="hi", metrics=["ter"])["ter"]
    assert found.value == sacrebleu.corpus_ter(SAID, [WANTED], normalized=True).score
    assert found.lower_is_better
    assert "norm:yes" in found.signature


@pytest.mark.parametrize(
    ("language", "options"),
    [("en", "norm:no|punct:yes|asian:no"), ("hi", "norm:yes|punct:yes|asian:no"),
     ("zh", "norm:yes|punct:yes|asian:yes")],
)  # fmt: skip
def test_ter_tokenises_by_language(language, options):
    assert options in score(["a"], ["b"], language=language, metrics=["ter"])["ter"].signature


def test_ter_of_the_reference_is_zero_and_of_an_empty_output_100():
    same, silent = (score(said, WANTED, metrics=["ter"])["ter"] for said in (WANTED, [""] * 3))
    assert same.value == 0
    assert silent.value == 100


def test_an_empty_translation_is_scored_not_refused():
    found = scores_of(count(["", *SAID[1:]], WANTED, language="hi"))
    assert all(0 < one.value < 100 for one in found.values())
    assert all(one.value == 0 for one in score(["", "", ""], WANTED).values())


def test_the_score_of_some_sentences_is_that_of_a_corpus_of_them():
    counts = count(SAID, WANTED, language="hi")
    some = scores_of(counts, [0, 2])
    alone = scores_of(count(SAID[::2], WANTED[::2], language="hi"))
    assert some == alone
