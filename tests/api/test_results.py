"""Results in Python and in a notebook: short repr, HTML, frames."""

import inspect
import sys
from copy import copy

import pandas
import polars
import pytest

import dhyan
from dhyan.insight.word_alignment import word_attention

HOSTILE = "<script>alert(1)</script>"


@pytest.fixture(scope="module")
def translator(trained):
    return trained.translator


def test_translate_takes_a_text_a_list_or_a_column(translator):
    options = {"beam": 2, "max_length": 5}
    alone = translator.translate("seven", **options)
    assert isinstance(alone, dhyan.Translation)
    for texts in (["seven"], ("seven",), pandas.Series(["seven"]), polars.Series(["seven"])):
        assert translator.translate(texts, **options) == [alone]
    assert translator.translate(iter(["seven"]), **options) == translator("seven", **options)
    assert translator.translate([]) == []


NOT_SENTENCES = [
    ["a", None],
    pandas.Series(["a", float("nan")]),
    {"en": "a"},
    pandas.DataFrame({"en": ["a"]}),
    polars.DataFrame({"en": ["a"]}),
]


@pytest.mark.parametrize("texts", NOT_SENTENCES)
def test_what_is_not_a_sentence_is_a_user_error(translator, texts):
    with pytest.raises(dhyan.UserError, match="^text: "):
        translator.translate(texts)


def test_a_translation_knows_its_source_and_word_probabilities(translator):
    translation = translator.translate("seven nine", nbest=2, max_length=6)
    assert translation.source == translation.others[0].source == "seven nine"
    assert "".join(word for word, _ in translation.word_probs) == translation.text.replace(" ", "")
    assert translation.word_probs is translation.word_probs
    empty = translator.translate("  ")
    assert (empty.source, empty.word_probs) == ("  ", ())


def test_word_probabilities_are_those_of_the_command_line(trained, translator):
    translation = translator.translate("seven nine", prefixes="सात नौ", max_length=30)
    first, *_ = word_attention(translator, "seven nine", translation).words
    assert translation.word_probs[0] == (first.text, pytest.approx(first.confidence, rel=1e-5))


def test_a_copied_translation_has_no_model(translator):
    translation = translator.translate("seven", max_length=5)
    copied = copy(translation)  # by __getstate__, as for another process
    assert copied == translation
    assert copied.find_word_probs is None
    assert len(repr(vars(copied))) < 2000


def test_reprs_are_short(translator):
    translations = translator.translate(["seven"] * 40, max_length=5)
    maps = dhyan.explain(translator, "seven nine")
    for result in (translator, translations, translations[0], maps[0]):
        assert len(repr(result)) < 300
        assert "\n" not in repr(result)
        assert "tensor" not in repr(result)


def test_html_is_escaped(translator):
    translation = translator.translate(HOSTILE, max_length=5)
    maps = dhyan.explain(translator, f"{HOSTILE} seven")
    for result in (translation, translator.translate([HOSTILE] * 30, max_length=3), *maps):
        html = result._repr_html_()
        assert "<script" not in html
        assert "&lt;" in html
        assert "Devanagari" in html


def test_a_translation_draws_its_words_with_probabilities(translator):
    translation = translator.translate("seven", max_length=5)
    html = translation._repr_html_()
    for _, prob in translation.word_probs:
        assert f"{prob:.0%}" in html


def test_translations_become_a_frame(translator):
    frame = translator.translate(["seven", "nine"], max_length=5).to_frame()
    assert frame["source"].to_list() == ["seven", "nine"]
    nbest = translator.translate("seven", nbest=3, max_length=5)
    assert nbest.to_frame()["translation"].to_list()[0] == nbest.text
    assert len(nbest.to_frame()) == 1 + len(nbest.others)


def test_attention_becomes_a_labelled_frame(translator):
    [attention] = dhyan.explain(translator, "seven seven nine")
    frame = attention.to_frame()
    assert tuple(frame.columns) == attention.source
    assert tuple(frame.index) == attention.target
    assert frame.to_numpy().sum(axis=1) == pytest.approx(1, abs=1e-5)
    assert attention.to_frame(head=1).equals(frame)
    with pytest.raises(dhyan.UserError, match="head 2: .* has 1; count them from 1"):
        attention.to_frame(head=2)


def test_without_pandas_a_frame_says_what_to_install(translator, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(dhyan.UserError, match="pip install pandas"):
        translator.translate(["seven"], max_length=3).to_frame()


def test_a_figure_of_what_is_no_attention_map_is_a_user_error(translator):
    maps = dhyan.explain(translator, "seven")
    for wrong in (maps, translator.translate("seven")):
        with pytest.raises(dhyan.UserError, match=r"write dhyan\.heatmap\(\*dhyan\.explain"):
            inspect.unwrap(dhyan.heatmap)(wrong)  # without the checks of types in tests
