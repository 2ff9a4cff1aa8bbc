"""Whatever path is named, in the address or in a question, no file beyond our own is opened."""

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
def test_no_address_leads_out(client, outside, before):
    for way in ways(outside):
        if "\0" in way:  # no client sends it so
            continue
        with opened() as seen:
            answer = client.get(f"{before}{way.lstrip('/')}")
        check(answer, seen, outside, way)


QUESTIONS = {
    "/api/translate": {"text": "one"},
    "/api/translate/stream": {"text": "one"},
    "/api/step": {"text": "one"},
    "/api/head": {"text": "one"},
    "/api/leak": {"text": "one"},
    "/api/padding": {"text": "one"},
    "/api/gravity": {"text": "one"},
    "/api/heads/without": {"text": "one"},
    "/api/heads/missed": {"text": "one"},
    "/api/length": {},
    "/api/probe": {"text": "one"},
    "/api/figure.svg": {"text": "one"},
    "/api/alone.html": {"text": "one"},
}


@pytest.mark.parametrize("path", QUESTIONS)
def test_no_name_of_a_model_or_a_run_leads_out(client, outside, path):
    for way in ways(outside):
        for name in ("model", "run"):
            with opened() as seen:
                answer = client.post(path, json={**QUESTIONS[path], name: way})
            check(answer, seen, outside, way)


def test_no_toy_is_a_path(client, outside):
    for way in ways(outside):
        with opened() as seen:
            answer = client.post(f"/api/toys/{quote(way, safe='')}/cancel")
            begun = client.post("/api/toys", json={"name": way, "kind": way})
        check(answer, seen, outside, way)
        check(begun, seen, outside, way)


def test_what_is_opened_would_be_seen(outside):
    with opened() as seen:
        outside.read_text()
    assert seen == [str(outside)]
