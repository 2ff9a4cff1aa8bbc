"""A trace holds all there is to see of a translation, and comes back from its file as it was."""

import json

import pytest
import torch

import dhyan
from dhyan.decoding.rules import observe
from dhyan.errors import UserError
from dhyan.insight.head_operands import head_operands
from dhyan.insight.trace import Trace, trace, trace_translation
from tests.insight.test_explain import ENGLISH, translator_of

KINDS = [("gru", "bahdanau-additive"), ("gru", "luong-general"), ("transformer", "transformer")]


@pytest.fixture(params=KINDS, ids="+".join)
def traced(request):
    translator = translator_of(request.param)
    return translator, trace(translator, ENGLISH[0], model="mine", beam=2)


def test_a_trace_has_the_weights_of_explain(traced):
    translator, result = traced
    maps = {
        attention_map.name: attention_map
        for attention_map in dhyan.explain(translator, ENGLISH[0], beam=2, words=False)
    }
    assert {block.name for block in result.attention} == set(maps)
    for block in result.attention:
        torch.testing.assert_close(block.weights, maps[block.name].weights)
        rows, columns = result.sides(block.role)
        assert tuple(token.text for token in columns.tokens) == maps[block.name].source
        assert tuple(token.text for token in rows.tokens) == maps[block.name].target


def test_every_token_belongs_to_a_word_and_every_step_has_probabilities(traced):
    _, result = traced
    for side in (result.source, result.decoder_input, result.target):
        assert [token.word for token in side.tokens] == sorted(token.word for token in side.tokens)
        assert {token.word for token in side.tokens} == set(range(len(side.words)))
    assert len(result.steps) == len(result.target.tokens) == len(result.decoder_input.tokens)
    for step in result.steps:
        shares = [share for _, share in step.top_tokens]
        assert shares == sorted(shares, reverse=True)
        assert step.logprob <= torch.tensor(shares[0]).log() + 1e-5


def test_a_trace_survives_json(traced):
    _, result = traced
    again = Trace.from_json(result.to_json())
    assert again.steps == result.steps
    assert again.source == result.source
    for block, other in zip(again.attention, result.attention, strict=True):
        assert (block.name, block.role, block.layer) == (other.name, other.role, other.layer)
        assert torch.equal(block.weights, other.weights)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts: "no", "this is not JSON"),
        (lambda parts: json.dumps({**parts, "schema": "x"}), "its schema is 'x'"),
        (lambda parts: json.dumps({**parts, "source": 5}), "incomplete trace"),
        (
            lambda parts: json.dumps({**parts, "decoder_input": parts["source"] | {"tokens": []}}),
            "incomplete trace",
        ),
    ],
)
def test_an_invalid_trace_is_an_error(change, message):
    result = trace(translator_of(("transformer", "transformer")), ENGLISH[0])
    with pytest.raises(UserError, match=message):
        Trace.from_json(change(json.loads(result.to_json())))


def test_a_search_can_be_observed_without_changing_it():
    translator = translator_of(KINDS[0])
    for beam in (1, 3):
        prefixes = []
        [translation] = translator(ENGLISH[0], beam=beam, rules=[observe(prefixes.append)])
        assert translation == translator(ENGLISH[0], beam=beam)[0]
        assert [len(words) for words in prefixes] == list(range(len(prefixes)))
        if beam == 1:
            assert prefixes[-1] == list(translation.ids)[: len(prefixes[-1])]


def test_a_head_can_be_recomputed_from_its_operands():
    translator = translator_of(("transformer", "transformer"))
    [translation] = translator(ENGLISH[0])
    result = trace_translation(translator, ENGLISH[0], translation)
    modules = dict(translator.model.named_modules())
    for block in result.attention:
        outputs = modules[block.name].output.bias.detach().clone()
        for number, weights in enumerate(block.weights, 1):
            operands = head_operands(translator, ENGLISH[0], translation, block.name, number)
            queries = operands.query_inputs @ operands.query.weight + operands.query.bias
            keys = operands.memory_inputs @ operands.key.weight + operands.key.bias
            values = operands.memory_inputs @ operands.value.weight + operands.value.bias
            scores = queries @ keys.T / operands.scale
            again = scores.masked_fill(~operands.mask, -torch.inf).softmax(-1)
            torch.testing.assert_close(again, weights, atol=1e-5, rtol=0)
            torch.testing.assert_close(
                again @ values @ operands.output_weight, operands.output, atol=1e-5, rtol=0
            )
            outputs = outputs + operands.output
        torch.testing.assert_close(outputs, operands.layer_output, atol=1e-5, rtol=0)


def test_a_missing_head_is_an_error():
    transformer, recurrent = (translator_of(kind) for kind in (KINDS[2], KINDS[0]))
    [translation] = transformer(ENGLISH[0])
    with pytest.raises(UserError, match="head 99: encoder.layers.0.self_attention has"):
        head_operands(transformer, ENGLISH[0], translation, "encoder.layers.0.self_attention", 99)
    [translation] = recurrent(ENGLISH[0])
    with pytest.raises(UserError, match="not an attention with queries, keys and values"):
        head_operands(recurrent, ENGLISH[0], translation, "decoder.attention", 1)
