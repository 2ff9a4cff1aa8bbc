"""BLEU by sentence length: held-out sentences, scores, cache and progress."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from dhyan.compare.test_sets import Sizes, primer_tests
from dhyan.evaluation.metrics import count
from dhyan.studio import training_coverage
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.routes import bleu_by_length
from tests.studio.small_models import ALL

PER_BUCKET = 3


def events(response):
    """Names and data of the events of a stream."""
    for block in response.text.strip().split("\n\n"):
        name, data = block.split("\n", 1)
        yield name.removeprefix("event: "), json.loads(data.removeprefix("data: "))


def post(client, **fields):
    return list(events(client.post("/api/length", json={"per_bucket": PER_BUCKET, **fields})))


@pytest.fixture(scope="module")
def cache():
    return bleu_by_length.LengthCache()


@pytest.fixture(scope="module")
def stream(models, cache):
    request = bleu_by_length.LengthRequest(model="transformer", per_bucket=PER_BUCKET)
    return list(bleu_by_length._evaluate(ModelRegistry(models), cache, request))


def test_progress_counts_up_to_all_sentences(stream):
    done = [data["done"] for name, data in stream if name == "translating"]
    assert done == sorted(done)
    assert done[-1] == stream[-1][1]["all"]["sentences"]
    assert [name for name, _ in stream].count("done") == 1
    assert stream[-1][0] == "done"


def test_buckets_hold_sentences_of_their_lengths_beyond_those_of_training(stream):
    result = stream[-1][1]
    assert result["trained_words"] == ALL["data.max_words"]
    assert result["buckets"][-1]["min_words"] > result["trained_words"]
    for bucket in result["buckets"]:
        assert bucket["sentences"] >= PER_BUCKET - 1
        for sentence in bucket["worst"] + bucket["best"]:
            assert bucket["min_words"] <= len(sentence["source"].split()) <= bucket["max_words"]


def test_no_test_sentence_is_a_training_sentence(models, stream):
    sources = {
        sentence["source"]
        for bucket in stream[-1][1]["buckets"]
        for sentence in bucket["worst"] + bucket["best"]
    }
    recipe = training_coverage.recipe_of(ModelRegistry(models).get("transformer"))
    assert sources
    assert not sources & set(Path(recipe.data.source).read_text().splitlines())


def test_scores_have_intervals_and_sacrebleu_signatures(stream):
    result = stream[-1][1]
    assert "bs:1000" in result["signature"]
    assert "tok:intl" in result["signature"]
    assert "eff:yes" in result["sentence_signature"]
    for bucket in result["buckets"]:
        assert bucket["low"] <= bucket["value"] <= bucket["high"]


def test_examples_are_the_translations_of_the_translate_view(client, stream):
    example = stream[-1][1]["buckets"][1]["best"][0]
    body = {"text": example["source"], "model": "transformer", "beam": 1}
    translation = client.post("/api/translate", json=body).json()["translation"]
    assert example["translation"]
    assert translation.startswith(
        example["translation"]
    )  # by length, one without end is cut off sooner


def test_perfect_translations_score_100_and_empty_ones_0(stream):
    sentences = primer_tests(longest=12, sizes=Sizes(4, 0, 0), splits=()).sets[0].examples
    perfect = bleu_by_length._scores(
        sentences, [sentence.target for sentence in sentences], "hi", trained_words=8
    )
    empty = bleu_by_length._scores(sentences, ["" for _ in sentences], "hi", trained_words=8)
    assert perfect["all"]["value"] == pytest.approx(100)
    assert perfect["all"]["sentences"] == sum(
        perfect[which]["sentences"] for which in ("within", "beyond")
    )
    assert all(
        sentence["score"] == pytest.approx(100) for sentence in perfect["buckets"][0]["worst"]
    )
    assert empty["all"]["value"] == 0


def test_a_bucket_scores_its_own_sentences():
    sentences = primer_tests(longest=10, sizes=Sizes(4, 0, 0), splits=()).sets[0].examples
    translations = [
        sentence.target if row % 2 else "हाथी घर जाता है।" for row, sentence in enumerate(sentences)
    ]
    first = bleu_by_length._scores(sentences, translations, "hi", trained_words=0)["buckets"][0]
    rows = [
        row
        for row, sentence in enumerate(sentences)
        if len(sentence.source.split()) <= first["max_words"]
    ]
    alone = count(
        [translations[row] for row in rows],
        [sentences[row].target for row in rows],
        others=[sentences[row].others for row in rows],
        language="hi",
        metrics=("bleu",),
    )
    assert first["value"] == pytest.approx(alone["bleu"].value())
    assert first["worst"][0]["score"] < first["best"][0]["score"]


def test_other_requests_run_between_two_chunks(models):
    registry, cache = ModelRegistry(models), bleu_by_length.LengthCache()
    model = registry.get("bahdanau")
    working = cache.translate(
        model, 1, ["The man runs."] + [f"The man sees {n} dogs." for n in "ab"]
    )
    next(working)
    next(working)
    assert not model._lock.locked()
    with model.translator() as translator:
        assert translator("The man runs.")


def test_translation_stops_when_the_client_disconnects(models, monkeypatch):
    monkeypatch.setattr(bleu_by_length, "HYPOTHESES_PER_CALL", 1)
    registry, cache = ModelRegistry(models), bleu_by_length.LengthCache()
    model = registry.get("luong")
    working = cache.translate(model, 1, ["The man runs.", "The boy eats.", "The girl sings."])
    assert [next(working), next(working)] == [0, 1]
    working.close()
    again = cache.translate(model, 1, ["The man runs.", "The boy eats.", "The girl sings."])
    assert next(again) == 1


def test_a_result_is_cached(models, cache, stream):
    request = bleu_by_length.LengthRequest(model="transformer", per_bucket=PER_BUCKET)
    again = list(bleu_by_length._evaluate(ModelRegistry(models), cache, request))
    assert again == [stream[-1]]


def test_unknown_models_and_invalid_counts_are_refused(client):
    [(name, data)] = post(client, model="nobody")
    assert name == "error"
    assert "nobody" in data["message"]
    assert client.post("/api/length", json={"per_bucket": 100_000}).status_code == 400


@pytest.mark.parametrize("data", [{"synthetic": "reverse"}, {"target_language": "fr"}])
def test_a_model_of_another_task_or_language_is_not_measured(models, cache, monkeypatch, data):
    registry = ModelRegistry(models)
    recipe = training_coverage.recipe_of(registry.get("luong"))
    other = replace(recipe, data=replace(recipe.data, **data))
    monkeypatch.setattr(bleu_by_length, "recipe_of", lambda model: other)
    request = bleu_by_length.LengthRequest(model="luong", per_bucket=PER_BUCKET)
    answer = list(bleu_by_length._evaluate(registry, cache, request))
    assert answer == [("done", {"model": "luong", "unsuited": True})]


def test_the_trained_length_comes_from_the_recipe_or_the_training_text(models, tmp_path):
    recipe = training_coverage.recipe_of(ModelRegistry(models).get("luong"))
    (tmp_path / "text").write_text("We sing.\nThe dog saw the cat.\n")
    (tmp_path / "packed").write_bytes(b"\x1f\x8b\xff")

    def of(**data):
        return training_coverage.trained_length(replace(recipe, data=replace(recipe.data, **data)))

    assert of() == ALL["data.max_words"]
    assert of(max_words=0, source=str(tmp_path / "text")) == 5
    assert of(max_words=0, source=str(tmp_path / "packed")) == 0
    assert of(max_words=0, source=str(tmp_path / "gone")) == 0
    assert of(max_words=0, synthetic="primer") == 60
    assert of(synthetic="primer", source_language="hi", target_language="en") == 0


def test_the_core_share_is_what_vocabularies_and_recipes_allow(models, monkeypatch):
    registry = ModelRegistry(models[:1])
    assert training_coverage.core_share_for(registry) == min(
        training_coverage.CORE_SHARES
    )  # a small vocabulary
    recipe = training_coverage.recipe_of(registry.get("bottleneck"))
    primer = replace(recipe, data=replace(recipe.data, synthetic="primer", core_share=0.4))
    monkeypatch.setattr(training_coverage, "recipe_of", lambda model: primer)
    assert training_coverage.core_share_for(registry) == 0.4


def test_a_training_sentence_is_not_tested(models, monkeypatch):
    sentences = bleu_by_length.LengthCache().sentences(
        (2, 5), PER_BUCKET, core=0.15, backwards=False
    )
    monkeypatch.setattr(
        bleu_by_length, "training_sentences", lambda registry: {sentences[0].source}
    )
    monkeypatch.setattr(bleu_by_length, "_buckets", lambda: iter([(2, 5)]))
    request = bleu_by_length.LengthRequest(model="luong", per_bucket=PER_BUCKET)
    *_, (_, result) = bleu_by_length._evaluate(
        ModelRegistry(models), bleu_by_length.LengthCache(), request
    )
    assert result["all"]["sentences"] == len(sentences) - 1
    assert training_coverage.training_sentences(ModelRegistry(models))


def test_the_maximum_length_follows_from_the_sentence(models):
    model = ModelRegistry(models).get("luong")
    with model.translator() as translator:
        short, long = (bleu_by_length._max_length(translator, "a " * size) for size in (9, 100))
    assert short == 2 * 10 + 10
    assert long == bleu_by_length.MAX_TOKENS
