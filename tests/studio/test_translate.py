"""The stream of a translation: words in order, then everything; it ends when none listens."""

import json
import time

import pytest

from dhyan.studio.registry import Shelf
from dhyan.studio.routes import translate
from dhyan.studio.schemas import Question

ASKED = {"text": "The bank of the river is far.", "model": "bahdanau"}


def events(text):
    for event in text.strip("\n").split("\n\n"):
        kind, data = event.split("\n")
        yield kind.removeprefix("event: "), json.loads(data.removeprefix("data: "))


@pytest.mark.parametrize("model", ["bottleneck", "bahdanau", "luong", "transformer"])
def test_words_come_one_by_one_and_then_the_trace(client, model):
    answer = client.post("/api/translate/stream", json={**ASKED, "model": model})
    *words, (last, trace) = events(answer.text)
    assert last == "done"
    said = [data["words"] for kind, data in words if kind == "words"]
    assert [len(one) for one in said] == list(range(len(said)))
    assert all(more[: len(few)] == few for few, more in zip(said, said[1:], strict=False))
    whole = client.post("/api/translate", json={**ASKED, "model": model}).json()
    assert trace == whole
    assert [one["text"] for one in whole["target"]["tokens"]][: len(said[-1])] == said[-1]


def test_what_goes_wrong_is_the_streams_last_event(client):
    answer = client.post("/api/translate/stream", json={**ASKED, "model": "none"})
    [(kind, data)] = events(answer.text)
    assert kind == "error"
    assert "there is no model 'none'" in data["message"]


def test_a_translation_that_nobody_hears_is_not_finished(models, monkeypatch):
    heard = []

    def slow(shelf, asked, hear):
        for number in range(200):
            hear(["word"] * number)
            heard.append(number)
            time.sleep(0.01)

    monkeypatch.setattr(translate, "told", slow)
    stream = translate._told(Shelf(models), Question(**ASKED))
    next(stream)
    stream.close()
    time.sleep(0.1)
    count = len(heard)
    time.sleep(0.1)
    assert len(heard) == count < 100


def test_the_same_question_is_answered_from_memory(client, models):
    first = client.post("/api/translate", json=ASKED)
    began = time.perf_counter()
    again = client.post("/api/translate", json=ASKED)
    assert again.content == first.content
    assert time.perf_counter() - began < 1


def test_models_are_told_of_without_loading_them(client):
    cards = client.get("/api/models").json()
    assert [one["name"] for one in cards] == ["bottleneck", "bahdanau", "luong", "transformer"]
    assert [one["score"] for one in cards] == ["bottleneck", "additive", "general", "heads"]
    assert {one["target_language"] for one in cards} == {"hi"}
    assert client.get("/api/coming").json() == []
