"""Quantised weights: near the originals, the same after saving and loading, checked by header."""

import io
import json
from math import prod

import numpy
import pytest
import torch

from dhyan.checkpoint import tensors_from_bytes, tensors_to_bytes, weights_from_bytes
from dhyan.errors import UserError
from dhyan.quantization import (
    LARGEST,
    PRECISIONS,
    SCALE,
    dequantize,
    is_finite,
    quantize,
    stored_shapes,
)
from dhyan.safe_io.safetensors_header import read_header

SHAPES = {"matrix": (7, 33), "kernel": (5, 3, 4), "row": (1, 9), "bias": (17,), "number": ()}


@pytest.fixture
def weights():
    weights = {name: torch.randn(shape) for name, shape in SHAPES.items()}
    weights["matrix"][2] = 0.0
    weights["matrix"][3] *= 1e-6
    return weights


def header_of(tensors):
    data = tensors_to_bytes(tensors)
    return data, read_header(io.BytesIO(data), len(data))


@pytest.mark.parametrize("precision", LARGEST)
def test_a_weight_is_within_half_a_scale_of_the_original(weights, precision):
    tensors = quantize(weights, precision)
    for name, weight in dequantize(tensors).items():
        if weight.dim() < 2:
            assert tensors[name].dtype == torch.float16
            torch.testing.assert_close(weight, weights[name], rtol=2**-11, atol=2**-24)
            continue
        assert tensors[name].dtype == torch.int8
        scale = tensors[name + SCALE].view(-1, *[1] * (weight.dim() - 1))
        assert ((weight - weights[name]).abs() <= scale * 0.5001).all()


@pytest.mark.parametrize("precision", PRECISIONS)
def test_stored_weights_are_the_same_after_loading(weights, precision):
    tensors = quantize(weights, precision)
    loaded = weights_from_bytes(tensors_to_bytes(tensors))
    assert loaded.keys() == weights.keys()
    for name, weight in dequantize(tensors).items():
        assert loaded[name].dtype == torch.float32
        assert torch.equal(loaded[name], weight)
    again = quantize(loaded, precision)
    for name, weight in dequantize(again).items():
        torch.testing.assert_close(weight, loaded[name], rtol=1e-6, atol=0)


def test_whole_numbers_are_a_quarter_of_the_size():
    weights = {"matrix": torch.randn(256, 256)}
    sizes = {own: len(tensors_to_bytes(quantize(weights, own))) for own in PRECISIONS}
    assert sizes["int8"] < 0.27 * sizes["float32"]
    assert sizes["float16"] < 0.51 * sizes["float32"]
    assert sizes["int6"] == sizes["int8"]


@pytest.mark.parametrize("precision", PRECISIONS)
def test_the_header_tells_the_shapes(weights, precision):
    data, header = header_of(quantize(weights, precision))
    assert stored_shapes(header) == SHAPES
    assert is_finite(data, header)


def test_what_float16_cannot_hold_is_refused():
    with pytest.raises(UserError, match="'bias' holds a weight beyond float16"):
        quantize({"bias": torch.tensor([1e6])}, "int8")


def test_an_unknown_precision_is_refused():
    with pytest.raises(UserError, match="precision 'int3': give one of float32"):
        quantize({}, "int3")


WHOLE, SCALES = torch.ones(4, 3, dtype=torch.int8), torch.ones(4)
WRONG = {
    "no scale": {"a": WHOLE},
    "scale of nothing": {"a": torch.ones(4), "b:scale": SCALES},
    "scale of a float": {"a": torch.ones(4, 3), "a:scale": SCALES},
    "scale of a scale": {"a": WHOLE, "a:scale": SCALES, "a:scale:scale": SCALES.clone()},
    "too few scales": {"a": WHOLE, "a:scale": SCALES[:3]},
    "a scale for each weight": {"a": WHOLE, "a:scale": torch.ones(4, 3)},
    "a half scale": {"a": WHOLE, "a:scale": SCALES.half()},
    "a quantised vector": {"a": WHOLE[0], "a:scale": SCALES[:3]},
    "a quantised number": {"a": WHOLE[0, 0], "a:scale": SCALES[0]},
    "double": {"a": torch.ones(4, 3, dtype=torch.float64)},
    "bfloat16": {"a": torch.ones(4, 3, dtype=torch.bfloat16)},
    "bytes": {"a": torch.ones(4, 3, dtype=torch.uint8), "a:scale": SCALES},
}


@pytest.mark.parametrize("tensors", WRONG.values(), ids=WRONG)
def test_tensors_that_store_no_weights_are_refused(tensors):
    with pytest.raises(UserError):
        stored_shapes(header_of(tensors)[1])


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, 1e38])
def test_a_scale_that_makes_a_weight_infinite_is_found(value):
    tensors = {"a": WHOLE, "a:scale": SCALES * value}
    assert not is_finite(*header_of(tensors))
    assert is_finite(*header_of({"a": WHOLE, "a:scale": SCALES}))


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
def test_a_number_that_is_not_finite_is_found_in_each_type(dtype):
    tensors = {"a": torch.ones(3), "b": torch.tensor([1.0, torch.nan], dtype=dtype)}
    assert not is_finite(*header_of(tensors))


def test_the_bytes_are_those_of_the_safetensors_format(weights):
    data = tensors_to_bytes(quantize(weights, "int8"))
    length = int.from_bytes(data[:8], "little")
    entry = json.loads(data[8 : 8 + length])["matrix"]
    assert entry["dtype"] == "I8"
    assert entry["data_offsets"][1] - entry["data_offsets"][0] == prod(SHAPES["matrix"])
    assert set(tensors_from_bytes(data)) == {*SHAPES, "matrix:scale", "kernel:scale", "row:scale"}
