"""Access: host, origin, path and API key whatever the method; key file and rate limit."""

import hashlib
import hmac
import http.client
import itertools
import json
import math
import stat
import statistics
import time
from contextlib import closing
from dataclasses import replace

import pytest

from dhyan.errors import UserError
from dhyan.serving.access import ApiKeys, RateLimiter, add_key, read_keys
from tests.serving.running_server import running_server

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
    """A server that requires an API key, and the key."""
    folder = tmp_path_factory.mktemp("keyed")
    key = add_key(folder / "keys", "one")
    options = {"keys": str(folder / "keys"), "names": ["example.org"], "metrics_port": True}
    with running_server(folder, **options) as running:
        yield running, key


def request(running, method, headers, path="/v1/translate"):
    """Send exactly these headers: no host but theirs."""
    with closing(http.client.HTTPConnection("127.0.0.1", running.port, timeout=30)) as connection:
        connection.putrequest(method, path, skip_host=True, skip_accept_encoding=True)
        for name, value in headers.items():
            connection.putheader(name, value)
        body = BODY if method == "POST" else b""
        connection.putheader("content-length", str(len(body)))
        connection.putheader("content-type", "application/json")
        connection.endheaders(body)
        response = connection.getresponse()
        response_headers = {name.lower(): value for name, value in response.getheaders()}
        return response.status, response_headers, response.read()


def expected_status(method, own_host, own_origin, with_key):
    """Only POST to an own host name, from no other page, with an API key passes."""
    if not own_host or not own_origin:
        return 403
    if not with_key:
        return 401
    return 200 if method == "POST" else 405


def test_only_own_hosts_and_origins_with_a_key_pass(keyed):
    running, key = keyed
    cells = itertools.product((*OWN, *FOREIGN), (*OWN_ORIGINS, *FOREIGN_ORIGINS), METHODS, (0, 1))
    count = 0
    for host, origin, method, with_key in cells:
        name = host.format(port=running.port)
        headers = {"host": name}
        if origin is not None:
            headers["origin"] = origin.format(host=name)
        if with_key:
            headers["authorization"] = f"Bearer {key}"
        status, response_headers, _ = request(running, method, headers)
        expected = expected_status(method, host in OWN, origin in OWN_ORIGINS, with_key)
        assert status == expected, headers
        assert not any(name.startswith("access-control") for name in response_headers)
        count += 1
    assert count == 13 * 8 * 7 * 2


@pytest.mark.parametrize("site", ["cross-site", "same-site", "odd"])
def test_a_cross_site_fetch_is_refused(keyed, site):
    running, key = keyed
    headers = {"host": f"127.0.0.1:{running.port}", "authorization": f"Bearer {key}"}
    for method in METHODS:
        assert request(running, method, {**headers, "sec-fetch-site": site})[0] == 403


def test_codes_tell_a_foreign_host_from_a_foreign_origin(keyed):
    running, _ = keyed
    address = f"127.0.0.1:{running.port}"
    assert b'"forbidden_host"' in request(running, "GET", {"host": "evil.example"})[2]
    assert b'"forbidden_origin"' in request(running, "GET", {"host": address, "origin": "null"})[2]


def test_two_hosts_or_none_are_refused(keyed):
    running, _ = keyed
    port = running.port
    for hosts in ("", f"host: 127.0.0.1:{port}\r\nhost: 127.0.0.1:{port}\r\n"):
        head = f"GET /livez HTTP/1.1\r\n{hosts}connection: close\r\n\r\n"
        response = running.send_raw(head.encode())
        assert response.startswith(b"HTTP/1.1 400 ")
        assert b'"invalid_request"' in response


@pytest.mark.parametrize(
    "authorization",
    [
        "", "Bearer", "Bearer ", "Bearer x", "Basic eA==", "bearer ключ", "Bearer " + "x" * 8000,
        "Bearer \u00ff", "Bearer a b", "one",
    ],
)  # fmt: skip
def test_a_wrong_key_is_unauthorized_everywhere(keyed, authorization):
    running, _ = keyed
    for path in ("/v1/translate", "/v1/translate/stream", "/metrics", "/v1/models", "/nowhere"):
        headers = {
            "host": f"127.0.0.1:{running.port}", "authorization": authorization.encode()
        }  # fmt: skip
        status, response_headers, raw = request(running, "POST", headers, path)
        assert status == 401
        assert response_headers["www-authenticate"] == "Bearer"
        assert authorization[8:] not in raw.decode() or not authorization[8:]


def test_libretranslate_clients_may_send_the_key_in_the_body(keyed):
    running, key = keyed
    body = {"q": "a", "source": "en", "target": "hi"}
    for sent, status in ((key, 200), ("x", 401), ("", 401), (None, 401), ("x" * 1024, 401)):
        assert running.request("POST", "/translate", {**body, "api_key": sent})[0] == status
    assert running.request("POST", "/translate", body)[0] == 401
    large = running.request("POST", "/translate", {**body, "api_key": "x" * 2**20})
    assert large[0] == 413


def test_health_needs_no_key_and_reveals_nothing(keyed):
    running, _ = keyed
    for path in ("/livez", "/readyz"):
        status, _, raw = running.request("GET", path)
        assert (status, len(raw) < 10) == (200, True)


def test_the_metrics_port_is_for_this_machine_and_needs_no_key(keyed):
    running, key = keyed
    metrics_server = replace(running, port=running.metrics_port)
    assert (
        metrics_server.metrics().keys()
        == running.metrics({"authorization": f"Bearer {key}"}).keys()
    )
    assert running.request("GET", "/metrics")[0] == 401
    for path in ("/v1/translate", "/v1/models", "/livez", "/openapi.json", "/"):
        assert metrics_server.request("GET", path)[0] == 404
    for host in ("evil.example", f"127.0.0.1:{running.port}", "example.org"):
        assert request(metrics_server, "GET", {"host": host}, "/metrics")[0] == 403


def test_a_key_is_compared_with_every_known_hash(monkeypatch):
    compared = []

    def compare(left, right):
        compared.append((len(left), len(right)))
        return hmac_compare(left, right)

    hmac_compare = hmac.compare_digest
    monkeypatch.setattr("dhyan.serving.access.hmac.compare_digest", compare)
    names = ("first", "second", "third")
    keys = ApiKeys({name: hashlib.sha256(name.encode()).digest() for name in names})
    for key in (*names, "", "x" * 1000):
        compared.clear()
        assert keys.client(key) == (key if key in names else "")
        assert compared == [(32, 32)] * 3


@pytest.mark.soak
def test_the_time_of_a_comparison_reveals_nothing_of_the_key(tmp_path):
    key, tries = add_key(tmp_path / "keys", "one"), 10_000
    keys = ApiKeys({"one": hashlib.sha256(key.encode()).digest()})
    near, far = key[:-1] + ("A" if key[-1] != "A" else "B"), "x" * len(key)
    times = {near: [], far: []}
    for turn in range(tries):
        for guess in (near, far) if turn % 2 else (far, near):
            start = time.perf_counter_ns()
            keys.client(guess)
            times[guess].append(time.perf_counter_ns() - start)
    usual = [sorted(seconds)[: tries * 9 // 10] for seconds in times.values()]  # less interruptions
    gap = statistics.fmean(usual[0]) - statistics.fmean(usual[1])
    error = math.sqrt(sum(statistics.variance(seconds) / len(seconds) for seconds in usual))
    assert abs(gap) / error < 4 or abs(gap) < 20  # nanoseconds


def test_only_the_exact_key_is_known(tmp_path):
    path = tmp_path / "keys"
    keys = {name: add_key(path, name) for name in ("one", "two")}
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert not any(key in path.read_text() for key in keys.values())
    known = read_keys(path)
    assert [known.client(key) for key in keys.values()] == ["one", "two"]
    wrong = ["", " ", "one", keys["one"][:-1], keys["one"] + " ", keys["one"].swapcase()]
    assert not any(known.client(key) for key in [*wrong, "ключ", "\ud800", "x" * 2**20])
    assert not ApiKeys().client("")
    with pytest.raises(UserError, match="one has a key already"):
        add_key(path, "one")


def test_a_key_is_added_on_a_line_of_its_own(tmp_path):
    path = tmp_path / "keys"
    first = add_key(path, "one")
    path.write_text(path.read_text().rstrip("\n"))
    second = add_key(path, "two")
    known = read_keys(path)
    assert (known.client(first), known.client(second)) == ("one", "two")
    path.write_text("")
    add_key(path, "three")
    assert read_keys(path).hashes.keys() == {"three"}


@pytest.mark.parametrize(
    "content", ["", "\n\n", "one", "one zz", "one  " + "a" * 63, "../x " + "a" * 64, "a b c"]
)
def test_a_file_without_valid_keys_is_refused(tmp_path, content):
    path = tmp_path / "keys"
    path.write_text(content)
    with pytest.raises(UserError, match="--add-key"):
        read_keys(path)


def test_a_rate_limiter_is_a_token_bucket(monkeypatch):
    now = [100.0]
    monkeypatch.setattr("dhyan.serving.access.time.monotonic", lambda: now[0])
    limiter = RateLimiter(rate=100, burst_seconds=10)
    assert limiter.take("a", 1000) == 0
    assert limiter.take("a", 50) == pytest.approx(0.5)
    assert limiter.take("b", 50) == 0
    now[0] += 0.5
    assert limiter.take("a", 50) == 0
    assert limiter.take("a", 1) > 0
    now[0] += 1000
    assert limiter.take("a", 5000) == 0  # more than the capacity: allowed, and the level negative
    assert limiter.take("a", 1) == pytest.approx(40.01)
    limiter.give_back("a", 5000)
    assert limiter.take("a", 1000) == 0
    assert RateLimiter(0, 10).take("a", 10**9) == 0


def test_a_rate_limiter_remembers_a_bounded_number_of_clients():
    limiter = RateLimiter(1, 1)
    for number in range(10_000):
        limiter.take(str(number), 1)
    assert len(limiter._buckets) <= 4096


PATHS = [
    "/../etc/passwd", "/%2e%2e/%2e%2e/etc/passwd", "/..%2f..%2fetc/passwd", "/%252e%252e/etc",
    "/%c0%ae%c0%ae/etc/passwd", "//etc/passwd", "/v1/models/%00", "/v1/models%00.json",
    "/v1/translate/../../x", "/\\\\host\\share", "/%5c%5chost%5cshare", "/file:///etc/passwd",
    "/v1//models", "/v1/models/", "/./livez", "/static/../x", "/%ff%fe", "/v1/translate;x=1",
    "/openapi.json/..", "/" + "a" * 4000, "/%u0041", "/~root", "/.git/config", "/docs", "/redoc",
]  # fmt: skip


def test_no_path_leads_to_a_file(server):
    for path in PATHS:
        head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{server.port}\r\nconnection: close\r\n\r\n"
        response = server.send_raw(head.encode())
        assert response.split(b" ", 2)[1] in (b"404", b"400"), path
        assert b"root:" not in response
        assert len(response) < 2048


def test_a_query_string_changes_nothing(server):
    for query in ("?x=../../etc/passwd", "?q=%00", "?" + "a=b&" * 500, "?%ff", "?text=b"):
        status, _, raw = server.request("POST", f"/v1/translate{query}", {"text": "a"})
        assert (status, json.loads(raw)["translations"][0][0]["text"]) == (200, "A")
