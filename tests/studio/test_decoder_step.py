"""Every step of a recurrent decoder: all operands, and the same look again from them."""

import base64
import json

import pytest
import torch

from dhyan.errors import UserError
from dhyan.insight.decoder_steps import decoder_steps
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


def read(decoder):
    translator = untrained_translator("gru", decoder)
    [said] = translator(ENGLISH[0])
    return translator, said, decoder_steps(translator, ENGLISH[0], said)


def again(found):
    """Scores from the operands alone."""
    s, h = found.queries, found.states
    match found.score:
        case "additive":
            asked = s @ found.query_layer.weight.T + found.query_layer.bias
            return torch.tanh(asked[:, None] + h @ found.key_layer.weight.T) @ found.energy
        case "general":
            return s @ found.key_layer.weight @ h.T
        case "location":
            return (s @ found.query_layer.weight.T)[:, : len(h)]
        case "dot":
            return s @ h.T
        case "scaled_dot":
            return s @ h.T / s.shape[1] ** 0.5


@pytest.mark.parametrize("decoder", KINDS)
def test_a_look_follows_from_its_operands(decoder):
    _, _, found = read(decoder)
    assert found.score == KINDS[decoder]
    scores = again(found)
    torch.testing.assert_close(found.scores, scores, **CLOSE)
    hidden = scores.masked_fill(found.visibility == 0, -torch.inf)
    weights = hidden.softmax(-1) * found.visibility
    torch.testing.assert_close(found.weights, weights, **CLOSE)
    torch.testing.assert_close(found.contexts, weights @ found.states, **CLOSE)


@pytest.mark.parametrize("decoder", KINDS)
def test_its_weights_are_those_that_are_watched(decoder):
    translator, said, found = read(decoder)
    [shown] = explain_translation(translator, ENGLISH[0], said, words=False)
    torch.testing.assert_close(found.weights, shown.weights[0], atol=1e-6, rtol=1e-5)


def test_only_a_decoder_that_looks_after_its_step_joins_context_and_state():
    assert read("bahdanau-additive")[2].attentional is None
    found = read("luong-general")[2]
    both = torch.cat([found.contexts, found.queries], dim=-1)
    joined = torch.tanh(both @ found.combine.weight.T + found.combine.bias)
    torch.testing.assert_close(found.attentional, joined, **CLOSE)


def test_a_window_leaves_out_what_it_does_not_see():
    found = read("luong-monotonic-dot")[2]
    assert (found.visibility == 0).any()
    assert (found.weights[found.visibility == 0] == 0).all()


def test_a_score_that_looks_back_is_refused():
    with pytest.raises(UserError, match="CoverageScore; steps are shown for additive"):
        read("bahdanau-coverage")


def numbers(packed):
    raw = bytearray(base64.b64decode(packed["data"]))
    return torch.frombuffer(raw, dtype=torch.float32).reshape(packed["shape"])


@pytest.mark.parametrize(("model", "after"), [("bahdanau", False), ("luong", True)])
def test_all_steps_come_in_one_answer(client, model, after):
    asked = {"text": TEXT, "model": model}
    found = client.post("/api/step", json=asked).json()
    trace = json.loads(client.post("/api/translate", json=asked).text)
    assert found["attends_after_step"] is after
    [block] = trace["attention"]
    weights = numbers(found["weights"])
    assert weights.shape == (len(trace["target"]["tokens"]), len(trace["source"]["tokens"]))
    torch.testing.assert_close(weights, numbers(block)[0], atol=1e-6, rtol=1e-5)
    torch.testing.assert_close(
        numbers(found["contexts"]), weights @ numbers(found["states"]), **CLOSE
    )


def test_without_attention_every_step_gets_the_same_vector(client):
    found = client.post("/api/step", json={"text": TEXT, "model": "bottleneck"}).json()
    assert found["score"] == "bottleneck"
    contexts = numbers(found["contexts"])
    assert torch.equal(contexts, contexts[:1].expand_as(contexts))


def test_a_transformer_is_refused_with_a_remedy(client):
    answer = client.post("/api/step", json={"text": TEXT, "model": "transformer"})
    assert answer.status_code == 400
    assert "dhyan train bahdanau2015-small" in answer.json()["error"]["message"]


def test_what_is_not_asked_for_is_refused(client):
    answer = client.post("/api/step", json={"text": TEXT, "step": 1})
    assert answer.status_code == 400
