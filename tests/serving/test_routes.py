"""Routes: translations, streams, the OpenAPI document, and the error bodies."""

import asyncio
import json
import random
import re

import pytest

from dhyan.serving.routes import WordStream


def error_of(raw):
    """The error of a response, which must be short and have the one shape."""
    assert len(raw) <= 2048
    body = json.loads(raw)
    assert set(body) == {"error"}
    assert set(body["error"]) == {"code", "message"}
    return body["error"]


def check_error(path, raw):
    """An error is an object with code and message; on LibreTranslate's routes it is a string."""
    if path.startswith("/v1/"):
        assert error_of(raw)["code"]
    else:
        assert len(raw) <= 2048
        assert isinstance(json.loads(raw)["error"], str)


def test_one_text_and_several_are_translated(server):
    status, body = server.translate("how are you")
    assert (status, body["model"]) == (200, "fixed")
    assert body["translations"] == [[{"text": "HOW ARE YOU", "score": -1.0, "finished": True}]]
    _, body = server.translate(["a", "", "कखग"], nbest=2, align=True)
    texts = [[hypothesis["text"] for hypothesis in nbest] for nbest in body["translations"]]
    assert texts == [["A", "A"], ["", ""], ["कखग", "कखग"]]
    assert body["translations"][0][0]["alignment"] == [[0, 0]]


def test_a_stream_sends_words_and_then_the_translation(server):
    status, headers, raw = server.request("POST", "/v1/translate/stream", {"text": "a b c"})
    assert status == 200
    assert headers["content-type"].startswith("text/event-stream")
    events = [part.split("\n") for part in raw.decode().strip().split("\n\n")]
    assert [name for name, _ in events] == ["event: words"] * (len(events) - 1) + ["event: done"]
    assert words_of(events[:-1]) == ["A", "B", "C"]
    assert json.loads(events[-1][1][6:])["text"] == "A B C"


def words_of(events):
    """The words of a stream as its reader assembles them; none is sent twice."""
    words, sent = [], 0
    for _, line in events:
        data = json.loads(line[6:])
        assert data["from"] == len(words)
        words[data["from"] :] = data["words"]
        sent += len(data["words"])
    assert sent == len(words)
    return words


def test_a_stream_grows_linearly_with_its_words(server):
    text = " ".join(f"w{number:03d}" for number in range(500))
    raw = server.request("POST", "/v1/translate/stream", {"text": text})[2]
    events = [part.split("\n") for part in raw.decode().strip().split("\n\n")]
    assert words_of(events[:-1]) == text.upper().split()
    assert len(raw) < 70 * 500  # name, index and word for each, and the translation


def test_a_stream_that_cannot_begin_has_the_error_body(server):
    raw = server.request("POST", "/v1/translate/stream", {"text": "!unsupported"})[2]
    assert error_of(raw)["code"] == "unsupported_option"


def test_a_slow_reader_gets_the_latest_words():
    async def read():
        stream = WordStream()
        for count in range(1000):
            stream.update(count, [f"w{count}"])
        stream.update(998, ["x"])
        assert await stream.has_words()
        changes = aiter(stream)
        first = await anext(changes)
        stream.update(999, ["y"])
        stream.update(5, ["z"])
        stream.end(None)
        return first, [change async for change in changes]

    first, rest = asyncio.run(read())
    assert (first["from"], len(first["words"]), first["words"][-1]) == (0, 999, "x")
    assert rest == [{"from": 5, "words": ["z"]}]


def test_a_stream_without_words_has_none():
    async def read():
        stream = WordStream()
        stream.end(None)
        return await stream.has_words(), [change async for change in stream]

    assert asyncio.run(read()) == (False, [])


def test_model_languages_and_health_are_served(server):
    [model] = json.loads(server.request("GET", "/v1/models")[2])["models"]
    languages = (model["source_language"], model["target_language"])
    assert (model["name"], *languages) == ("fixed", "en", "hi")
    languages = json.loads(server.request("GET", "/languages")[2])
    assert [(entry["code"], entry["targets"]) for entry in languages] == [
        ("en", ["hi"]), ("hi", []),
    ]  # fmt: skip
    assert server.request("GET", "/livez")[0] == server.request("GET", "/readyz")[0] == 200


def test_outputs_of_any_task_are_predictions(server):
    status, _, body = server.request("POST", "/v1/predict", {"text": ["one", "two"], "nbest": 2})
    predictions = json.loads(body)["predictions"]
    assert (status, len(predictions)) == (200, 2)
    translated = json.loads(
        server.request("POST", "/v1/translate", {"text": ["one", "two"], "nbest": 2})[2]
    )
    assert predictions == translated["translations"]
    status, _, body = server.request("POST", "/v1/predict", {"text": "one", "prefix": "x"})
    assert (status, json.loads(body)["error"]["code"]) == (400, "invalid_request")


def test_the_schema_has_every_path_and_every_error(server):
    document = json.loads(server.request("GET", "/openapi.json")[2])
    assert set(document["paths"]) == {
        "/v1/translate", "/v1/translate/stream", "/v1/predict", "/v1/models", "/translate",
        "/detect", "/languages", "/livez", "/readyz", "/metrics",
    }  # fmt: skip
    operation = document["paths"]["/v1/translate"]["post"]
    assert {"200", "400", "413", "429", "503", "504"} <= set(operation["responses"])
    assert "422" not in operation["responses"]


def test_the_schema_has_the_declared_bounds_and_help(server):
    document = json.loads(server.request("GET", "/openapi.json")[2])
    fields = document["components"]["schemas"]["TranslateRequest"]["properties"]
    nbest = fields["nbest"]
    assert (nbest["minimum"], nbest["maximum"], nbest["default"]) == (1, 16, 1)
    assert nbest["description"] == "N-best list: number of translations per sentence."
    [beam] = [choice for choice in fields["beam"]["anyOf"] if choice["type"] == "integer"]
    assert (beam["minimum"], beam["maximum"]) == (1, 16)
    assert fields["beam"]["description"].startswith("Beam size")
    events = document["paths"]["/v1/translate/stream"]["post"]["responses"]["200"]["content"]
    assert set(events) == {"text/event-stream"}


def operations(document):
    """Every operation of an OpenAPI document, with its path."""
    for path, methods in document["paths"].items():
        for operation in methods.values():
            yield path, operation


def test_generated_clients_get_names_for_everything(server):
    """What openapi-python-client 0.29 needs to make a client that imports and works."""
    document = json.loads(server.request("GET", "/openapi.json")[2])
    ids = [operation["operationId"] for _, operation in operations(document)]
    assert len(set(ids)) == len(ids)
    assert all(re.fullmatch("[a-z_]+", id) for id in ids)
    for path, operation in operations(document):
        assert len(operation["tags"]) == 1, path
        if "requestBody" in operation:
            assert operation["requestBody"]["required"]
            [(media_type, content)] = operation["requestBody"]["content"].items()
            assert media_type == "application/json"
            assert set(content["schema"]) == {"$ref"}
        for status, response in operation["responses"].items():
            for media_type, content in response["content"].items():
                schema = content.get("schema", {"type": "string"})
                if media_type == "application/json":
                    assert "$ref" in schema.get("items", schema), (path, status)
                else:  # text has no schema of an object
                    assert schema["type"] == "string", (path, status)


def test_names_and_languages_are_strings_with_a_pattern(server):
    """An enumeration would tie a generated client to one server."""
    schemas = json.loads(server.request("GET", "/openapi.json")[2])["components"]["schemas"]
    fields = schemas["TranslateRequest"]["properties"]
    patterns = {name: fields[name]["anyOf"][0]["pattern"] for name in fields if "model" in name}
    assert patterns == {"model": "^(fixed)$"}
    assert fields["source_language"]["anyOf"][0]["pattern"] == "^(en)$"
    assert schemas["LibreTranslateRequest"]["properties"]["source"]["pattern"] == "^(auto|en)$"
    assert not [name for name, schema in schemas.items() if "enum" in schema]


def test_prefix_and_glossary_reach_the_model(server):
    for glossary in ({"are": "sind"}, [["are", "sind"]]):
        _, body = server.translate("how are you", prefix="Na,", glossary=glossary)
        assert body["translations"][0][0]["text"] == "Na, HOW sind YOU"
    assert server.translate("how are you")[1]["translations"][0][0]["text"] == "HOW ARE YOU"


def test_the_only_model_may_be_named(server):
    names = {"model": "fixed", "source_language": "en", "target_language": "hi"}
    for fields in (names, {"model": "fixed"}, {"target_language": "hi"}, {}):
        assert server.translate("a", **fields)[0] == 200
        raw = server.request("POST", "/v1/translate/stream", {"text": "a", **fields})[2]
        assert b"event: done" in raw
    for other in (
        {"model": "x"},
        {"source_language": "hi"},
        {"model": "fixed", "target_language": "x"},
    ):
        status, body = server.translate("a", **other)
        assert (status, body["error"]["code"]) == (404, "model_not_found")


def test_a_text_that_cannot_be_translated_is_named(server):
    status, body = server.translate(["a", "!unsupported"])
    assert (status, body["error"]["code"]) == (400, "unsupported_option")
    assert body["error"]["message"].startswith("text 2: ")


def test_an_exceeded_deadline_is_an_error(server):
    status, body = server.translate("!slow 5", deadline=0.2)
    assert (status, body["error"]["code"]) == (504, "deadline_exceeded")
    assert server.translate("next")[0] == 200


SECRET = "n0b0dy-r3peats-this"
INVALID = [
    {}, [], None, 1, "x", {"text": 1}, {"text": None}, {"text": []}, {"text": [1]}, {"texts": "a"},
    {"text": "a", "beam": -1}, {"text": "a", "beam": 0}, {"text": "a", "beam": 17},
    {"text": "a", "beam": 1.5}, {"text": "a", "beam": True}, {"text": "a", "beam": "2"},
    {"text": "a", "beam": 10**400}, {"text": "a", "nbest": 0}, {"text": "a", "align": 1},
    {"text": "a", "deadline": 0},
    {"text": "a", "deadline": -1}, {"text": "a", "deadline": 1e9}, {"text": "a", SECRET: 1},
    {"text": "a", "paragraphs": True, "nbest": 2}, {"text": "a" * 5001}, {"text": ["a"] * 129},
    {"text": "a", "paragraphs": True, "prefix": "b"}, {"text": "a", "prefix": "b" * 1001},
    {"text": "a", "prefix": 1}, {"text": "a", "glossary": "b"}, {"text": "a", "glossary": [["b"]]},
    {"text": "a", "glossary": [["b", ""]]}, {"text": "a", "glossary": {"": "b"}},
    {"text": "a", "glossary": {SECRET: 1}}, {"text": "a", "glossary": [[SECRET, "b", "c"]]},
    {"text": "a", "glossary": [["b", "c"]] * 201}, {"text": "a", "glossary": {"b" * 201: "c"}},
    {"text": "a", "model": 1}, {"text": "a", "target_language": 1},
    {"text": ["a", ["b"]]}, {"text": {"a": "b"}}, {"text": [SECRET, 2]}, {"text": {SECRET: 2}},
]  # fmt: skip


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream", "/translate"])
def test_invalid_bodies_are_refused_and_not_repeated(server, path):
    for body in INVALID:
        status, _, raw = server.request("POST", path, json.dumps(body).encode())
        assert status == 400, body
        check_error(path, raw)
        assert not path.startswith("/v1/") or error_of(raw)["code"] == "invalid_request"
        assert SECRET.encode() not in raw


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ({"txt": "a"}, "text: Field required. Unknown field 'txt'; did you mean 'text'?"),
        ({"text": "a", "bean": 2}, "Unknown field 'bean'; did you mean 'beam'?"),
        ({"text": "a", SECRET: 2}, "Unknown field; /openapi.json lists the fields."),
    ],
)
def test_a_misspelt_field_is_named_with_the_known_one(server, body, message):
    for path in ("/v1/translate", "/v1/translate/stream"):
        raw = server.request("POST", path, body)[2]
        assert error_of(raw) == {"code": "invalid_request", "message": message}


def mutated_bodies(count, seed):
    """Valid bodies with a few random edits."""
    rng = random.Random(seed)
    valid = [
        b'{"text": "how are you", "beam": 2, "nbest": 2}', b'{"text": ["a", "\\u0915"]}',
        b'{"q": "a", "source": "en", "target": "hi"}', b'{"text": "a", "deadline": 1.5}',
    ]  # fmt: skip
    odd = [
        b"\x00", b"\xff", b"\\ud800", b"NaN", b"1e999", b"-0", b'"', b"{", b"}", b"[", b",", b":",
        b"\\", b"\xe0\xa4", b"null", b"true", b"\xed\xa0\x80", b"1" * 400, b" " * 50, b"\r\n",
    ]  # fmt: skip
    for _ in range(count):
        raw = bytearray(rng.choice(valid))
        for _ in range(rng.randint(1, 4)):
            at = rng.randrange(len(raw) + 1)
            match rng.randrange(4):
                case 0:
                    raw[at:at] = rng.choice(odd)
                case 1:
                    del raw[at : at + rng.randint(1, 8)]
                case 2:
                    raw[at : at + 1] = bytes([rng.randrange(256)])
                case _:
                    raw[at:at] = raw[: rng.randint(0, 20)]
        yield bytes(raw)


@pytest.mark.parametrize(
    "count", [500, pytest.param(20_000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_mutated_bodies_get_200_or_400(server, count):
    statuses = set()
    for number, raw in enumerate(mutated_bodies(count, seed=count)):
        path = ("/v1/translate", "/v1/translate/stream", "/translate")[number % 3]
        status, _, response = server.request("POST", path, raw)
        statuses.add(status)
        assert status in (200, 400), raw
        if status == 400:
            check_error(path, response)
    assert statuses == {200, 400}
    print(f"{count:,} mutated bodies: only {sorted(statuses)}")


def test_a_body_of_another_content_type_is_refused(server):
    for content_type in (
        "text/plain",
        "",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ):
        headers = {"content-type": content_type}
        response = server.request("POST", "/v1/translate", b'{"text": "a"}', headers)
        assert response[0] == 415
        assert error_of(response[2])["code"] == "unsupported_media_type"
    headers = {"content-type": "application/json; charset=utf-8"}
    assert server.request("POST", "/v1/translate", b'{"text": "a"}', headers)[0] == 200


def test_other_paths_and_methods_get_the_error_body(server):
    assert error_of(server.request("GET", "/v2")[2])["code"] == "not_found"
    for method in ("GET", "PUT", "PATCH", "DELETE", "OPTIONS"):
        status, headers, raw = server.request(method, "/v1/translate")
        assert (status, headers["allow"]) == (405, "POST")
        assert error_of(raw)["code"] == "method_not_allowed"
