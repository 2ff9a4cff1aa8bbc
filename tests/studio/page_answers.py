"""Answers of the server and of a page with a model inside, compared: equal but for rounding."""

import base64

import numpy as np

TOLERANCE = 2e-4  # of what float32 sums in another order may differ by, relative to the largest


def assert_alike(found, expected, place=""):
    """Texts and counts are equal, numbers and packed tensors close."""
    if isinstance(expected, dict) and {"shape", "data"} <= expected.keys():
        assert found["shape"] == expected["shape"], place
        close(unpack(found), unpack(expected), place)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), place
        for key in expected.keys() - {"data"}:
            assert_alike(found[key], expected[key], f"{place}.{key}")
    elif isinstance(expected, list):
        assert len(found) == len(expected), place
        for index, (own, other) in enumerate(zip(found, expected, strict=True)):
            assert_alike(own, other, f"{place}[{index}]")
    elif isinstance(expected, float):
        close(np.array([found]), np.array([expected]), place)
    else:
        assert found == expected, place


def unpack(tensor):
    return np.frombuffer(base64.b64decode(tensor["data"]), dtype="<f4")


def close(found, expected, place):
    largest = max(1.0, float(np.abs(expected).max(initial=0)))
    assert np.abs(found - expected).max(initial=0) <= TOLERANCE * largest, place
