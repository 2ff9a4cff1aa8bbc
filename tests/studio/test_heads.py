"""A head switched off: what is said without it, and how much it is missed."""

import pytest

SENTENCE = {"text": "The bank of the river is far.", "model": "transformer", "beam": 1}
ROLES = ("encoder_self", "decoder_self", "cross")


def ask(client, path, **more):
    answer = client.post(path, json={**SENTENCE, **more})
    assert answer.status_code == 200, answer.text
    return answer.json()


@pytest.fixture
def trace(client):
    return ask(client, "/api/translate")


@pytest.mark.parametrize("role", ROLES)
def test_a_head_is_missed_by_what_the_translation_loses_without_it(client, role):
    changes = ask(client, "/api/heads/missed", role=role)["changes"]
    assert [len(row) for row in changes] == [2, 2]
    found = ask(client, "/api/heads/without", role=role, layer=2, head=1)
    lost = sum(found["missing"]) - sum(found["chances"])
    assert changes[1][0] == pytest.approx(lost, abs=1e-9)
    assert changes[1][0] != 0.0


def test_with_every_head_the_tokens_are_as_likely_as_in_the_trace(client, trace):
    found = ask(client, "/api/heads/without", role="cross", layer=1, head=2)
    told = [step["logprob"] for step in trace["steps"]]
    assert found["chances"] == pytest.approx(told, abs=1e-5)


def test_one_row_of_words_holds_both_translations(client, trace):
    for role in ROLES:
        found = ask(client, "/api/heads/without", role=role, layer=1, head=1)
        before = [word for word, change in found["words"] if change != "new"]
        after = [word for word, change in found["words"] if change != "gone"]
        assert " ".join(before) == " ".join(trace["translation"].split())
        assert " ".join(after) == " ".join(found["translation"].split())


def test_afterwards_the_head_is_on_again(client):
    first = ask(client, "/api/heads/without", role="decoder_self", layer=1, head=1)
    again = ask(client, "/api/heads/without", role="decoder_self", layer=2, head=2)
    assert first["chances"] == again["chances"]
    assert first["missing"] != again["missing"]


@pytest.mark.parametrize(
    ("more", "told"),
    [
        ({"model": "bahdanau", "role": "cross"}, "one head"),
        ({"model": "luong", "role": "decoder_self"}, "no attention of that role"),
        ({"layer": 3}, "layer 3"),
        ({"head": 3}, "head 3"),
        ({"text": " "}, "empty"),
    ],
)
def test_what_cannot_be_switched_off_is_said_in_words(client, more, told):
    answer = client.post("/api/heads/without", json={**SENTENCE, **more})
    assert answer.status_code == 400
    assert told in answer.json()["error"]["message"]
