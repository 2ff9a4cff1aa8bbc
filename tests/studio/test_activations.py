"""Activations of a translation: they lead from the embeddings to the probabilities of the trace."""

import base64
from dataclasses import replace

import pytest
import torch

from dhyan.errors import UserError
from dhyan.insight.activations import activations
from dhyan.insight.decoder_step_operands import decoder_steps
from tests.lessons.untrained_models import ENGLISH, primer_translator, untrained_translator

SENTENCE = {"text": "The bank of the river is far."}
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def numbers(packed):
    raw = bytearray(base64.b64decode(packed["data"]))
    return torch.frombuffer(raw, dtype=torch.float32).reshape(packed["shape"])


@pytest.mark.parametrize("model", ["bahdanau", "luong", "transformer", "bottleneck", "sutskever"])
def test_the_logits_give_the_probabilities_of_the_trace(client, model):
    body = {**SENTENCE, "model": model}
    trace = client.post("/api/translate", json=body).json()
    result = client.post("/api/activations", json=body).json()
    logprobs = numbers(result["logits"]) - numbers(result["log_normalizer"])
    expected = torch.tensor([step["logprob"] for step in trace["steps"]])
    torch.testing.assert_close(logprobs, expected, **CLOSE)
    top = (numbers(result["top_logits"]) - numbers(result["log_normalizer"])[:, None]).exp()
    for step, texts, probs in zip(trace["steps"], result["top_texts"], top, strict=True):
        own = [(text, pytest.approx(prob, abs=1e-5)) for text, prob in step["top_tokens"]]
        assert own == list(zip(texts, probs.tolist(), strict=True))[: len(own)]
    assert numbers(result["states"]).shape[0] == len(trace["source"]["tokens"])


@pytest.mark.parametrize(
    "decoder", ["bahdanau-additive", "luong-general", "luong-deep-gru-parallel"]
)
def test_queries_are_decoder_states_before_or_after_the_step(decoder):
    translator = untrained_translator("gru", decoder)
    [translation] = translator(ENGLISH[0])
    result = activations(translator, ENGLISH[0], translation)
    steps = decoder_steps(translator, ENGLISH[0], translation)
    states = result.decoder_states[1:] if steps.attends_after_step else result.decoder_states[:-1]
    torch.testing.assert_close(steps.queries, states, **CLOSE)
    torch.testing.assert_close(steps.states, result.states, **CLOSE)
    if steps.attentional is not None:
        torch.testing.assert_close(steps.attentional, result.hidden, **CLOSE)


def test_the_output_of_a_pre_norm_layer_is_the_sum_of_its_sub_layers():
    translator = primer_translator()
    [translation] = translator("The cat sleeps.")
    result = activations(translator, "The cat sleeps.", translation)
    assert len(result.layers) == 2
    for layer in result.layers:
        assert layer.pre_norm
        added = layer.self_attention + layer.cross_attention + layer.feed_forward
        torch.testing.assert_close(layer.output, layer.input + added, **CLOSE)
    torch.testing.assert_close(result.layers[0].input, result.target.inputs, **CLOSE)
    assert result.source.scale == 4.0


def test_an_ensemble_has_no_single_decoder():
    translator = untrained_translator("gru", "bahdanau-additive")
    [translation] = translator(ENGLISH[0])
    several = replace(translator, other_models=(translator.model,))
    with pytest.raises(UserError, match="not for an ensemble"):
        activations(several, ENGLISH[0], translation)
