"""Several models in one server: chosen by name or language pair, ready and counted each."""

import json
import os
import signal

import pytest

from tests.serving.running_server import running_server
from tests.serving.test_shutdown import wait_not_ready, worker_pids

MODELS = {
    "en-hi": {"languages": ["en", "hi"]},
    "hi-en": {"languages": ["hi", "en"]},
    "en-hi-large": {"languages": ["en", "hi"], "beam": 4},
}


@pytest.fixture(scope="module")
def several(tmp_path_factory):
    """A server of three models."""
    with running_server(tmp_path_factory.mktemp("several"), models=MODELS) as running:
        yield running


def test_every_model_is_listed(several):
    cards = json.loads(several.request("GET", "/v1/models")[2])["models"]
    assert [card["name"] for card in cards] == list(MODELS)
    assert [card["beam"] for card in cards] == [1, 1, 4]


@pytest.mark.parametrize(
    ("fields", "model"),
    [
        ({"model": "en-hi"}, "en-hi"), ({"model": "en-hi-large"}, "en-hi-large"),
        ({"source_language": "hi", "target_language": "en"}, "hi-en"),
        ({"source_language": "en", "target_language": "hi"}, "en-hi"),
        ({"target_language": "en"}, "hi-en"),
        ({"model": "en-hi-large", "source_language": "en"}, "en-hi-large"),
    ],
)  # fmt: skip
def test_a_model_is_chosen_by_name_or_languages(several, fields, model):
    status, body = several.translate("a", **fields)
    assert (status, body["model"]) == (200, model)
    raw = several.request("POST", "/v1/translate/stream", {"text": "a", **fields})[2]
    assert b"event: done" in raw


@pytest.mark.parametrize(
    ("fields", "status", "code"),
    [
        ({}, 400, "invalid_request"),
        ({"model": "other"}, 404, "model_not_found"),
        ({"model": "en-hi", "source_language": "hi"}, 404, "model_not_found"),
        ({"source_language": "de", "target_language": "hi"}, 404, "model_not_found"),
    ],
)
def test_a_choice_that_fits_no_model_is_refused(several, fields, status, code):
    for path in ("/v1/translate", "/v1/translate/stream"):
        got, _, raw = several.request("POST", path, {"text": "a", **fields})
        assert (got, json.loads(raw)["error"]["code"]) == (status, code)


@pytest.fixture(scope="module")
def unknown(tmp_path_factory):
    """A server of one model whose languages are not known."""
    models = {"one": {"languages": ["und", "und"], "words": {"und": ["a"]}}}
    with running_server(tmp_path_factory.mktemp("unknown"), models=models) as running:
        yield running


def test_a_single_model_of_unknown_languages_accepts_any(unknown):
    for fields in ({}, {"source_language": "en", "target_language": "vi"}, {"model": "one"}):
        assert unknown.translate("a", **fields)[0] == 200
    for source in ("en", "auto", "und"):
        body = {"q": "a", "source": source, "target": "vi"}
        assert unknown.request("POST", "/translate", body)[0] == 200


def test_unknown_languages_are_reported_and_logged(unknown):
    languages = json.loads(unknown.request("GET", "/languages")[2])
    assert languages == [{"code": "und", "name": "Unknown", "targets": ["und"]}]
    log = unknown.stderr.read_text()
    assert log.count("data.source_language and data.target_language") == 1
    schemas = json.loads(unknown.request("GET", "/openapi.json")[2])["components"]["schemas"]
    assert "pattern" not in schemas["LibreTranslateRequest"]["properties"]["source"]


def test_a_model_of_unknown_languages_must_be_named_among_several(tmp_path):
    models = {"en-hi": MODELS["en-hi"], "other": {"languages": ["und", "und"]}}
    pair = {"source_language": "en", "target_language": "vi"}
    with running_server(tmp_path, models=models) as running:
        assert running.translate("a", **pair)[0] == 404
        assert running.translate("a", model="other", **pair)[0] == 200


def test_libretranslate_clients_choose_by_languages(several):
    before = several.metrics(by_model=True)
    for source, target in (("en", "hi"), ("hi", "en"), ("auto", "en")):
        body = {"q": "घर", "source": source, "target": target}
        assert several.request("POST", "/translate", body)[0] == 200
    after = several.metrics(by_model=True)
    done = 'dhyan_requests_total{{model="{}",outcome="done"}}'
    counts = [after[done.format(name)] - before[done.format(name)] for name in MODELS]
    assert counts == [1, 2, 0]
    languages = json.loads(several.request("GET", "/languages")[2])
    assert [(language["code"], language["targets"]) for language in languages] == [
        ("en", ["hi"]),
        ("hi", ["en"]),
    ]


def test_every_metric_of_a_model_has_its_name(several):
    several.translate("a", model="hi-en")
    samples = several.metrics(by_model=True)
    for name in MODELS:
        assert samples[f'dhyan_ready{{model="{name}"}}'] == 1
        assert samples[f'dhyan_worker_starts{{model="{name}"}}'] == 1
    assert samples['dhyan_tokens_total{model="hi-en"}'] >= 1
    labelled = [sample for sample in samples if not sample.startswith("dhyan_responses")]
    assert all('model="' in sample for sample in labelled)


def test_the_schema_asks_for_a_choice(several, server):
    document = several.request("GET", "/openapi.json")[2]
    schemas = json.loads(document)["components"]["schemas"]
    for name in ("TranslateRequest", "StreamRequest"):
        without_choice = schemas[name]["not"]["anyOf"][-1]["properties"]
        assert set(without_choice) == {"model", "source_language", "target_language"}
    assert schemas["TranslateRequest"]["examples"][0]["model"] == "en-hi"
    assert len(schemas["LibreTranslateRequest"]["not"]["anyOf"]) == 2  # en to en, hi to hi
    assert not [name for name, schema in schemas.items() if "anyOf" in schema]
    single = json.loads(server.request("GET", "/openapi.json")[2])["components"]["schemas"]
    assert "not" not in single["StreamRequest"]
    assert "not" not in single["LibreTranslateRequest"]
    assert several.request("GET", "/openapi.json")[2] == document


@pytest.mark.slow
def test_one_dead_worker_leaves_the_other_models_at_work(tmp_path):
    models = {name: MODELS[name] for name in ("en-hi", "hi-en")}
    with running_server(tmp_path, models=models, settings={"restart_delay": 0.1}) as running:
        pids = worker_pids(running)
        assert len(pids) == 2
        raw = running.request("POST", "/v1/translate", {"text": "!kill", "model": "hi-en"})[2]
        assert b"model_not_ready" in raw
        assert running.translate("a", model="en-hi")[0] == 200
        running.wait_until_ready()
        assert running.translate("a", model="hi-en")[0] == 200
        os.kill(pids[0], 0)  # the first worker was not restarted


@pytest.mark.slow
def test_readiness_needs_every_model(tmp_path):
    models = {**MODELS, "broken": {"error": "no such folder"}}
    with running_server(tmp_path, models=models, ready=False) as running:
        wait_not_ready(running, "broken: no such folder")
        while running.translate("a", model="en-hi")[0] != 200:  # until it is loaded
            pass
        status, body = running.translate("a", model="broken")
        assert (status, body["error"]["code"]) == (503, "model_not_ready")
        running.process.send_signal(signal.SIGTERM)
        assert running.process.wait(60) == 0
