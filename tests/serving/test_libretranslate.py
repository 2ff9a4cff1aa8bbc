"""LibreTranslate's routes: its own client, its request fields, and its error body."""

import json
import urllib.error
from urllib.parse import urlencode

import pytest
from libretranslatepy import LibreTranslateAPI

from dhyan.serving.access import add_key
from tests.serving.running_server import running_server

FORM = {"content-type": "application/x-www-form-urlencoded"}
WORDS = {"en": ["how", "are", "you"], "de": ["wie", "geht", "es"], "hi": ["एक"]}
MODELS = {
    "en-hi": {"languages": ["en", "hi"], "words": WORDS},
    "de-hi": {"languages": ["de", "hi"], "words": WORDS},
}


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """A server of two models that requires an API key, and the key."""
    folder = tmp_path_factory.mktemp("libretranslate")
    key = add_key(folder / "keys", "one")
    with running_server(folder, models=MODELS, keys=str(folder / "keys")) as running:
        yield running, key


@pytest.fixture
def client(keyed):
    """LibreTranslate's own client, with the key."""
    running, key = keyed
    return LibreTranslateAPI(f"http://127.0.0.1:{running.port}", api_key=key)


def test_its_client_translates(client):
    assert client.translate("how are you", "en", "hi") == "HOW ARE YOU"
    assert client.translate("wie geht es", "auto", "hi") == "WIE GEHT ES"


def test_its_client_detects_the_language(client):
    [first, *_] = client.detect("wie geht es Anna")
    assert first == {"confidence": 87.5, "language": "de"}
    assert client.detect("एक दो")[0] == {"confidence": 75.0, "language": "hi"}


def test_its_client_lists_the_languages(client):
    assert client.languages() == [
        {"code": "en", "name": "English", "targets": ["hi"]},
        {"code": "de", "name": "German", "targets": ["hi"]},
        {"code": "hi", "name": "Hindi", "targets": []},
    ]


@pytest.mark.parametrize("method", ["translate", "detect", "languages"])
def test_its_client_needs_the_key(keyed, method):
    running, _ = keyed
    arguments = {"translate": ("a", "en", "hi"), "detect": ("a",)}.get(method, ())
    for key in (None, "wrong"):
        client = LibreTranslateAPI(f"http://127.0.0.1:{running.port}", api_key=key)
        with pytest.raises(urllib.error.HTTPError) as error:
            getattr(client, method)(*arguments)
        assert error.value.code == 401
        assert json.load(error.value)["error"].startswith("API key missing")


def post(server, path="/translate", headers=(), **fields):
    """Status and JSON of a JSON body."""
    status, _, raw = server.request("POST", path, fields, headers)
    return status, json.loads(raw)


def post_form(server, path="/translate", **fields):
    """Status and JSON of a form."""
    status, _, raw = server.request("POST", path, urlencode(fields).encode(), FORM)
    return status, json.loads(raw)


@pytest.mark.parametrize("send", [post, post_form])
def test_json_and_forms_have_the_same_fields(server, send):
    expected = {"translatedText": "क & B"}
    fields = {"q": "क & b", "source": "en", "target": "hi"}
    assert send(server, **fields) == (200, expected)
    assert send(server, **fields, format="text", api_key="", unknown="x") == (200, expected)
    assert send(server, **fields, alternatives=2)[1]["alternatives"] == ["क & B"] * 2


def test_a_list_is_translated_to_a_list(server):
    fields = {"q": ["a", "b"], "source": "auto", "target": "hi", "alternatives": 1}
    status, body = post(server, **fields)
    assert (status, body["translatedText"], body["alternatives"]) == (
        200, ["A", "B"], [["A"], ["B"]],
    )  # fmt: skip
    assert [detected["language"] for detected in body["detectedLanguage"]] == ["en", "en"]


def test_the_detected_language_is_told_for_auto_alone(server):
    _, body = post(server, q="a", source="auto", target="hi")
    assert body["detectedLanguage"] == {"confidence": 50.0, "language": "en"}
    assert "detectedLanguage" not in post(server, q="a", source="en", target="hi")[1]


@pytest.mark.parametrize("text", ["", "42!", "ñ" * 5000, "привет", "\n\u200d"])
def test_an_unlikely_text_has_no_confidence(server, text):
    status, body = post(server, "/detect", q=text)
    assert status == 200
    assert all(0 <= entry["confidence"] <= 100 for entry in body)
    assert body[0]["language"] == "en"
    if not text.startswith("ñ"):
        assert body == [{"confidence": 0.0, "language": "en"}]


def test_html_is_refused(server):
    for send in (post, post_form):
        status, body = send(server, q="<b>a</b>", source="en", target="hi", format="html")
        assert status == 400
        assert "html is not supported" in body["error"]


@pytest.mark.parametrize("alternatives", [-1, 16, 1.5, "2", None, "x"])
def test_a_wrong_number_of_alternatives_is_refused(server, alternatives):
    fields = {"q": "a", "source": "en", "target": "hi"}
    assert post(server, **fields, alternatives=alternatives)[0] == 400
    if alternatives != "2":
        assert post_form(server, **fields, alternatives=alternatives)[0] == 400


def test_other_languages_are_refused(server):
    for source, target in (("de", "hi"), ("en", "de"), ("hi", "en"), ("auto", "en")):
        status, body = post(server, q="a", source=source, target=target)
        assert status == 400
        assert "from en to hi" in body["error"]


def test_every_error_is_a_string(server):
    requests = [
        ("POST", "/translate", b"{", {}), ("POST", "/detect", b"{}", {}),
        ("GET", "/translate", None, {}), ("DELETE", "/languages", None, {}),
        ("POST", "/translate", b"x", {"content-type": "text/plain"}),
        ("GET", "/languages", None, {"host": "evil.example"}),
        ("POST", "/detect", b"{}", {"origin": "http://evil.example"}),
        ("POST", "/translate", b"x" * (2**20 + 1), {}),
    ]  # fmt: skip
    statuses = set()
    for method, path, body, headers in requests:
        status, _, raw = server.request(method, path, body, headers)
        assert isinstance(json.loads(raw)["error"], str)
        statuses.add(status)
    assert statuses == {400, 403, 405, 413, 415}


def test_an_unfinished_body_has_a_string_error(tmp_path):
    with running_server(tmp_path, connection={"body_timeout": 0.2}) as running:
        host = f"host: 127.0.0.1:{running.port}"
        head = f"{host}\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{{"
        for path, code in (("/translate", b""), ("/v1/translate", b'"request_timeout"')):
            response = running.send_raw(f"POST {path} HTTP/1.1\r\n{head}".encode())
            assert response.startswith(b"HTTP/1.1 408 ")
            assert code in response
            error = json.loads(response.partition(b"\r\n\r\n")[2])["error"]
            assert isinstance(error, dict if code else str)
