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
def seen(request):
    translator = translator_of(request.param)
    return translator, trace(translator, ENGLISH[0], model="mine", beam=2)


def test_a_trace_has_the_weights_of_explain(seen):
    translator, found = seen
    maps = {one.name: one for one in dhyan.explain(translator, ENGLISH[0], beam=2, words=False)}
    assert {block.name for block in found.attention} == set(maps)
    for block in found.attention:
        torch.testing.assert_close(block.weights, maps[block.name].weights)
        rows, columns = found.sides(block.role)
        assert tuple(one.text for one in columns.tokens) == maps[block.name].source
        assert tuple(one.text for one in rows.tokens) == maps[block.name].target


def test_every_token_belongs_to_a_word_and_every_step_has_probabilities(seen):
    _, found = seen
    for side in (found.source, found.decoder_input, found.target):
        assert [one.word for one in side.tokens] == sorted(one.word for one in side.tokens)
        assert {one.word for one in side.tokens} == set(range(len(side.words)))
    assert len(found.steps) == len(found.target.tokens) == len(found.decoder_input.tokens)
    for step in found.steps:
        shares = [share for _, share in step.top_tokens]
        assert shares == sorted(shares, reverse=True)
        assert step.logprob <= torch.tensor(shares[0]).log() + 1e-5


def test_a_trace_survives_json(seen):
    _, found = seen
    again = Trace.from_json(found.to_json())
    assert again.steps == found.steps
    assert again.source == found.source
    for one, other in zip(again.attention, found.attention, strict=True):
        assert (one.name, one.role, one.layer) == (other.name, other.role, other.layer)
        assert torch.equal(one.weights, other.weights)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda parts: "no", "this is not JSON"),
        (lambda parts: json.dumps({**parts, "schema": "x"}), "its schema is 'x'"),
        (lambda parts: json.dumps({**parts, "source": 5}), "incomplete trace"),
        (
            lambda parts: json.dumps({**parts, "told": parts["source"] | {"tokens": []}}),
            "incomplete trace",
        ),
    ],
)
def test_an_invalid_trace_is_an_error(change, said):
    found = trace(translator_of(("transformer", "transformer")), ENGLISH[0])
    with pytest.raises(UserError, match=said):
        Trace.from_json(change(json.loads(found.to_json())))


def test_a_search_can_be_observed_without_changing_it():
    translator = translator_of(KINDS[0])
    for beam in (1, 3):
        heard = []
        [said] = translator(ENGLISH[0], beam=beam, rules=[observe(heard.append)])
        assert said == translator(ENGLISH[0], beam=beam)[0]
        assert [len(words) for words in heard] == list(range(len(heard)))
        if beam == 1:
            assert heard[-1] == list(said.ids)[: len(heard[-1])]


def test_a_head_can_be_recomputed_from_its_operands():
    translator = translator_of(("transformer", "transformer"))
    [said] = translator(ENGLISH[0])
    found = trace_translation(translator, ENGLISH[0], said)
    modules = dict(translator.model.named_modules())
    for block in found.attention:
        outputs = modules[block.name].output.bias.detach().clone()
        for number, weights in enumerate(block.weights, 1):
            one = head_operands(translator, ENGLISH[0], said, block.name, number)
            queries = one.query_inputs @ one.query.weight + one.query.bias
            keys = one.memory_inputs @ one.key.weight + one.key.bias
            values = one.memory_inputs @ one.value.weight + one.value.bias
            scores = queries @ keys.T / one.scale
            again = scores.masked_fill(~one.mask, -torch.inf).softmax(-1)
            torch.testing.assert_close(again, weights, atol=1e-5, rtol=0)
            torch.testing.assert_close(
                again @ values @ one.output_weight, one.output, atol=1e-5, rtol=0
            )
            outputs = outputs + one.output
        torch.testing.assert_close(outputs, one.layer_output, atol=1e-5, rtol=0)


def test_a_missing_head_is_an_error():
    transformer, recurrent = (translator_of(kind) for kind in (KINDS[2], KINDS[0]))
    [said] = transformer(ENGLISH[0])
    with pytest.raises(UserError, match="head 99: encoder.layers.0.self_attention has"):
        head_operands(transformer, ENGLISH[0], said, "encoder.layers.0.self_attention", 99)
    [said] = recurrent(ENGLISH[0])
    with pytest.raises(UserError, match="not an attention with queries, keys and values"):
        head_operands(recurrent, ENGLISH[0], said, "decoder.attention", 1)
