"""Strict bodies: what is not plain JSON or a plain form is refused."""

import pytest

from dhyan.web.body_format import parse_form, parse_json
from dhyan.web.errors import ApiError

REFUSED = [
    b"", b"{", b"nul", b'{"a": NaN}', b'{"a": 1e400}', b'{"a": -Infinity}', b'{"a":1,"a":2}',
    b'"\\ud800"', b'{"\\udc00": 1}', b"\xff\xfe{\x00}\x00", b'\xef\xbb\xbf{"a":1}', b'"\xff"',
    b"[" * 100_000, b'{"a":' * 100_000, b"1" * 5000, b'{"a": 01}', b"{'a': 1}", b'"\x00"', b"\x00",
]  # fmt: skip


@pytest.mark.parametrize("raw", REFUSED, ids=lambda raw: repr(raw[:12]))
def test_what_is_not_strict_json_is_refused(raw):
    with pytest.raises(ApiError) as error:
        parse_json(raw)
    assert (error.value.status_code, error.value.code) == (400, "invalid_request")
    assert len(error.value.body()) < 200


def test_strict_json_is_decoded():
    assert parse_json(b'{"a": [1, 2.5, "\\u0915\\ud83d\\ude00", null]}') == {
        "a": [1, 2.5, "क😀", None]
    }


@pytest.mark.parametrize("raw", [b"q", b"q=%ff", b"\xff=1", b"&".join([b"a=b"] * 30)])
def test_what_is_not_a_form_is_refused(raw):
    with pytest.raises(ApiError):
        parse_form(raw)
