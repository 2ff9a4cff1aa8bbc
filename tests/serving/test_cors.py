"""CORS: pages of allowed origins may use the server; no others, and never with credentials."""

import pytest

from dhyan.serving.access import add_key
from tests.serving.running_server import running_server

ORIGINS = ("https://app.example", "http://localhost:3000")
PREFLIGHT = {"access-control-request-method": "POST"}


@pytest.fixture(scope="module")
def cors(tmp_path_factory):
    """A server with two allowed origins and an API key."""
    folder = tmp_path_factory.mktemp("cors")
    key = add_key(folder / "keys", "one")
    with running_server(folder, origins=ORIGINS, keys=str(folder / "keys")) as running:
        yield running, {"authorization": f"Bearer {key}"}


def cors_headers(headers):
    return {name: value for name, value in headers.items() if name.startswith("access-control")}


@pytest.mark.parametrize("origin", ORIGINS)
def test_a_page_of_an_allowed_origin_may_translate(cors, origin):
    running, key = cors
    headers = {**key, "origin": origin, "sec-fetch-site": "cross-site"}
    status, response, _ = running.request("POST", "/v1/translate", {"text": "a"}, headers)
    assert status == 200
    assert response["access-control-allow-origin"] == origin
    assert response["vary"] == "origin"
    assert "access-control-allow-credentials" not in response


def test_a_preflight_needs_no_key(cors):
    running, _ = cors
    for path in ("/v1/translate", "/translate", "/nowhere"):
        headers = {"origin": ORIGINS[0], "sec-fetch-site": "cross-site", **PREFLIGHT}
        status, response, body = running.request("OPTIONS", path, None, headers)
        assert (status, body) == (204, b"")
        assert response["access-control-allow-origin"] == ORIGINS[0]
        assert response["access-control-allow-methods"] == "GET, POST"
        assert response["access-control-allow-headers"] == "authorization, content-type"


def test_a_page_can_read_errors_and_when_to_retry(cors):
    running, _ = cors
    status, response, _ = running.request("GET", "/v1/models", headers={"origin": ORIGINS[0]})
    assert status == 401
    assert response["access-control-allow-origin"] == ORIGINS[0]
    assert response["access-control-expose-headers"] == "retry-after"


@pytest.mark.parametrize(
    "origin",
    [
        "https://evil.example", "null", "", "*", "http://app.example", "https://app.example:443",
        "https://app.example.evil.example", "https://app.example/", "HTTPS://APP.EXAMPLE",
        "https://app.example, https://evil.example",
    ],
)  # fmt: skip
def test_other_origins_are_refused_without_cors_headers(cors, origin):
    running, key = cors
    for method, more in (("POST", {}), ("OPTIONS", PREFLIGHT)):
        headers = {**key, "origin": origin, **more}
        status, response, _ = running.request(method, "/v1/translate", b"{}", headers)
        assert (status, cors_headers(response)) == (403, {})


def test_no_other_page_is_let_in_without_an_origin(cors):
    running, key = cors
    headers = {**key, "sec-fetch-site": "cross-site"}
    assert running.request("GET", "/v1/models", headers=headers)[0] == 403
    assert cors_headers(running.request("GET", "/v1/models", headers=key)[1]) == {}


def test_an_allowed_origin_does_not_excuse_a_foreign_host(cors):
    running, key = cors
    headers = {**key, "origin": ORIGINS[0], "host": "evil.example"}
    assert running.request("GET", "/v1/models", headers=headers)[0] == 403


def test_without_allowed_origins_a_preflight_is_refused(server):
    headers = {"origin": ORIGINS[0], **PREFLIGHT}
    status, response, _ = server.request("OPTIONS", "/v1/translate", None, headers)
    assert (status, cors_headers(response)) == (403, {})
    assert "vary" not in server.request("GET", "/livez")[1]
