"""A model without attention has no maps, and whoever asks for them is told so."""

import pytest

from dhyan.attention_maps import attends_to_source
from dhyan.cli.show import choose_maps
from dhyan.errors import UserError
from dhyan.insight.decoder_step_operands import decoder_steps
from dhyan.insight.explain import explain
from dhyan.insight.heatmap import heatmap
from dhyan.insight.trace import Trace, trace
from dhyan.insight.word_alignment import align_pair, pair_weights, word_attention
from tests.insight.test_explain import ENGLISH, HINDI, translator_of

REASON = "this model has no attention"


@pytest.fixture(scope="module")
def translator():
    return translator_of(("gru", "rnn"))


def test_it_has_no_maps(translator):
    assert not attends_to_source(translator.model)
    assert explain(translator, ENGLISH[0]) == []
    with pytest.raises(UserError, match="a model without attention has none"):
        heatmap()
    with pytest.raises(UserError, match=REASON):
        choose_maps([], "all")


def test_its_trace_has_steps_and_no_attention(translator):
    traced = trace(translator, ENGLISH[0])
    assert traced.attention == ()
    assert len(traced.steps) == len(traced.target.tokens)
    assert Trace.from_json(traced.to_json()) == traced


def test_it_aligns_nothing_and_says_why(translator):
    for read in (pair_weights, align_pair):
        with pytest.raises(UserError, match=REASON):
            read(translator, ENGLISH[0], HINDI[0])
    [translation] = translator(ENGLISH[0])
    with pytest.raises(UserError, match=REASON):
        decoder_steps(translator, ENGLISH[0], translation)


def test_its_words_have_confidences_without_alignment(translator):
    [translation] = translator(ENGLISH[0], prefixes=HINDI[0].split()[0])
    words = word_attention(translator, ENGLISH[0], translation)
    assert words.words
    assert all(0 < word.confidence <= 1 for word in words.words)
    with pytest.raises(UserError, match=REASON):
        _ = words.alignment


def test_the_coverage_penalty_needs_attention(translator):
    with pytest.raises(UserError, match=REASON):
        translator(ENGLISH[0], beam=3, coverage_penalty=0.2)
