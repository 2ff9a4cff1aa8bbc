"""Only this machine's own page is answered, and nothing large or crooked is read."""

import pytest

from dhyan.studio.loopback import LARGEST, POLICY

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
def test_what_another_page_fetches_is_refused(client, site):
    assert client.get("/api/models", headers={"sec-fetch-site": site}).status_code == 403


@pytest.mark.parametrize("host", ["127.0.0.1", "localhost", "127.0.0.1:8765", "[::1]:8765"])
def test_this_machine_is_answered(client, host):
    answer = client.get("/api/models", headers={"host": host, "origin": f"http://{host}"})
    assert answer.status_code == 200


@pytest.mark.parametrize("path", [*PATHS, "/font/deva.ttf", "/livez", "/api/openapi.json"])
def test_every_answer_has_the_policy(client, path):
    for answer in (client.get(path), client.post(path), client.get(path, headers={"host": "x"})):
        assert answer.headers["content-security-policy"] == POLICY
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert "set-cookie" not in answer.headers


def test_a_body_that_is_too_large_is_refused(client):
    large = b'{"text": "' + b"a" * LARGEST + b'"}'
    assert client.post("/api/translate", content=large).status_code == 413


def test_a_body_that_hides_its_length_is_not_read_to_its_end(client):
    sent = 0

    def pieces():
        nonlocal sent
        for _ in range(1000):
            sent += 1024
            yield b"a" * 1024

    with pytest.raises(Exception):  # noqa: B017, PT011 - the connection ends, however it is told
        client.post("/api/translate", content=pieces()).raise_for_status()


CROOKED = (
    {}, {"text": 1}, {"text": None}, {"text": "a", "beam": 0}, {"text": "a", "beam": 9},
    {"text": "a", "beam": "2"}, {"text": "a", "beam": True}, {"text": "a" * 501},
    {"text": "a", "more": 1}, {"text": ["a"]}, {"text": "a", "model": "x" * 201}, [], "a", 3, None,
)  # fmt: skip


@pytest.mark.parametrize("body", CROOKED, ids=repr)
def test_a_question_that_does_not_fit_is_refused_in_words(client, body):
    answer = client.post("/api/translate", json=body)
    assert answer.status_code == 422
    assert answer.json()["problem"]


def test_half_a_letter_is_refused(client):
    body = b'{"text": "\\ud800", "model": "bahdanau"}'
    kind = {"content-type": "application/json"}
    answer = client.post("/api/translate", content=body, headers=kind)
    assert answer.status_code == 422
    assert "unicode" in answer.json()["problem"]


@pytest.mark.parametrize(
    ("body", "found"),
    [
        ({"text": "How are you?", "model": "none"}, "there is no model 'none'"),
        ({"text": "   ", "model": "bahdanau"}, "the sentence is empty"),
        ({"text": "a " * 200, "model": "bahdanau"}, "tokens; the page takes at most 128"),
    ],
)
def test_what_cannot_be_answered_is_told_in_one_line(client, body, found):
    answer = client.post("/api/translate", json=body)
    assert answer.status_code == 400
    assert found in answer.json()["problem"]
    assert "\n" not in answer.json()["problem"]


def test_there_is_no_page_that_loads_from_elsewhere(client):
    assert client.get("/docs").status_code == 404
    assert client.get("/redoc").status_code == 404
    assert client.get("/api/openapi.json").json()["info"]["title"] == "dhyan studio"


@pytest.mark.parametrize(
    "path", ["/static/../app.py", "/static/..%2fapp.py", "/static/%2e%2e/app.py", "/../etc/passwd"]
)
def test_no_file_beside_the_page_is_served(client, path):
    answer = client.get(path)
    assert answer.status_code == 404
    assert "import" not in answer.text
