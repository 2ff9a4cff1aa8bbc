"""Saved traces: replayed without a model; invalid files are refused in one line."""

import json
import subprocess
import sys

import pytest
from fastapi.testclient import TestClient

from dhyan.errors import UserError
from dhyan.insight.trace import trace
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.saved_trace import read_saved_trace
from dhyan.studio.server import make_app
from tests.insight.test_explain import ENGLISH, translator_of


@pytest.fixture(scope="module")
def trace_json():
    return trace(translator_of(("transformer", "transformer")), ENGLISH[0], model="mine").to_json()


@pytest.fixture
def saved(trace_json, tmp_path):
    """Written by hand, over many lines, as an editor may leave it."""
    path = tmp_path / "saved.json"
    path.write_text(json.dumps(json.loads(trace_json), indent=1) + "\n", encoding="utf-8")
    return path


@pytest.fixture
def client(saved):
    return TestClient(make_app(ModelRegistry([], [saved])), base_url="http://127.0.0.1")


def test_a_saved_trace_is_listed_and_answers_its_own_sentence(client, trace_json):
    [card] = client.get("/api/models").json()
    assert (card["name"], card["saved"], card["score"]) == ("saved", ENGLISH[0], "heads")
    assert card["views"] == ["translate", "heads", "self_attention", "gravity", "scaling"]
    response = client.post("/api/translate", json={"text": ENGLISH[0], "model": "saved"})
    assert response.json() == json.loads(trace_json)
    stream = client.post("/api/translate/stream", json={"text": ENGLISH[0]}).text
    assert stream.startswith("event: done\ndata: {")
    assert json.loads(stream.splitlines()[1].removeprefix("data: ")) == json.loads(trace_json)


def test_other_requests_need_a_model(client):
    for path, more in [("translate", {"text": "something else"}), ("head", {"text": ENGLISH[0]})]:
        response = client.post(f"/api/{path}", json=more)
        assert response.status_code == 400
        assert f"this is a saved trace of “{ENGLISH[0]}”" in response.json()["error"]["message"]
        assert response.json()["error"]["code"] == "trace_only"


def test_its_figure_is_drawn(client):
    response = client.post("/api/figure.svg", json={"text": ENGLISH[0], "head": "avg"})
    assert response.content.startswith(b"<?xml")


def test_models_and_traces_are_registered_together(models, saved, trace_json):
    other = saved.parent / "other" / "saved.json"
    other.parent.mkdir()
    other.write_text(trace_json, encoding="utf-8")
    registry = ModelRegistry(models[:1], [saved, other])
    assert list(registry.models) == ["bottleneck", f"{saved.parent.name}-saved", "other-saved"]


def test_replay_does_not_import_torch(saved):
    code = f"""
import sys
from pathlib import Path
from fastapi.testclient import TestClient
from dhyan.studio.server import make_app
from dhyan.studio.registry import ModelRegistry
page = TestClient(make_app(ModelRegistry([], [Path({str(saved)!r})])), base_url="http://127.0.0.1")
for path in ("/", "/api/models", "/api/colors", "/static/js/main.js"):
    assert page.get(path).status_code == 200, path
assert page.post("/api/translate", json={{"text": {ENGLISH[0]!r}}}).status_code == 200
assert "torch" not in sys.modules
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def changed(**parts):
    return lambda fields: {**fields, **parts}


def block(**parts):
    def change(fields):
        first, *others = fields["attention"]
        return {**fields, "attention": [{**first, **parts}, *others]}

    return change


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (changed(schema="other/1"), "schema"),
        (changed(text=""), "text"),
        (changed(text="word " * 101), "505 characters"),
        (changed(score=None), "score"),
        (changed(steps=[]), "steps for other words"),
        (changed(more=1), "more"),
        (changed(source={"tokens": [], "words": []}), "source.tokens"),
        (block(shape=[2, 1, 1]), "bytes"),
        (block(data="*"), "not base64"),
        (block(data="AADAfw==", shape=[1, 1, 1]), "not all numbers"),
        (block(data="AAAAAA==", shape=[1, 1, 1]), "do not fit the tokens"),
        (block(role="elsewhere"), "attention.0.role"),
        (block(layer=0), "attention.0.layer"),
    ],
)
def test_an_incomplete_trace_is_refused_in_one_line(trace_json, tmp_path, change, message):
    path = tmp_path / "broken.json"
    path.write_text(json.dumps(change(json.loads(trace_json))), encoding="utf-8")
    with pytest.raises(UserError, match=message) as error:
        read_saved_trace(path)
    assert "\n" not in str(error.value)
    assert str(path) in str(error.value)


@pytest.mark.parametrize("content", [b"", b"no", b"[1]", b"\xff\xfe", b"[" * 100_000])
def test_a_file_that_is_no_trace_is_refused_in_one_line(tmp_path, content):
    path = tmp_path / "broken.json"
    path.write_bytes(content)
    with pytest.raises(UserError, match="not a"):
        read_saved_trace(path)


def test_a_file_that_is_missing_or_too_large_is_refused(tmp_path, monkeypatch):
    with pytest.raises(UserError, match="cannot be read"):
        read_saved_trace(tmp_path / "nowhere.json")
    monkeypatch.setattr("dhyan.studio.saved_trace.MAX_FILE_BYTES", 10)
    (tmp_path / "large.json").write_text("x" * 11)
    with pytest.raises(UserError, match="11 bytes"):
        read_saved_trace(tmp_path / "large.json")
