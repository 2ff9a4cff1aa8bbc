"""Fuzzing: schemathesis by the OpenAPI document, and random bytes on the socket."""

import random
import re
import socket
import subprocess
import sys
from contextlib import closing, suppress

import pytest

from tests.serving.running_server import ROOT, running_server
from tests.tiny_models import environment

SOAK = [pytest.mark.slow, pytest.mark.soak]
ONE = {"fixed": {}}
SEVERAL = {"en-hi": {"languages": ["en", "hi"]}, "hi-en": {"languages": ["hi", "en"]}}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("each", "least", "phases", "models"),
    [
        (5, 300, "coverage,fuzzing", ONE),
        (5, 300, "examples,coverage,fuzzing", SEVERAL),
        pytest.param(3500, 10_000, "examples,coverage,fuzzing,stateful", ONE, marks=SOAK),
    ],
    ids=["one model", "several models", "long"],
)
def test_schemathesis_finds_no_failure(tmp_path, each, least, phases, models):
    """All its checks: no 5xx, nothing undocumented; a body too large is refused as such."""
    config = tmp_path / "schemathesis.toml"
    config.write_text('[checks.negative_data_rejection]\nexpected-statuses = ["4xx", "5xx"]\n')
    with running_server(tmp_path, models=models) as running:
        options = ("--checks", "all", "-n", str(each), "--seed", "1", "--phases", phases)
        result = subprocess.run(
            [sys.executable, "-m", "schemathesis.cli", "--config-file", config, "run", *options,
             "--generation-database", "none", f"http://127.0.0.1:{running.port}/openapi.json"],
            capture_output=True, text=True, cwd=ROOT, env=environment(),
        )  # fmt: skip
        assert result.returncode == 0, result.stdout[-40000:]
        [cases] = map(int, re.findall(r"(\d+) generated", result.stdout))
        assert cases >= least
        print(f"{cases:,} cases, all checks of schemathesis, 0 failures")
        counts = running.metrics()
    statuses = {name for name in counts if name.startswith("dhyan_responses_total")}
    assert not [name for name in statuses if '"50' in name and '"503"' not in name]
    assert counts["dhyan_worker_starts"] == 1


LINES = [
    b"GET /livez HTTP/1.1", b"POST /v1/translate HTTP/1.1", b"DELETE /translate HTTP/1.1",
    b"GET /%00 HTTP/1.0", b"OPTIONS * HTTP/1.1", b"CONNECT x:1 HTTP/1.1", b"GET http://x/ HTTP/1.1",
    b"POST /translate HTTP/1.1", b"GET /metrics HTTP/1.1", b"PRI * HTTP/2.0", b"get / http/1.1",
]  # fmt: skip
HEADERS = [
    b"host: 127.0.0.1:%d", b"content-length: 10", b"content-length: -1", b"content-length: 1, 1",
    b"transfer-encoding: chunked", b"transfer-encoding: gzip, chunked", b"expect: 100-continue",
    b"connection: upgrade", b"upgrade: websocket", b"content-type: application/json",
    b"connection: close", b"x: \x00", b": x", b"x", b" folded", b"authorization: Bearer \xff",
    b"origin: null", b"te: trailers", b"range: bytes=0-,0-,0-", b"content-encoding: gzip",
]  # fmt: skip
BODIES = [
    b'{"text": "a"}',
    b"5\r\nhello\r\n0\r\n\r\n",
    b"ffffffff\r\n",
    b"\x00" * 50,
    b"",
    b"{" * 200,
]


def mutated_request(rng, port):
    """Valid parts in wrong places, with some bytes changed."""
    lines = [rng.choice(LINES), *rng.choices(HEADERS, k=rng.randint(0, 6))]
    if rng.random() < 0.7:
        lines.insert(1, HEADERS[0])
    end = rng.choice([b"\r\n", b"\r\n", b"\r\n", b"\n", b"\r"])
    raw = end.join(lines).replace(b"%d", b"%d" % port) + 2 * end + rng.choice(BODIES)
    if rng.random() < 0.3:
        changed = bytearray(raw)
        for _ in range(rng.randint(1, 5)):
            changed[rng.randrange(len(changed))] = rng.randrange(256)
        raw = bytes(changed)
    return raw


@pytest.mark.parametrize("count", [400, pytest.param(20_000, marks=SOAK)])
def test_random_bytes_break_nothing(tmp_path, count):
    short = {"header_timeout": 0.2, "body_timeout": 0.2, "keep_alive_timeout": 0.2}
    rng = random.Random(count)
    with running_server(tmp_path, connection=short) as running:
        for _ in range(count):
            with closing(running.connect()) as connection, suppress(OSError):
                connection.sendall(mutated_request(rng, running.port))
                if rng.random() < 0.5:
                    connection.shutdown(socket.SHUT_WR)
                    connection.settimeout(60)
                    response = connection.recv(65536)
                    assert not response or re.match(rb"HTTP/1\.1 [1-4]\d\d ", response), response
        running.wait_until_ready()
        assert running.translate("still here")[0] == 200
        assert running.metrics()["dhyan_open_requests"] == 0
        assert "Traceback" not in running.stderr.read_text()
