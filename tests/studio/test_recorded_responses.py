"""Recorded responses are those of the server, and their tensors lose nothing."""

import json
from functools import cache

import numpy as np
import pytest
from safetensors.numpy import load

from dhyan.pretrained import model_folder
from dhyan.quantization import SCALE, dequantize, quantize
from dhyan.studio import sentence_page
from dhyan.studio.recorded_responses import record, whole_numbers
from dhyan.studio.registry import ModelRegistry
from dhyan.studio.schemas import TranslateRequest
from dhyan.studio.sentence_page import export_sentence
from tests.studio.page_answers import assert_alike, unpack

SENTENCE = "the man reads the book"


@pytest.fixture(scope="module")
def registry(models):
    return ModelRegistry(models)


@pytest.fixture(scope="module")
def recording_of(registry):
    """The recording of a model, made at its first use."""
    return cache(lambda model: record(registry, TranslateRequest(text=SENTENCE, model=model)))


def read(value, tensors):
    """A recorded response with its tensors as arrays."""
    if isinstance(value, list):
        return [read(item, tensors) for item in value]
    if not isinstance(value, dict):
        return value
    if "tensor" not in value:
        return {name: read(item, tensors) for name, item in value.items()}
    tensor = tensors[value["tensor"]]
    if tensor.dtype == np.int8:
        tensor = tensor * tensors[value["tensor"] + SCALE][:, None]
    return (tensor.T if value.get("transposed") else tensor).reshape(value["shape"])


def assert_equal(found, expected):
    if isinstance(expected, dict) and expected.keys() == {"shape", "data"}:
        assert found.dtype == np.float32
        assert list(found.shape) == expected["shape"]
        assert np.array_equal(found.ravel(), unpack(expected))
    elif isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for name in expected:
            assert_equal(found[name], expected[name])
    elif isinstance(expected, list):
        assert len(found) == len(expected)
        for own, other in zip(found, expected, strict=True):
            assert_equal(own, other)
    else:
        assert_alike(found, expected)


@pytest.mark.parametrize(
    ("model", "path", "choices"),
    [
        ("bahdanau", "/api/step", {}),
        ("luong", "/api/activations", {}),
        ("transformer", "/api/activations", {}),
        ("transformer", "/api/layers", {}),
        ("transformer", "/api/padding", {}),
        ("transformer", "/api/beam", {"beam": 3}),
        ("transformer", "/api/leak", {"position": 2, "masked": False}),
        ("transformer", "/api/head", {"role": "cross", "layer": 2, "head": 1}),
        ("transformer", "/api/heads/importance", {"role": "decoder_self"}),
        ("transformer", "/api/heads/ablation", {"role": "encoder_self", "layer": 1, "head": 2}),
    ],
)
def test_a_recorded_response_is_that_of_the_server(client, recording_of, model, path, choices):
    recording = recording_of(model)
    response = client.post(path, json={"text": SENTENCE, "model": model, **choices})
    assert response.status_code == 200
    key = " ".join((path, *(str(value).lower() for value in choices.values())))
    found = read(json.loads(json.dumps(recording.responses[key])), load(recording.to_bytes()))
    assert_equal(found, response.json())


def test_weights_of_a_pretrained_model_are_recorded_in_int8():
    registry = ModelRegistry([model_folder("en-hi-bahdanau")])
    recording = record(registry, TranslateRequest(text="The bird sings."))
    step = recording.responses["/api/step"]
    tensors = load(recording.to_bytes())
    for layer in ("query_layer", "key_layer"):
        assert tensors[step[layer]["weight"]["tensor"]].dtype == np.int8


def test_whole_numbers_are_found_again_with_their_scales():
    torch = pytest.importorskip("torch")
    weight = torch.randn(40, 64, generator=torch.Generator().manual_seed(3))
    weight[7] = 0
    [stored] = dequantize(quantize({"weight": weight}, "int8")).values()
    for matrix in (stored.numpy(), stored.numpy()[:, 10:60], -stored.numpy()):
        whole, scales = whole_numbers(matrix)
        assert whole.dtype == np.int8
        assert scales.dtype == np.float32
        assert np.array_equal(whole * scales[:, None], matrix)
    assert whole_numbers(weight.numpy()) is None


def test_operands_that_make_the_page_too_large_are_left_out(registry, monkeypatch):
    monkeypatch.setattr(sentence_page, "MAIL_BYTES", 1)
    page = export_sentence(registry, TranslateRequest(text=SENTENCE, model="transformer"))
    text = page.partition('id="embedded-responses">')[2].partition("</script>")[0]
    views = set(json.loads(text)["/api/models"][0]["views"])
    assert not {"head", "tour"} & views
    assert {"heads", "beam"} <= views
