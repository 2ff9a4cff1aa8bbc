"""Scores are sacreBLEU's own, on text in one normal form, with the tokenizer of the language."""

import unicodedata

import pytest
import sacrebleu

from dhyan.evaluation.by_length import by_length
from dhyan.evaluation.scores import bleu_tokenizer, score
from dhyan.faults import Fault

SAID = ["वह घर जाता है।", "मैं पानी पीता हूँ।", "लड़की किताब पढ़ती है।"]
WANTED = ["वह घर जाता है ।", "मैं दूध पीता हूँ ।", "लड़की एक किताब पढ़ती है ।"]


def test_they_are_sacrebleus_figures():
    found = score(SAID, WANTED, language="hi")
    assert found["bleu"].value == sacrebleu.corpus_bleu(SAID, [WANTED], tokenize="intl").score
    assert found["chrf"].value == sacrebleu.corpus_chrf(SAID, [WANTED], word_order=2).score
    assert "tok:intl" in found["bleu"].signature
    assert "nw:2" in found["chrf"].signature


def test_a_danda_is_parted_from_its_word():
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


def test_three_spellings_of_a_letter_score_alike():
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
    with pytest.raises(Fault, match="2 translations for 3 references"):
        score(SAID[:2], WANTED)
    with pytest.raises(Fault, match="nothing to score"):
        score([], [])


def test_every_bucket_is_scored_by_the_same_tokenizer():
    texts = ["iPhone है।", "यह एक बहुत लंबा वाक्य है जिसमें हिंदी के शब्द हैं।"]
    buckets = by_length(["one two", "one two three four five six seven"], texts, texts)
    assert len(buckets) == 2
    assert all("tok:intl" in bucket.scores["bleu"].signature for bucket in buckets)


def test_buckets_hold_every_sentence_once():
    sources = [" ".join(["w"] * n) for n in (1, 5, 6, 10, 11, 60)]
    text = ["वह घर जाता है ।"] * 6
    buckets = by_length(sources, text, text, language="hi")
    assert [(b.shortest, b.longest, b.sentences) for b in buckets] == [
        (1, 5, 2),
        (6, 10, 2),
        (11, 15, 1),
        (51, None, 1),
    ]
    assert all(b.scores["bleu"].value == pytest.approx(100) for b in buckets)
