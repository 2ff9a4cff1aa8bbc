"""Path traversal: no path or name in a request opens a file outside the studio."""

import sys
from contextlib import contextmanager
from urllib.parse import quote

import pytest

SECRET = "a secret text"
RECORDERS: list[list[str]] = []
sys.addaudithook(lambda event, args: _record(args[0]) if event == "open" else None)


def _record(path):
    for paths in RECORDERS:
        paths.append(str(path))


@contextmanager
def opened_paths():
    """The paths that this process opens meanwhile."""
    paths: list[str] = []
    RECORDERS.append(paths)
    try:
        yield paths
    finally:
        RECORDERS.remove(paths)


@pytest.fixture(scope="module")
def outside(tmp_path_factory):
    file = tmp_path_factory.mktemp("outside") / "secret.txt"
    file.write_text(SECRET)
    return file


def traversals(file):
    """Spellings of a file's path that traversal attacks use."""
    up = "../" * 12
    plain = [str(file), f"{up}{str(file)[1:]}", f"..{file}", f"file://{file}", f"//{file}"]
    plain += [f"translate/{up}{str(file)[1:]}", f"....//....//{file}", f"~{file}", f"{file}\0.png"]
    plain += [str(file).replace("/", "\\"), f"\\\\localhost{file}", f"{file}%00"]
    once = [quote(path, safe="") for path in plain]
    twice = [quote(path, safe="") for path in once]
    overlong = [path.replace("%2F", "%c0%af").replace("..", "%c0%ae%c0%ae") for path in once]
    return [*plain, *once, *twice, *overlong]


def check(response, paths, outside, traversal):
    refused = response.status_code in (400, 404, 405, 409, 413, 415)
    assert refused or "there is no model" in response.text, (
        traversal,
        response.text,
    )  # a stream has begun
    assert SECRET not in response.text, traversal
    assert not [path for path in paths if outside.name in path], traversal


@pytest.mark.parametrize("before", ["/", "/static/", "/font/", "/api/runs/", "/api/figure."])
def test_no_url_opens_a_file_outside(client, outside, before):
    for traversal in traversals(outside):
        if "\0" in traversal:  # no client sends it so
            continue
        with opened_paths() as paths:
            response = client.get(f"{before}{traversal.lstrip('/')}")
        check(response, paths, outside, traversal)


REQUESTS = {
    "/api/translate": {"text": "one"},
    "/api/translate/stream": {"text": "one"},
    "/api/step": {"text": "one"},
    "/api/head": {"text": "one"},
    "/api/activations": {"text": "one"},
    "/api/beam": {"text": "one"},
    "/api/layers": {"text": "one"},
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


@pytest.mark.parametrize("path", REQUESTS)
def test_no_model_or_run_name_opens_a_file_outside(client, outside, path):
    for traversal in traversals(outside):
        for name in ("model", "run"):
            with opened_paths() as paths:
                response = client.post(path, json={**REQUESTS[path], name: traversal})
            check(response, paths, outside, traversal)


def test_no_toy_is_a_path(client, outside):
    for traversal in traversals(outside):
        with opened_paths() as paths:
            response = client.post(f"/api/toys/{quote(traversal, safe='')}/cancel")
            started = client.post("/api/toys", json={"name": traversal, "task": traversal})
        check(response, paths, outside, traversal)
        check(started, paths, outside, traversal)


def test_an_opened_file_is_recorded(outside):
    with opened_paths() as paths:
        outside.read_text()
    assert paths == [str(outside)]
