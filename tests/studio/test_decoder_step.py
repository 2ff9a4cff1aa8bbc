"""Decoder steps of a recurrent model: the attention can be recomputed from the operands."""

import base64
import json

import pytest
import torch

from dhyan.errors import UserError
from dhyan.insight.decoder_step_operands import decoder_steps
from dhyan.insight.explain import explain_translation
from tests.lessons.untrained_models import ENGLISH, untrained_translator

TEXT = "the man is tall"
KINDS = {
    "bahdanau-additive": "additive",
    "luong-dot": "dot",
    "luong-scaled_dot": "scaled_dot",
    "luong-general": "general",
    "luong-concat": "additive",
    "luong-location": "location",
    "luong-monotonic-dot": "dot",
    "luong-predicted-general": "general",
    "luong-deep-gru-parallel": "general",
}
CLOSE = {"atol": 1e-5, "rtol": 1e-5}


def steps_of(decoder):
    translator = untrained_translator("gru", decoder)
    [translation] = translator(ENGLISH[0])
    return translator, translation, decoder_steps(translator, ENGLISH[0], translation)


def recomputed_scores(steps):
    """Attention scores from the operands."""
    s, h = steps.queries, steps.states
    match steps.score:
        case "additive":
            projected = s @ steps.query_layer.weight.T + steps.query_layer.bias
            return torch.tanh(projected[:, None] + h @ steps.key_layer.weight.T) @ steps.energy
        case "general":
            return s @ steps.key_layer.weight @ h.T
        case "location":
            return (s @ steps.query_layer.weight.T)[:, : len(h)]
        case "dot":
            return s @ h.T
        case "scaled_dot":
            return s @ h.T / s.shape[1] ** 0.5


@pytest.mark.parametrize("decoder", KINDS)
def test_attention_can_be_recomputed_from_its_operands(decoder):
    _, _, steps = steps_of(decoder)
    assert steps.score == KINDS[decoder]
    scores = recomputed_scores(steps)
    torch.testing.assert_close(steps.scores, scores, **CLOSE)
    hidden = scores.masked_fill(steps.visibility == 0, -torch.inf)
    weights = hidden.softmax(-1) * steps.visibility
    torch.testing.assert_close(steps.weights, weights, **CLOSE)
    torch.testing.assert_close(steps.contexts, weights @ steps.states, **CLOSE)


@pytest.mark.parametrize("decoder", KINDS)
def test_weights_equal_those_of_explain(decoder):
    translator, translation, steps = steps_of(decoder)
    [attention] = explain_translation(translator, ENGLISH[0], translation, words=False)
    torch.testing.assert_close(steps.weights, attention.weights[0], atol=1e-6, rtol=1e-5)


def test_only_luong_combines_context_and_state():
    assert steps_of("bahdanau-additive")[2].attentional is None
    steps = steps_of("luong-general")[2]
    both = torch.cat([steps.contexts, steps.queries], dim=-1)
    joined = torch.tanh(both @ steps.combine.weight.T + steps.combine.bias)
    torch.testing.assert_close(steps.attentional, joined, **CLOSE)


def test_weights_outside_a_window_are_zero():
    steps = steps_of("luong-monotonic-dot")[2]
    assert (steps.visibility == 0).any()
    assert (steps.weights[steps.visibility == 0] == 0).all()


def test_a_coverage_score_is_refused():
    with pytest.raises(UserError, match="CoverageScore; steps are shown for additive"):
        steps_of("bahdanau-coverage")


def numbers(packed):
    raw = bytearray(base64.b64decode(packed["data"]))
    return torch.frombuffer(raw, dtype=torch.float32).reshape(packed["shape"])


@pytest.mark.parametrize(("model", "after"), [("bahdanau", False), ("luong", True)])
def test_all_steps_come_in_one_response(client, model, after):
    body = {"text": TEXT, "model": model}
    steps = client.post("/api/step", json=body).json()
    trace = json.loads(client.post("/api/translate", json=body).text)
    assert steps["attends_after_step"] is after
    [block] = trace["attention"]
    weights = numbers(steps["weights"])
    assert weights.shape == (len(trace["target"]["tokens"]), len(trace["source"]["tokens"]))
    torch.testing.assert_close(weights, numbers(block)[0], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(
        numbers(steps["contexts"]), weights @ numbers(steps["states"]), **CLOSE
    )


def test_a_bottleneck_reads_the_same_vector_at_every_step(client):
    steps = client.post("/api/step", json={"text": TEXT, "model": "bottleneck"}).json()
    assert steps["score"] == "bottleneck"
    contexts = numbers(steps["contexts"])
    assert torch.equal(contexts, contexts[:1].expand_as(contexts))


def test_a_model_without_attention_has_no_steps(client):
    response = client.post("/api/step", json={"text": TEXT, "model": "sutskever"})
    assert response.status_code == 400
    assert "this model has no attention" in response.json()["error"]["message"]


def test_a_transformer_is_refused_with_a_remedy(client):
    response = client.post("/api/step", json={"text": TEXT, "model": "transformer"})
    assert response.status_code == 400
    assert "dhyan train bahdanau2015-small" in response.json()["error"]["message"]


def test_an_unknown_field_is_refused(client):
    response = client.post("/api/step", json={"text": TEXT, "step": 1})
    assert response.status_code == 400
