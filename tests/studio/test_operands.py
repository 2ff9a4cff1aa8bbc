"""One attention head with its operands, and attention over given matrices."""

import base64

import pytest
import torch

SENTENCE = {"text": "we are friends", "model": "transformer"}
BANK = {
    "x": [[0.2, 0.7], [0.9, 0.3]],
    "query": [[2, 1], [1, 2]],
    "key": [[3, 5], [4, 1]],
    "value": [[4, 1], [2, 1]],
}


def numbers(packed):
    raw = bytearray(base64.b64decode(packed["data"]))
    return torch.frombuffer(raw, dtype=torch.float32).reshape(packed["shape"]).double()


def attend(client, **fields):
    response = client.post("/api/attend", json={**BANK, **fields})
    assert response.status_code == 200, response.text
    return [
        torch.tensor(response.json()[name], dtype=torch.float64) for name in ("weights", "outputs")
    ]


@pytest.mark.parametrize("role", ["encoder_self", "decoder_self", "cross"])
@pytest.mark.parametrize("layer", [1, 2])
def test_a_head_can_be_recomputed_from_the_response(client, role, layer):
    sent = client.post("/api/head", json={**SENTENCE, "role": role, "layer": layer, "head": 2})
    assert sent.status_code == 200, sent.text
    head = sent.json()

    def projected(states, name):
        return numbers(head[states]) @ numbers(head[name]["weight"]) + numbers(head[name]["bias"])

    queries, keys = projected("query_inputs", "query"), projected("memory_inputs", "key")
    scores = queries @ keys.T / head["scale"]
    hidden = numbers(head["mask"]) == 0
    weights = scores.masked_fill(hidden, -torch.inf).softmax(-1)
    context = weights @ projected("memory_inputs", "value")
    assert (weights - numbers(head["weights"])).abs().max() < 1e-5
    assert hidden.any() == (role == "decoder_self")
    contexts = [numbers(context) for context in head["contexts"]]
    assert (context - contexts[1]).abs().max() < 1e-5
    joined = torch.cat([contexts[0], context], dim=-1)
    project = torch.cat([numbers(weight) for weight in head["output_weights"]])
    output = joined @ project + numbers(head["bias"])
    assert (output - numbers(head["layer_output"])).abs().max() < 1e-5


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"layer": 9}, "no attention of that role in layer 9"),
        ({"head": 9}, "head 9: encoder.layers.0"),
        ({"model": "bahdanau"}, "no attention of that role in layer 1"),
        ({"text": " "}, "the sentence is empty"),
    ],
)
def test_a_missing_head_is_refused(client, fields, message):
    response = client.post("/api/head", json={**SENTENCE, **fields})
    assert response.status_code == 400
    assert message in response.json()["error"]["message"]


def test_queries_and_keys_are_not_swapped(client):
    weights, outputs = attend(client)
    assert weights.numpy().round(4).tolist() == [[0.0199, 0.9801], [0.0175, 0.9825]]
    assert outputs.numpy().round(4).tolist() == [[4.1602, 1.1940], [4.1651, 1.1948]]
    swapped, _ = attend(client, swapped=True)
    assert swapped.numpy().round(4).tolist() == [[0.0925, 0.9075], [0.0818, 0.9182]]


def test_attention_is_computed_in_double_precision(client):
    output_rows = [[0.1], [0.3]]
    weights, outputs = attend(client, causal=True, scaled=False, output=output_rows)
    x, value, output = (
        torch.tensor(rows, dtype=torch.float64) for rows in (BANK["x"], BANK["value"], output_rows)
    )
    assert weights[0].tolist() == [1, 0]
    assert (outputs - weights @ x @ value @ output).abs().max() < 1e-15


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"key": [[1], [1]]}, "queries have 2 numbers and keys 1"),
        ({"value": [[1, 2]]}, "value: has 1 rows"),
        ({"x": [[1, 2], [3]]}, "x: not numbers in rows of one length"),
        ({"x": []}, "x: not a matrix"),
        ({"output": [[1]]}, "output: has 1 rows"),
    ],
)
def test_matrices_of_wrong_shapes_are_refused(client, fields, message):
    response = client.post("/api/attend", json={**BANK, **fields})
    assert response.status_code == 400
    assert message in response.json()["error"]["message"]


def test_numbers_that_are_too_large_are_refused(client):
    response = client.post("/api/attend", json={**BANK, "x": [[1e7, 0], [0, 1]]})
    assert response.status_code == 400
    assert response.json()["error"]["message"].startswith("x.0.0")
