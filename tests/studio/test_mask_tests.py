"""Leak test of the causal mask, and the padding mask."""

import base64

import pytest
import torch

SENTENCE = {"text": "The bank of the river is far.", "model": "transformer", "beam": 1}
MODELS = ("bottleneck", "bahdanau", "luong", "transformer", "sutskever")


def post(client, path="/api/leak", **fields):
    response = client.post(path, json={**SENTENCE, **fields})
    assert response.status_code == 200, response.text
    return response.json()


def numbers(packed):
    raw = bytearray(base64.b64decode(packed["data"]))
    return torch.frombuffer(raw, dtype=torch.float32).reshape(packed["shape"])


@pytest.mark.parametrize("model", MODELS)
def test_earlier_outputs_do_not_change_with_a_later_token(client, model):
    last = len(post(client, model=model)["decoder_input"]) - 1
    for position in {1, last}:
        change = numbers(post(client, model=model, position=position)["max_change"])
        assert (change[:position] == 0.0).all()
        assert change[position] > 0


def test_without_the_mask_earlier_outputs_change_until_it_is_restored(client):
    before = post(client, position=2)
    change = numbers(post(client, position=2, masked=False)["max_change"])
    assert (change[:2] > 0).all()
    assert post(client, position=2) == before


def test_weights_on_later_positions_are_zero_only_with_the_mask(client):
    for masked in (True, False):
        result = post(client, masked=masked)
        for weights in map(numbers, result["weights"]):
            assert weights.sum(-1).allclose(torch.ones(()), atol=1e-5)
            assert bool((weights.triu(1) == 0.0).all()) is masked


@pytest.mark.parametrize("model", MODELS[:3])
def test_a_recurrent_decoder_has_no_mask_to_remove(client, model):
    assert not post(client, model=model)["has_mask"]
    response = client.post("/api/leak", json={**SENTENCE, "model": model, "masked": False})
    assert response.status_code == 400
    assert "no mask" in response.json()["error"]["message"]


def test_the_replacement_is_the_requested_word_or_the_most_probable(client):
    result = post(client)
    assert result["new_token"] == result["alternatives"][0] != result["old_token"]
    other = post(client, word=result["alternatives"][1])
    assert (other["old_token"], other["new_token"]) == (
        result["old_token"],
        result["alternatives"][1],
    )


def test_an_unusable_word_gets_suggestions(client):
    old_word = post(client)["old_token"]
    suggestions = set()
    for word, unchanged in (("qqq", False), ("दो शब्द", False), (old_word, True)):
        response = post(client, word=word)
        assert (response["word"], response["unchanged"]) == (word, unchanged)
        assert response["suggestions"]
        suggestions |= set(response["suggestions"])
    for word in suggestions:
        assert post(client, word=word)["new_token"] == word


def test_a_position_beyond_the_translation_is_refused(client):
    response = client.post("/api/leak", json={**SENTENCE, "position": 400})
    assert response.status_code == 400
    assert "choose 1 to" in response.json()["error"]["message"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("text", [SENTENCE["text"], "apple"])
def test_padding_gets_no_weight_and_changes_nothing(client, model, text):
    result = post(client, "/api/padding", model=model, text=text)
    assert len(result["padded_tokens"]) < len(result["tokens"])
    assert result["padding_weight"] == (None if model == "sutskever" else 0.0)
    assert result["max_change"] < 1e-4
