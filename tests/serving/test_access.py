"""Who is let in: by host, by origin, by path and by key, whatever the method."""

import hashlib
import http.client
import itertools
import json
import math
import statistics
import time
from contextlib import closing
from dataclasses import replace

import pytest

from dhyan.serving.api_keys import Keys, add_key
from tests.serving.running_server import served

METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")
OWN = ("127.0.0.1:{port}", "localhost:{port}", "[::1]:{port}", "LOCALHOST:{port}", "example.org")
FOREIGN = (
    "127.0.0.1", "localhost:1", "evil.example:{port}", "127.0.0.1.evil.example:{port}",
    "example.org:{port}", "", "127.0.0.1:{port}.", "user@127.0.0.1:{port}",
)  # fmt: skip
OWN_ORIGINS = (None, "http://{host}")
FOREIGN_ORIGINS = (
    "null", "", "http://evil.example", "https://{host}", "http://{host}.evil.example",
    "http://{host}/",
)  # fmt: skip
BODY = json.dumps({"text": "a"}).encode()


@pytest.fixture(scope="module")
def keyed(tmp_path_factory):
    """A server that needs a key, and the key."""
    folder = tmp_path_factory.mktemp("keyed")
    key = add_key(folder / "keys", "one")
    given = {"keys": str(folder / "keys"), "names": ["example.org"], "watched": True}
    with served(folder, **given) as running:
        yield running, key


def ask(running, method, headers, path="/v1/translate"):
    """Exactly these headers: no host but what they say."""
    with closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=10)) as one:
        one.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            one.putheader(name, value)
        body = BODY if method == "POST" else b""
        one.putheader("content-length", str(len(body)))
        one.putheader("content-type", "application/json")
        one.endheaders(body)
        answer = one.getresponse()
        return answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read()


def wanted(method, known, ours, keyed):
    """The one cell that passes is asked under a known name, by no page, with a key."""
    if not known or not ours:
        return 403
    if not keyed:
        return 401
    return 200 if method == "POST" else 405


def test_only_the_documented_cells_of_host_and_origin_pass(keyed):
    running, key = keyed
    cells = itertools.product((*OWN, *FOREIGN), (*OWN_ORIGINS, *FOREIGN_ORIGINS), METHODS, (0, 1))
    count = 0
    for host, origin, method, with_key in cells:
        named = host.format(port=running.port)
        headers = {"host": named}
        if origin is not None:
            headers["origin"] = origin.format(host=named)
        if with_key:
            headers["authorization"] = f"Bearer {key}"
        status, given, _ = ask(running, method, headers)
        assert status == wanted(method, host in OWN, origin in OWN_ORIGINS, with_key), headers
        assert not any(name.startswith("access-control") for name in given)
        count += 1
    assert count == 13 * 8 * 7 * 2


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_what_a_browser_says_comes_from_another_page_is_refused(keyed, site):
    running, key = keyed
    headers = {"host": f"127.0.0.1:{running.port}", "authorization": f"Bearer {key}"}
    for method in METHODS:
        assert ask(running, method, {**headers, "sec-fetch-site": site})[0] == 403


def test_two_hosts_or_none_are_refused(keyed):
    running, _ = keyed
    port = running.port
    for hosts in ("", f"host: 127.0.0.1:{port}\r\nhost: 127.0.0.1:{port}\r\n"):
        answer = running.raw(f"GET /livez HTTP/1.1\r\n{hosts}connection: close\r\n\r\n".encode())
        assert answer.startswith(b"HTTP/1.1 400 ")
        assert b'"malformed"' in answer


@pytest.mark.parametrize(
    "given",
    [
        "", "Bearer", "Bearer ", "Bearer x", "Basic eA==", "bearer ключ", "Bearer " + "x" * 8000,
        "Bearer \u00ff", "Bearer a b", "one",
    ],
)  # fmt: skip
def test_a_wrong_key_opens_nothing(keyed, given):
    running, _ = keyed
    for path in ("/v1/translate", "/v1/translate/stream", "/metrics", "/v1/models", "/nowhere"):
        headers = {"host": f"127.0.0.1:{running.port}", "authorization": given.encode()}
        status, told, raw = ask(running, "POST", headers, path)
        assert status == 401
        assert told["www-authenticate"] == "Bearer"
        assert given[8:] not in raw.decode() or not given[8:]


def test_a_key_in_the_body_opens_what_libretranslate_has_there(keyed):
    running, key = keyed
    body = {"q": "a", "source": "en", "target": "hi"}
    for given, status in ((key, 200), ("x", 401), ("", 401), (None, 401), ("x" * 1024, 401)):
        assert running.ask("POST", "/translate", {**body, "api_key": given})[0] == status
    assert running.ask("POST", "/translate", body)[0] == 401
    large = running.ask("POST", "/translate", {**body, "api_key": "x" * 2**20})
    assert large[0] == 413


def test_health_needs_no_key_and_tells_nothing(keyed):
    running, _ = keyed
    for path in ("/livez", "/readyz"):
        status, _, raw = running.ask("GET", path)
        assert (status, len(raw) < 10) == (200, True)


def test_metrics_are_told_to_this_machine_without_a_key_on_a_port_of_their_own(keyed):
    running, key = keyed
    own = replace(running, port=running.watched)
    assert own.metrics().keys() == running.metrics({"authorization": f"Bearer {key}"}).keys()
    assert running.ask("GET", "/metrics")[0] == 401
    for path in ("/v1/translate", "/v1/models", "/livez", "/openapi.json", "/"):
        assert own.ask("GET", path)[0] == 404
    for host in ("evil.example", f"127.0.0.1:{running.port}", "example.org"):
        assert ask(own, "GET", {"host": host}, "/metrics")[0] == 403


@pytest.mark.parametrize(
    "tries", [2000, pytest.param(10_000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_the_time_of_a_comparison_tells_nothing_of_the_key(tmp_path, tries):
    key = add_key(tmp_path / "keys", "one")
    keys = Keys({"one": hashlib.sha256(key.encode()).digest()})
    near, far = key[:-1] + ("A" if key[-1] != "A" else "B"), "x" * len(key)
    times = {near: [], far: []}
    for turn in range(tries):
        for one in (near, far) if turn % 2 else (far, near):
            began = time.perf_counter_ns()
            keys.owner(one)
            times[one].append(time.perf_counter_ns() - began)
    few = [sorted(own)[: tries * 9 // 10] for own in times.values()]  # less what was interrupted
    gap = statistics.fmean(few[0]) - statistics.fmean(few[1])
    error = math.sqrt(sum(statistics.variance(own) / len(own) for own in few))
    assert abs(gap) / error < 4 or abs(gap) < 20  # nanoseconds


PATHS = [
    "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/%252e%252e/etc",
    "/%c0%ae%c0%ae/etc/passwd", "//etc/passwd", "/v1/models/%00", "/v1/models%00.json",
    "/v1/translate/../../x", "/\\\\host\\share", "/%5c%5chost%5cshare", "/file:///etc/passwd",
    "/v1//models", "/v1/models/", "/./livez", "/static/../x", "/%ff%fe", "/v1/translate;x=1",
    "/openapi.json/..", "/" + "a" * 4000, "/%u0041", "/~root", "/.git/config", "/docs", "/redoc",
]  # fmt: skip


def test_no_path_leads_to_a_file(server):
    for path in PATHS:
        answer = server.raw(
            f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\nconnection: close\r\n\r\n"
            .encode()
        )  # fmt: skip
        assert answer.split(b" ", 2)[1] in (b"404", b"400"), path
        assert b"root:" not in answer
        assert len(answer) < 2048


def test_a_query_changes_nothing(server):
    for query in ("?x=../../etc/passwd", "?q=%00", "?" + "a=b&" * 500, "?%ff", "?text=b"):
        status, _, raw = server.ask("POST", f"/v1/translate{query}", {"text": "a"})
        assert (status, json.loads(raw)["translations"][0][0]["text"]) == (200, "A")
