"""Ablation of a head, and the importance of every head."""

import pytest

SENTENCE = {"text": "The bank of the river is far.", "model": "transformer", "beam": 1}
ROLES = ("encoder_self", "decoder_self", "cross")


def post(client, path, **fields):
    response = client.post(path, json={**SENTENCE, **fields})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.fixture
def trace(client):
    return post(client, "/api/translate")


@pytest.mark.parametrize("role", ROLES)
def test_importance_is_the_change_of_the_log_probability_without_the_head(client, role):
    changes = post(client, "/api/heads/importance", role=role)["logprob_changes"]
    assert [len(row) for row in changes] == [2, 2]
    result = post(client, "/api/heads/ablation", role=role, layer=2, head=1)
    change = sum(result["ablated_logprobs"]) - sum(result["logprobs"])
    assert changes[1][0] == pytest.approx(change, abs=1e-9)
    assert changes[1][0] != 0.0


def test_log_probabilities_with_all_heads_are_those_of_the_trace(client, trace):
    result = post(client, "/api/heads/ablation", role="cross", layer=1, head=2)
    logprobs = [step["logprob"] for step in trace["steps"]]
    assert result["logprobs"] == pytest.approx(logprobs, abs=1e-5)


def test_the_word_diff_has_both_translations(client, trace):
    for role in ROLES:
        result = post(client, "/api/heads/ablation", role=role, layer=1, head=1)
        before = [word for word, change in result["words"] if change != "added"]
        after = [word for word, change in result["words"] if change != "removed"]
        assert " ".join(before) == " ".join(trace["translation"].split())
        assert " ".join(after) == " ".join(result["translation"].split())


def test_an_ablated_head_is_restored(client):
    first = post(client, "/api/heads/ablation", role="decoder_self", layer=1, head=1)
    again = post(client, "/api/heads/ablation", role="decoder_self", layer=2, head=2)
    assert first["logprobs"] == again["logprobs"]
    assert first["ablated_logprobs"] != again["ablated_logprobs"]


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"model": "bahdanau", "role": "cross"}, "one head"),
        ({"model": "luong", "role": "decoder_self"}, "no attention of that role"),
        ({"layer": 3}, "layer 3"),
        ({"head": 3}, "head 3"),
        ({"text": " "}, "empty"),
    ],
)
def test_what_cannot_be_ablated_is_refused(client, fields, message):
    response = client.post("/api/heads/ablation", json={**SENTENCE, **fields})
    assert response.status_code == 400
    assert message in response.json()["error"]["message"]
