"""The translation stream: tokens in order, then the trace; cancelled on disconnect."""

import asyncio
import json
import shutil
import threading

import pytest
from fastapi.testclient import TestClient

from dhyan.checkpoint import find_checkpoint
from dhyan.data.training_sentences import TRAINING_SENTENCES
from dhyan.pretrained.everyday_sentences import EVERYDAY_SENTENCES
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.request_job import Job, JobCancelledError, current_job
from dhyan.studio.routes import translate
from dhyan.studio.schemas import TranslateRequest
from dhyan.studio.server import make_app
from dhyan.studio.traces import trace_json
from tests.model_check.valid_model import rewrite_manifest

REQUEST = {"text": "The bank of the river is far.", "model": "bahdanau"}


def events(text):
    for event in text.strip("\n").split("\n\n"):
        name, data = event.split("\n")
        yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


@pytest.mark.parametrize("model", ["bottleneck", "bahdanau", "luong", "transformer", "sutskever"])
def test_tokens_come_one_by_one_and_then_the_trace(client, model):
    response = client.post("/api/translate/stream", json={**REQUEST, "model": model})
    *partial, (last, trace) = events(response.text)
    assert last == "done"
    states = [data["tokens"] for name, data in partial if name == "tokens"]
    assert [len(state) for state in states] == list(range(len(states)))
    assert all(new[: len(old)] == old for old, new in zip(states, states[1:], strict=False))
    full_trace = client.post("/api/translate", json={**REQUEST, "model": model}).json()
    assert trace == full_trace
    tokens = [token["text"] for token in full_trace["target"]["tokens"]]
    assert tokens[: len(states[-1])] == states[-1]


def test_an_error_is_the_last_event_of_the_stream(client):
    response = client.post("/api/translate/stream", json={**REQUEST, "model": "none"})
    [(name, data)] = events(response.text)
    assert name == "error"
    assert "there is no model 'none'" in data["message"]


def test_a_translation_without_a_client_is_not_finished(models, monkeypatch):
    steps, closed, finished = [], threading.Event(), threading.Event()

    def endless(registry, request, on_tokens):
        try:
            while True:
                on_tokens(["word"] * len(steps))
                steps.append(len(steps))
                if len(steps) == 3:
                    closed.wait(60)
        finally:
            finished.set()

    monkeypatch.setattr(translate, "trace_json", endless)

    async def disconnect():
        stream = translate._events(ModelRegistry(models), TranslateRequest(**REQUEST))
        await anext(stream)
        await stream.aclose()

    asyncio.run(disconnect())
    closed.set()
    assert finished.wait(60)
    assert len(steps) <= 3


def test_a_cancelled_request_neither_waits_for_the_model_nor_translates(models):
    registry, job = ModelRegistry(models), Job()
    model = registry.get("bahdanau")
    ended, translated = threading.Event(), []

    def work():
        try:
            with current_job(job):
                translated.append(trace_json(registry, TranslateRequest(**REQUEST)))
        except JobCancelledError:
            ended.set()

    with model.translator():
        thread = threading.Thread(target=work)
        thread.start()
        job.cancelled.set()
        assert ended.wait(60)  # while the model is held
    thread.join()
    assert not translated


def test_a_closed_connection_cancels_its_request_and_frees_the_model(models):
    registry, waiting = ModelRegistry(models), threading.Event()
    app = make_app(registry)
    body = json.dumps({**REQUEST, "model": "bahdanau"}).encode()
    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "POST",
        "scheme": "http", "path": "/api/translate", "raw_path": b"/api/translate", "query_string": b"",
        "root_path": "", "client": ("127.0.0.1", 1), "server": ("127.0.0.1", 80),
        "headers": [
            (b"host", b"127.0.0.1"), (b"content-type", b"application/json"),
            (b"content-length", str(len(body)).encode()),
        ],
    }  # fmt: skip
    messages = [{"type": "http.request", "body": body}, {"type": "http.disconnect"}]

    async def receive():
        if len(messages) == 1:
            await asyncio.sleep(0.2)
        return messages.pop(0) if messages else await asyncio.Event().wait()

    async def send(message):
        waiting.set()

    with registry.get("bahdanau").translator():  # busy until the request has given up
        asyncio.run(asyncio.wait_for(app(scope, receive, send), 60))
    assert not registry._traces


def test_a_stream_reports_the_stages_of_loading(models):
    client = TestClient(make_app(ModelRegistry(models)), base_url="http://127.0.0.1")
    response = client.post("/api/translate/stream", json=REQUEST)
    names = [name for name, _ in events(response.text)]
    assert names[0] == "loading"
    assert names[-1] == "done"


def test_a_repeated_request_is_answered_from_the_cache(client, monkeypatch):
    first = client.post("/api/translate", json=REQUEST)
    monkeypatch.setattr("dhyan.studio.traces.translate", lambda *_: pytest.fail("translated again"))
    assert client.post("/api/translate", json=REQUEST).content == first.content


def test_models_are_listed_without_loading_them(client):
    cards = client.get("/api/models").json()
    assert {card["name"]: card["score"] for card in cards} == {
        "bottleneck": "bottleneck",
        "bahdanau": "additive",
        "luong": "general",
        "transformer": "heads",
        "sutskever": "none",
    }
    assert {card["target_language"] for card in cards} == {"hi"}
    assert {str(card["test_scores"]) for card in cards} == {"{}"}


def test_sentences_are_seen_or_new(client):
    """The small models are trained on the notes, and not on everyday sentences."""
    texts = ["How are you?", "how  are you", EVERYDAY_SENTENCES[0], ""]
    for model in ("bahdanau", "transformer"):
        answer = client.post("/api/seen", json={"model": model, "texts": texts})
        assert answer.json() == [True, True, False, False]
    for wrong in ({"texts": ["a"] * 65}, {"texts": ["a" * 501]}, {"texts": "a"}, {}):
        assert client.post("/api/seen", json={"model": "bahdanau", **wrong}).status_code == 400


def test_a_model_without_training_sentences_does_not_know(models, tmp_path):
    checkpoint = tmp_path / "unknown"
    shutil.copytree(find_checkpoint(models[1]), checkpoint)
    (checkpoint / TRAINING_SENTENCES).unlink()
    rewrite_manifest(checkpoint)
    registry = ModelRegistry([checkpoint])
    client = TestClient(make_app(registry), base_url="http://127.0.0.1")
    assert client.post("/api/seen", json={"texts": ["How are you?"]}).json() is None
