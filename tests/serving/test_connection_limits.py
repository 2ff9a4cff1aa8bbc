"""Connection limits: slow, silent, oversized and excess connections are closed."""

import asyncio
import json
import os
import re
import select
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from benchmarks.load_generator import Client, percentiles, request
from tests.serving.running_server import running_server

SHORT = {"header_timeout": 0.5, "body_timeout": 0.5, "keep_alive_timeout": 0.5}
GIB = 2**30
GOOD_CLIENTS = 50


@pytest.fixture(scope="module")
def hasty(tmp_path_factory):
    """A server with timeouts of half a second."""
    with running_server(tmp_path_factory.mktemp("hasty"), connection=SHORT) as running:
        yield running


def peak_megabytes(process, *, reset=False):
    """Peak memory of a process, since its counter was reset."""
    if reset:
        Path(f"/proc/{process.pid}/clear_refs").write_text("5")
    status = Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(r"VmHWM:\s+(\d+) kB", status)[1]) / 1024


def open_files(process):
    """How many descriptors a process has open."""
    return len(os.listdir(f"/proc/{process.pid}/fd"))


def head(port, extra=""):
    """The headers of a request, without their end."""
    return f"POST /v1/translate HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\n{extra}"


def good_replies(running, seconds):
    """Replies to fifty clients, each sending again a little after its reply."""
    replies = []

    async def send_repeatedly(client, number):
        body = request(running.port, "/v1/translate", {"text": "good"})
        end = time.perf_counter() + seconds
        await asyncio.sleep(0.3 * number / GOOD_CLIENTS)
        while time.perf_counter() < end:
            replies.append(await client.send(body, time.perf_counter()))
            await asyncio.sleep(0.3)

    async def run_all():
        clients = [Client(running.port) for _ in range(GOOD_CLIENTS)]
        await asyncio.gather(*map(send_repeatedly, clients, range(GOOD_CLIENTS)))
        for client in clients:
            client.close()

    asyncio.run(run_all())
    return replies


def is_closed(connection, timeout):
    """Whether the server closes within a time; what it sends is discarded."""
    connection.settimeout(timeout)
    try:
        while connection.recv(65536):
            pass
    except TimeoutError:
        return False
    except OSError:
        return True
    return True


def attack(running, each, pause=0.0):
    """Slow headers, slow bodies and silence, so many connections of each."""
    port, connections = running.port, []
    sized = head(port, "content-type: application/json\r\ncontent-length: 1000\r\n\r\n{")
    for _ in range(each):
        for data in (head(port, "x: ").encode(), sized.encode(), b""):
            connection = running.connect()
            connection.sendall(data)
            connections.append(connection)
            time.sleep(pause)
    return connections


@pytest.mark.parametrize(
    ("each", "seconds"),
    [(100, 1), pytest.param(500, 8, marks=[pytest.mark.slow, pytest.mark.soak])],
)
def test_slow_headers_slow_bodies_and_silence_are_closed(hasty, each, seconds):
    before = good_replies(hasty, seconds)
    with ThreadPoolExecutor(1) as pool:
        attacking = pool.submit(attack, hasty, each, 0.5 * seconds / each / 3)
        during = good_replies(hasty, seconds)
        connections = attacking.result()
    deadline = time.monotonic() + 60
    still_open = sum(
        not is_closed(connection, max(0.01, deadline - time.monotonic()))
        for connection in connections
    )
    for connection in connections:
        connection.close()
    assert still_open == 0
    assert len(during) >= GOOD_CLIENTS
    assert {reply.status for reply in during} == {200}
    if each > 100:
        usual, now = (
            percentiles([reply.seconds for reply in replies])["p99"] for replies in (before, during)
        )
        print(f"p99 {usual} ms, beside {3 * each} slow connections {now} ms")
        assert now <= max(1.5 * usual, 50)


def test_a_trickle_does_not_extend_the_deadline(hasty):
    with closing(hasty.connect()) as connection:
        connection.sendall(head(hasty.port).encode())
        connection.settimeout(0.05)
        for _ in range(1200):
            connection.sendall(b"x: y\r\n")
            try:
                assert connection.recv(65536).startswith(b"HTTP/1.1 408 ")
            except TimeoutError:
                continue
            break
        else:
            pytest.fail("the connection is still open")


def test_a_timeout_has_the_error_body(hasty):
    extra_headers = "content-type: application/json\r\ncontent-length: 10\r\n\r\n"
    response = hasty.send_raw(head(hasty.port, extra_headers).encode())
    assert response.startswith(b"HTTP/1.1 408 ")
    assert b'"request_timeout"' in response
    refused = hasty.send_raw(head(hasty.port, "content-length: 10\r\n\r\n").encode())
    assert refused.startswith(b"HTTP/1.1 415 ")
    assert refused.count(b"HTTP/1.1") == 1  # one response, though the body never comes


def test_a_connection_is_kept_alive_for_a_while(server, hasty):
    body = json.dumps({"text": "a"}).encode()
    extra_headers = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    with closing(server.connect()) as connection:
        for _ in range(3):
            connection.sendall(head(server.port, extra_headers).encode() + body)
            assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
    with closing(hasty.connect()) as connection:
        connection.sendall(head(hasty.port, extra_headers).encode() + body)
        assert connection.recv(65536).startswith(b"HTTP/1.1 200 ")
        assert is_closed(connection, 60)


def push(connection, chunk, total):
    """Send until there is a response: the bytes sent, and the response."""
    sent = 0
    connection.setblocking(False)
    while sent < total:
        readable, writable, _ = select.select([connection], [connection], [], 60)
        if readable:
            break
        if writable:
            sent += connection.send(chunk[sent % len(chunk) :])
    connection.settimeout(60)
    return sent, connection.recv(65536)


@pytest.mark.parametrize(
    ("extra", "chunk", "statuses"),
    [
        (f"content-length: {GIB}\r\n\r\n", b"x" * 65536, (b"413",)),
        ("transfer-encoding: chunked\r\n\r\n", b"10000\r\n" + b"x" * 65536 + b"\r\n", (b"413",)),
        ("transfer-encoding: chunked\r\n\r\n", b"1\r\nx\r\n" * 10_000, (b"413",)),
        ("", b"a: b\r\n" * 10_000, (b"431", b"400")),
        ("x: ", b"y" * 65536, (b"431", b"400")),
        (f"content-length: {'9' * 5000}\r\n\r\n", b"x" * 1000, (b"431", b"413", b"400")),
    ],
    ids=["1 GiB", "endless", "endless small", "10⁶ headers", "a long header", "a long number"],
)
def test_an_oversized_request_is_refused_while_it_arrives(server, extra, chunk, statuses):
    extra_headers = "content-type: application/json\r\n"
    before = peak_megabytes(server.process, reset=True)
    with closing(server.connect()) as connection:
        connection.sendall(head(server.port, extra_headers + extra).encode())
        sent, response = push(connection, chunk, GIB)
    assert response.split(b" ", 2)[1] in statuses
    assert sent < 64 * 2**20
    assert peak_megabytes(server.process) - before < 10
    assert server.translate("next")[0] == 200


def test_a_client_that_stops_sending_reads_the_error(server):
    extra_headers = f"content-type: application/json\r\ncontent-length: {GIB}\r\n\r\n"
    with closing(server.connect()) as connection:
        connection.sendall(head(server.port, extra_headers).encode() + b"x" * 100_000)
        connection.settimeout(60)
        assert connection.recv(65536).startswith(b"HTTP/1.1 413 ")


def test_large_headers_in_one_write_are_refused(server):
    large = f"connection: close\r\nx: {'y' * 60_000}\r\n\r\n"
    response = server.send_raw(head(server.port, large).encode())
    assert response.startswith(b"HTTP/1.1 431 ")
    many = "".join(f"a{number}: b\r\n" for number in range(500))
    response = server.send_raw(head(server.port, f"{many}connection: close\r\n\r\n").encode())
    assert response.startswith(b"HTTP/1.1 431 ")


@pytest.mark.parametrize(
    "data",
    [
        b"\r\n\r\n\r\n", b"GET\r\n\r\n", b"\x16\x03\x01\x02\x00\x01", b"GET / HTTP/9.9\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\nzzz",
        b"\x00" * 100,
    ],
)  # fmt: skip
def test_invalid_http_is_refused(server, data):
    with closing(server.connect()) as connection:
        connection.sendall(data)
        connection.shutdown(socket.SHUT_WR)
        connection.settimeout(60)
        response = connection.recv(65536)
    assert not response or response.split(b" ", 2)[1] in (b"400", b"403", b"431", b"505")
    assert server.request("GET", "/livez")[0] == 200


def test_excess_connections_get_an_error(tmp_path):
    limits = {"max_connections": 20, "header_timeout": 600.0}
    with running_server(tmp_path, connection=limits) as running, ExitStack() as stack:
        for _ in range(20):
            stack.enter_context(closing(running.connect()))
        status, _, raw = running.request("GET", "/livez")
        assert (status, json.loads(raw)["error"]["code"]) == (503, "too_many_connections")


def test_no_descriptor_is_leaked(hasty):
    assert settled_files(hasty.process)
    before = settled_files(hasty.process)
    for connection in attack(hasty, 20):
        connection.close()
    for _ in range(20):
        hasty.translate("a")
    assert settled_files(hasty.process, at_most=before) <= before


def settled_files(process, at_most=0):
    """Open descriptors once they are few, or do not change for a second."""
    count, unchanged = open_files(process), 0
    while count > at_most and unchanged < 10:
        time.sleep(0.1)
        unchanged = unchanged + 1 if open_files(process) == count else 0
        count = open_files(process)
    return count
