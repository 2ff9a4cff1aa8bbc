"""What a client is told: translations in their shapes, and refusals in one shape."""

import json
import random
import urllib.parse

import pytest

SHAPE = {"code", "message"}
FORM = {"content-type": "application/x-www-form-urlencoded"}


def told(raw):
    """The error of a refusal, which must have the one shape and be short."""
    assert len(raw) <= 2048
    found = json.loads(raw)
    assert set(found) == {"error"}
    assert set(found["error"]) == SHAPE
    return found["error"]


def test_one_text_and_several(server):
    status, found = server.translate("how are you")
    assert (status, found["model"]) == (200, "fixed")
    assert found["translations"] == [[{"text": "HOW ARE YOU", "score": -1.0, "finished": True}]]
    _, found = server.translate(["a", "", "कखग"], nbest=2, align=True)
    assert [[one["text"] for one in own] for own in found["translations"]] == [
        ["A", "A"], ["", ""], ["कखग", "कखग"],
    ]  # fmt: skip
    assert found["translations"][0][0]["alignment"] == [[0, 0]]


def test_a_stream_tells_words_and_then_the_whole(server):
    status, headers, raw = server.ask("POST", "/v1/translate/stream", {"text": "a b c"})
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    events = [part.split("\n") for part in raw.decode().strip().split("\n\n")]
    assert [kind for kind, _ in events] == ["event: words"] * (len(events) - 1) + ["event: done"]
    assert heard(events[:-1]) == ["A", "B", "C"]
    assert json.loads(events[-1][1][6:])["text"] == "A B C"


def heard(events):
    """The words of a stream, put together as its reader does; none is told twice."""
    words, told = [], 0
    for _, line in events:
        data = json.loads(line[6:])
        assert data["from"] == len(words)
        words[data["from"] :] = data["words"]
        told += len(data["words"])
    assert told == len(words)
    return words


def test_a_stream_is_no_longer_than_what_is_said(server):
    text = " ".join(f"w{number:03d}" for number in range(500))
    raw = server.ask("POST", "/v1/translate/stream", {"text": text})[2]
    events = [part.split("\n") for part in raw.decode().strip().split("\n\n")]
    assert heard(events[:-1]) == text.upper().split()
    assert len(raw) < 70 * 500  # a name, a place and a word for each, and the whole


def test_a_stream_that_cannot_begin_is_refused_as_all_else(server):
    body = {"text": "!unfit"}
    assert told(server.ask("POST", "/v1/translate/stream", body)[2])["code"] == "unfit"


@pytest.mark.parametrize(
    ("body", "headers", "wanted"),
    [
        ({"q": "a b", "source": "en", "target": "hi"}, {}, "A B"),
        ({"q": "a", "source": "auto", "target": "hi", "alternatives": 3, "api_key": ""}, {}, "A"),
        ({"q": ["a", "b"], "source": "en", "target": "hi", "format": "text"}, {}, ["A", "B"]),
        (
            urllib.parse.urlencode({"q": "क & b", "source": "en", "target": "hi"}).encode(),
            FORM, "क & B",
        ),
    ],
)  # fmt: skip
def test_clients_of_libretranslate_are_answered(server, body, headers, wanted):
    status, _, raw = server.ask("POST", "/translate", body, headers)
    assert (status, json.loads(raw)) == (200, {"translatedText": wanted})


def test_other_languages_are_refused(server):
    for source, target in (("de", "hi"), ("en", "de"), ("hi", "en")):
        body = {"q": "a", "source": source, "target": target}
        status, _, raw = server.ask("POST", "/translate", body)
        assert status == 400
        assert "from en to hi" in told(raw)["message"]


def test_what_there_is_can_be_asked(server):
    [model] = json.loads(server.ask("GET", "/v1/models")[2])["models"]
    assert (model["name"], model["source"], model["target"]) == ("fixed", "en", "hi")
    languages = json.loads(server.ask("GET", "/languages")[2])
    assert [(one["code"], one["targets"]) for one in languages] == [("en", ["hi"]), ("hi", [])]
    assert server.ask("GET", "/livez")[0] == server.ask("GET", "/readyz")[0] == 200


def test_the_document_names_every_path_and_every_refusal(server):
    document = json.loads(server.ask("GET", "/openapi.json")[2])
    assert set(document["paths"]) == {
        "/v1/translate", "/v1/translate/stream", "/v1/models", "/translate", "/languages",
        "/livez", "/readyz", "/metrics",
    }  # fmt: skip
    asked = document["paths"]["/v1/translate"]["post"]
    assert {"200", "400", "413", "429", "503", "504"} <= set(asked["responses"])
    assert "422" not in asked["responses"]


def test_a_text_that_cannot_be_translated_is_named(server):
    status, found = server.translate(["a", "!unfit"])
    assert (status, found["error"]["code"]) == (400, "unfit")
    assert found["error"]["message"].startswith("text 2: ")


def test_a_deadline_that_passes_is_told(server):
    status, found = server.translate("!slow 5", deadline=0.2)
    assert (status, found["error"]["code"]) == (504, "expired")
    assert server.translate("next")[0] == 200


SECRET = "n0b0dy-r3peats-this"
WRONG = [
    {}, [], None, 1, "x", {"text": 1}, {"text": None}, {"text": []}, {"text": [1]}, {"texts": "a"},
    {"text": "a", "beam": -1}, {"text": "a", "beam": 17}, {"text": "a", "beam": 1.5},
    {"text": "a", "beam": True}, {"text": "a", "beam": "2"}, {"text": "a", "beam": 10**400},
    {"text": "a", "nbest": 0}, {"text": "a", "align": 1}, {"text": "a", "deadline": 0},
    {"text": "a", "deadline": -1}, {"text": "a", "deadline": 1e9}, {"text": "a", SECRET: 1},
    {"text": "a", "paragraphs": True, "nbest": 2}, {"text": "a" * 5001}, {"text": ["a"] * 129},
    {"text": ["a", ["b"]]}, {"text": {"a": "b"}}, {"text": [SECRET, 2]}, {"text": {SECRET: 2}},
]  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream", "/translate"])
def test_wrong_bodies_are_refused_without_repeating_them(server, path):
    for body in WRONG:
        status, _, raw = server.ask("POST", path, json.dumps(body).encode())
        assert status == 400, body
        told(raw)
        assert SECRET.encode() not in raw


def broken(count, seed):
    """Bodies that were right before something happened to them."""
    chance = random.Random(seed)
    good = [
        b'{"text": "how are you", "beam": 2, "nbest": 2}', b'{"text": ["a", "\\u0915"]}',
        b'{"q": "a", "source": "en", "target": "hi"}', b'{"text": "a", "deadline": 1.5}',
    ]  # fmt: skip
    odd = [
        b"\x00", b"\xff", b"\\ud800", b"NaN", b"1e999", b"-0", b'"', b"{", b"}", b"[", b",", b":",
        b"\\", b"\xe0\xa4", b"null", b"true", b"\xed\xa0\x80", b"1" * 400, b" " * 50, b"\r\n",
    ]  # fmt: skip
    for _ in range(count):
        raw = bytearray(chance.choice(good))
        for _ in range(chance.randint(1, 4)):
            at = chance.randrange(len(raw) + 1)
            match chance.randrange(4):
                case 0:
                    raw[at:at] = chance.choice(odd)
                case 1:
                    del raw[at : at + chance.randint(1, 8)]
                case 2:
                    raw[at : at + 1] = bytes([chance.randrange(256)])
                case _:
                    raw[at:at] = raw[: chance.randint(0, 20)]
        yield bytes(raw)


@pytest.mark.parametrize(
    "count", [500, pytest.param(20_000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_broken_bodies_never_break_the_server(server, count):
    seen = set()
    for number, raw in enumerate(broken(count, seed=count)):
        path = ("/v1/translate", "/v1/translate/stream", "/translate")[number % 3]
        status, _, answer = server.ask("POST", path, raw)
        seen.add(status)
        assert status in (200, 400), raw
        if status == 400:
            told(answer)
    assert seen == {200, 400}
    print(f"{count:,} broken bodies: only {sorted(seen)}")


def test_a_body_of_another_kind_is_refused(server):
    for kind in ("text/plain", "", "application/x-www-form-urlencoded", "multipart/form-data"):
        answer = server.ask("POST", "/v1/translate", b'{"text": "a"}', {"content-type": kind})
        assert answer[0] == 415
        assert told(answer[2])["code"] == "unsupported"
    kind = {"content-type": "application/json; charset=utf-8"}
    assert server.ask("POST", "/v1/translate", b'{"text": "a"}', kind)[0] == 200


def test_other_paths_and_methods_are_refused_in_the_same_shape(server):
    assert told(server.ask("GET", "/v2")[2])["code"] == "unknown_path"
    for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS"):
        status, headers, raw = server.ask(method, "/v1/translate")
        assert (status, headers["allow"]) == (405, "POST")
        assert told(raw)["code"] == "wrong_method"
