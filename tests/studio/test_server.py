"""The studio's application: foreign hosts and origins, oversized and invalid requests."""

import json

import pytest

from dhyan.studio.server import CONTENT_SECURITY_POLICY, MAX_BODY_BYTES

FOREIGN_HOSTS = (
    "evil.example", "evil.example:80", "127.0.0.1.evil.example", "localhost.evil.example",
    "10.0.0.1", "0.0.0.0", "127.0.0.2", "[::2]", "", "127.0.0.1@evil.example",
)  # fmt: skip
FOREIGN_ORIGINS = (
    "http://evil.example", "https://127.0.0.1", "http://127.0.0.1:1", "null", "file://",
    "http://localhost", "http://127.0.0.1.evil.example", "chrome-extension://abc",
)  # fmt: skip
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
PATHS = ("/", "/translate", "/api/models", "/api/translate", "/static/js/main.js", "/nothing")


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("host", FOREIGN_HOSTS)
def test_a_foreign_host_is_refused(client, method, host):
    for path in PATHS:
        assert client.request(method, path, headers={"host": host}).status_code == 403


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("origin", FOREIGN_ORIGINS)
def test_a_foreign_origin_is_refused(client, method, origin):
    for path in PATHS:
        assert client.request(method, path, headers={"origin": origin}).status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_a_cross_site_fetch_is_refused(client, site):
    assert client.get("/api/models", headers={"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1:8765", "[::1]:8765"])
def test_loopback_names_are_answered(client, host):
    response = client.get("/api/models", headers={"host": host, "origin": f"http://{host}"})
    assert response.status_code == 200


@pytest.mark.parametrize(
    "path", [*PATHS, "/font/noto-sans-devanagari.ttf", "/livez", "/api/openapi.json"]
)
def test_every_response_has_the_security_headers(client, path):
    for response in (client.get(path), client.post(path), client.get(path, headers={"host": "x"})):
        assert response.headers["content-security-policy"] == CONTENT_SECURITY_POLICY
        assert response.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in response.headers


def test_a_browser_asks_whether_a_module_changed(client):
    first = client.get("/static/js/main.js")
    assert first.headers["cache-control"] == "no-cache"
    again = client.get("/static/js/main.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")


def test_a_declared_large_body_is_refused(client):
    large = b'{"text": "' + b"a" * MAX_BODY_BYTES + b'"}'
    assert client.post("/api/translate", content=large).status_code == 413


def test_an_undeclared_large_body_is_not_read_to_its_end(client):
    sent = 0

    def chunks():
        nonlocal sent
        for _ in range(1000):
            sent += 1024
            yield b"a" * 1024

    headers = {"content-type": "application/json"}
    response = client.post("/api/translate", content=chunks(), headers=headers)
    assert response.status_code == 413
    assert response.json()["error"]["code"] == "body_too_large"


INVALID = (
    {}, {"text": 1}, {"text": None}, {"text": "a", "beam": 0}, {"text": "a", "beam": 9},
    {"text": "a", "beam": "2"}, {"text": "a", "beam": True}, {"text": "a" * 501},
    {"text": "a", "more": 1}, {"text": ["a"]}, {"text": "a", "model": "x" * 201}, [], "a", 3, None,
)  # fmt: skip


@pytest.mark.parametrize("body", INVALID, ids=repr)
def test_an_invalid_body_is_refused(client, body):
    headers = {"content-type": "application/json"}
    response = client.post("/api/translate", content=json.dumps(body), headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["code"] == "invalid_request"


def test_a_lone_surrogate_is_refused(client):
    body = b'{"text": "\\ud800", "model": "bahdanau"}'
    headers = {"content-type": "application/json"}
    response = client.post("/api/translate", content=body, headers=headers)
    assert response.status_code == 400
    assert "surrogate" in response.json()["error"]["message"]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"text": "How are you?", "model": "none"}, "there is no model 'none'"),
        ({"text": "   ", "model": "bahdanau"}, "the sentence is empty"),
        ({"text": "a " * 200, "model": "bahdanau"}, "tokens; the page takes at most 128"),
    ],
)
def test_a_user_error_is_one_line(client, body, message):
    response = client.post("/api/translate", json=body)
    assert response.status_code == 400
    assert message in response.json()["error"]["message"]
    assert "\n" not in response.json()["error"]["message"]


def test_there_are_no_pages_that_load_from_other_hosts(client):
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404
    assert client.get("/api/openapi.json").json()["info"]["title"] == "dhyan studio"


@pytest.mark.parametrize(
    "path",
    [
        "/static/../server.py",
        "/static/..%2fserver.py",
        "/static/%2e%2e/server.py",
        "/../etc/passwd",
    ],
)
def test_no_file_outside_static_is_served(client, path):
    response = client.get(path)
    assert response.status_code == 404
    assert "import" not in response.text
