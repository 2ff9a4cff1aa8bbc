"""The error body."""

import json

import pytest

from dhyan.web.errors import ApiError


@pytest.mark.parametrize("letter", ["y", "क", "😀", "\x00", '"', "\ud800"])
def test_a_message_is_shortened(letter):
    error = ApiError(400, "x", letter * 10_000)
    assert len(error.body()) < 1100
    assert 80 <= len(error.message) <= 500
    assert ApiError(400, "x", 20 * letter).message == 20 * letter


def test_headers_follow_from_status_and_wait():
    headers = dict(ApiError(429, "x", "y", retry_after=2.4).raw_headers())
    assert headers[b"retry-after"] == b"2"
    assert headers[b"cache-control"] == b"no-store"
    assert dict(ApiError(401, "x", "y").raw_headers())[b"www-authenticate"] == b"Bearer"


def test_an_error_is_an_object_or_its_message():
    error = ApiError(400, "x", "y")
    assert json.loads(error.body()) == {"error": {"code": "x", "message": "y"}}
    assert json.loads(error.body(as_string=True)) == {"error": "y"}
    for as_string in (False, True):
        headers = dict(error.raw_headers(as_string=as_string))
        assert int(headers[b"content-length"]) == len(error.body(as_string=as_string))
