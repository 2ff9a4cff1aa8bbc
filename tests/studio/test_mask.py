"""The leak test: the past is exactly as it was with the mask, and not without it."""

import base64

import pytest
import torch

SENTENCE = {"text": "The bank of the river is far.", "model": "transformer", "beam": 1}
MODELS = ("bottleneck", "bahdanau", "luong", "transformer")


def ask(client, path="/api/leak", **more):
    answer = client.post(path, json={**SENTENCE, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


def numbers(packed):
    raw = bytearray(base64.b64decode(packed["data"]))
    return torch.frombuffer(raw, dtype=torch.float32).reshape(packed["shape"])


@pytest.mark.parametrize("model", MODELS)
def test_no_model_sees_a_word_before_it_is_told(client, model):
    last = len(ask(client, model=model)["told"]) - 1
    for place in {1, last}:
        moved = numbers(ask(client, model=model, place=place)["moved"])
        assert (moved[:place] == 0.0).all()
        assert moved[place] > 0


def test_without_the_mask_every_place_before_moves_and_then_it_is_back(client):
    before = ask(client, place=2)
    moved = numbers(ask(client, place=2, masked=False)["moved"])
    assert (moved[:2] > 0).all()
    assert ask(client, place=2) == before


def test_only_without_the_mask_do_words_look_ahead(client):
    for masked in (True, False):
        found = ask(client, masked=masked)
        for weights in map(numbers, found["weights"]):
            assert weights.sum(-1).allclose(torch.ones(()), atol=1e-5)
            assert bool((weights.triu(1) == 0.0).all()) is masked


@pytest.mark.parametrize("model", MODELS[:3])
def test_a_decoder_that_reads_word_by_word_has_no_mask_to_take_off(client, model):
    assert not ask(client, model=model)["switch"]
    answer = client.post("/api/leak", json={**SENTENCE, "model": model, "masked": False})
    assert answer.status_code == 400
    assert "no mask" in answer.json()["error"]["message"]


def test_a_word_is_told_instead_and_the_likeliest_if_none_is_named(client):
    found = ask(client)
    assert found["now"] == found["choices"][0] != found["was"]
    other = ask(client, word=found["choices"][1])
    assert (other["was"], other["now"]) == (found["was"], found["choices"][1])


def test_a_word_that_cannot_be_told_is_answered_with_some_that_can(client):
    own = ask(client)["was"]
    offered = set()
    for word, there in (("qqq", False), ("दो शब्द", False), (own, True)):
        refused = ask(client, word=word)
        assert (refused["word"], refused["there"]) == (word, there)
        assert refused["near"]
        offered |= set(refused["near"])
    for near in offered:
        assert ask(client, word=near)["now"] == near


def test_a_place_beyond_the_translation_is_refused_in_words(client):
    answer = client.post("/api/leak", json={**SENTENCE, "place": 400})
    assert answer.status_code == 400
    assert "choose 1 to" in answer.json()["error"]["message"]


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("text", [SENTENCE["text"], "apple"])
def test_padding_gets_no_weight_and_changes_nothing(client, model, text):
    found = ask(client, "/api/padding", model=model, text=text)
    assert len(found["second"]) < len(found["first"])
    assert found["weight"] == 0.0
    assert found["moved"] < 1e-4
