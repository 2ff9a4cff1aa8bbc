"""Path traversal: no path or name in a request opens a file outside the studio."""

import sys
from contextlib import contextmanager
from urllib.parse import quote

import pytest

SECRET = "of no one's business"
WATCHED: list[list[str]] = []
sys.addaudithook(lambda event, given: _note(given[0]) if event == "open" else None)


def _note(path):
    for seen in WATCHED:
        seen.append(str(path))


@contextmanager
def opened():
    """The paths that this process opens meanwhile."""
    seen: list[str] = []
    WATCHED.append(seen)
    try:
        yield seen
    finally:
        WATCHED.remove(seen)


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    file = tmp_path_factory.mktemp("outside") / "secret.txt"
    file.write_text(SECRET)
    return file


def ways(file):
    """One file, written in every way that has ever led out of a folder."""
    up = "../" * 12
    plain = [str(file), f"{up}{str(file)[1:]}", f"..{file}", f"file://{file}", f"//{file}"]
    plain += [f"translate/{up}{str(file)[1:]}", f"....//....//{file}", f"~{file}", f"{file}\0.png"]
    plain += [str(file).replace("/", "\\"), f"\\\\localhost{file}", f"{file}%00"]
    once = [quote(way, safe="") for way in plain]
    twice = [quote(way, safe="") for way in once]
    overlong = [way.replace("%2F", "%c0%af").replace("..", "%c0%ae%c0%ae") for way in once]
    return [*plain, *once, *twice, *overlong]


def check(answer, seen, outside, way):
    refused = answer.status_code in (400, 404, 405, 409, 413, 415)
    assert refused or "there is no model" in answer.text, (way, answer.text)  # a stream has begun
    assert SECRET not in answer.text, way
    assert not [path for path in seen if outside.name in path], way


@pytest.mark.parametrize("before", ["/", "/static/", "/font/", "/api/runs/", "/api/figure."])
def test_no_url_opens_a_file_outside(client, outside, before):
    for way in ways(outside):
        if "\0" in way:  # no client sends it so
            continue
        with opened() as seen:
            answer = client.get(f"{before}{way.lstrip('/')}")
        check(answer, seen, outside, way)


BODIES = {
    "/api/translate": {"text": "one"},
    "/api/translate/stream": {"text": "one"},
    "/api/step": {"text": "one"},
    "/api/head": {"text": "one"},
    "/api/leak": {"text": "one"},
    "/api/padding": {"text": "one"},
    "/api/gravity": {"text": "one"},
    "/api/heads/ablation": {"text": "one"},
    "/api/heads/importance": {"text": "one"},
    "/api/length": {},
    "/api/probe": {"text": "one"},
    "/api/figure.svg": {"text": "one"},
    "/api/export.html": {"text": "one"},
}


@pytest.mark.parametrize("path", BODIES)
def test_no_model_or_run_name_opens_a_file_outside(client, outside, path):
    for way in ways(outside):
        for name in ("model", "run"):
            with opened() as seen:
                answer = client.post(path, json={**BODIES[path], name: way})
            check(answer, seen, outside, way)


def test_no_toy_is_a_path(client, outside):
    for way in ways(outside):
        with opened() as seen:
            answer = client.post(f"/api/toys/{quote(way, safe='')}/cancel")
            begun = client.post("/api/toys", json={"name": way, "kind": way})
        check(answer, seen, outside, way)
        check(begun, seen, outside, way)


def test_an_opened_file_is_recorded(outside):
    with opened() as seen:
        outside.read_text()
    assert seen == [str(outside)]
