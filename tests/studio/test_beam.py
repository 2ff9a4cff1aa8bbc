"""Beam tree and prediction by layer, as the page gets them."""

import pytest

from dhyan.studio.registry import ModelRegistry
from dhyan.studio.request_job import Job, JobCancelledError, current_job
from dhyan.studio.routes.beam import BeamRequest, tree_of

SENTENCE = {"text": "The bank of the river is far."}
MODELS = ["bottleneck", "bahdanau", "luong", "transformer", "sutskever"]


def post(client, path, **fields):
    response = client.post(path, json={**SENTENCE, **fields})
    assert response.status_code == 200, response.text
    return response.json()


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("beam", [1, 4])
def test_the_best_leaf_is_the_translation(client, model, beam):
    tree = post(client, "/api/beam", model=model, beam=beam)
    trace = post(client, "/api/translate", model=model, beam=beam)
    best = tree["nodes"][tree["results"][0]]
    assert best["text"] == trace["translation"]
    assert best["score_by_length"] == pytest.approx(trace["score"], abs=1e-4)
    greedy = post(client, "/api/translate", model=model, beam=1)
    assert tree["greedy_text"] == greedy["translation"]
    assert tree["greedy_score"] == pytest.approx(greedy["score"], abs=1e-5)


@pytest.mark.parametrize("model", MODELS[1:4])
def test_attention_of_the_winner_is_that_of_its_trace(client, model):
    from dhyan.insight.trace import Trace

    tree = post(client, "/api/beam", model=model, beam=4)
    response = client.post("/api/translate", json={**SENTENCE, "model": model, "beam": 4})
    trace = Trace.from_json(response.text)
    maps = [trace.map(attention, words=False) for attention in trace.of_role("cross")]
    mean = sum(attention.weights.mean(0) for attention in maps) / len(maps)
    words = [token.word for token in trace.source.tokens]
    node, path = tree["results"][0], []
    while node > 0:
        node = tree["nodes"][node]["parent"]
        path.insert(0, node)
    assert list(trace.source.words) == tree["source"]
    for row, parent in zip(mean.tolist(), path, strict=True):
        by_word = [0.0] * len(tree["source"])
        for weight, word in zip(row, words, strict=True):
            by_word[word] += weight
        assert tree["nodes"][parent]["attention"] == pytest.approx(by_word, abs=1e-4)


def test_where_greedy_search_parts_from_the_winner_is_in_the_tree(client):
    for model in MODELS:
        tree = post(client, "/api/beam", model=model, beam=8)
        path, node = [], tree["results"][0]
        while node > 0:
            path.insert(0, node)
            node = tree["nodes"][node]["parent"]
        winner = [tree["nodes"][node]["token"] for node in path]
        same = 0
        while same < min(len(winner), len(tree["greedy"])) and (
            winner[same] == tree["greedy"][same]
        ):
            same += 1
        if winner != tree["greedy"]:
            assert len(tree["greedy_path"]) > same


def test_a_model_without_attention_has_no_attention_in_its_tree(client):
    tree = post(client, "/api/beam", model="sutskever", beam=2)
    assert not any(node["attention"] for node in tree["nodes"])


@pytest.mark.parametrize(
    ("fields", "message"), [({"text": " "}, "empty"), ({"text": "a " * 200}, "at most 128")]
)
def test_sentences_that_do_not_fit_are_refused(client, fields, message):
    response = client.post("/api/beam", json={**SENTENCE, **fields})
    assert response.status_code == 400
    assert message in response.json()["error"]["message"]


def test_the_search_of_a_client_that_is_gone_stops(models):
    with ModelRegistry(models).get("transformer").translator() as translator:
        with current_job(Job()) as job:
            job.cancelled.set()
            with pytest.raises(JobCancelledError):
                tree_of(translator, BeamRequest(**SENTENCE))
        assert tree_of(translator, BeamRequest(**SENTENCE)).results


@pytest.mark.parametrize("beam", [0, 9, "4"])
def test_beams_that_do_not_fit_are_refused(client, beam):
    assert client.post("/api/beam", json={**SENTENCE, "beam": beam}).status_code == 400


def test_the_last_layer_has_the_alternatives_of_the_trace(client):
    lens = post(client, "/api/layers", model="transformer")
    trace = post(client, "/api/translate", model="transformer")
    assert len(lens["layers"]) == 3
    assert lens["outputs"] == [token["text"] for token in trace["target"]["tokens"]]
    for cell, step, output in zip(lens["layers"][-1], trace["steps"], lens["outputs"], strict=True):
        probs = [prob for _, prob in cell["top_tokens"]]
        assert probs == pytest.approx([prob for _, prob in step["top_tokens"]], abs=1e-4)
        assert cell["top_is_output"] == (cell["top_tokens"][0][0] == output)
        assert cell["top_is_output"] == (cell["rank"] == 1)


@pytest.mark.parametrize("model", ["bahdanau", "luong", "sutskever"])
def test_recurrent_models_have_no_prediction_by_layer(client, model):
    assert post(client, "/api/layers", model=model)["layers"] is None
