"""Clients that disconnect cancel their work, wherever it is, and the counts add up."""

import json
import threading
import time
from contextlib import closing

import pytest

from tests.serving.running_server import running_server

OUTCOMES = ("done", "expired", "cancelled", "failed")
NEVER = 600  # seconds, more than any test waits


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A worker slow enough to disconnect from."""
    load = {"each": 0.05}
    settings = {"batch_capacity": 64, "queue_capacity": 100_000, "cancel_timeout": NEVER}
    with running_server(tmp_path_factory.mktemp("slow"), load=load, settings=settings) as running:
        yield running


def begin(running, text, path="/v1/translate", **options):
    """A connection with a request that is running."""
    body = json.dumps({"text": text, **options}).encode()
    connection = running.connect()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{running.port}\r\n"
    extra_headers = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    connection.sendall((head + extra_headers).encode() + body)
    return connection


def counts(running):
    """Requests by outcome, open requests, and texts in the queue."""
    samples = running.metrics()
    outcomes = {
        outcome: samples[f'dhyan_requests_total{{outcome="{outcome}"}}']
        for outcome in ("accepted", *OUTCOMES)
    }
    waiting = samples["dhyan_queue_texts"]
    return {**outcomes, "open": samples["dhyan_open_requests"], "waiting": waiting}


def wait_for(running, condition, timeout=60):
    """The counts once a condition on them holds."""
    deadline = time.monotonic() + timeout
    while not condition(current := counts(running)):
        assert time.monotonic() < deadline, current
        time.sleep(0.02)
    return current


def idle(running):
    """The counts once no request is open."""
    return wait_for(running, lambda current: not current["open"])


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream"])
def test_a_running_search_ends_when_its_client_disconnects(slow, path):
    before = idle(slow)
    connection = begin(slow, f"!slow {NEVER}", path, deadline=60)
    wait_for(slow, lambda current: current["open"] and not current["waiting"])
    connection.close()
    assert slow.translate("next", deadline=60)[0] == 200
    assert idle(slow)["cancelled"] == before["cancelled"] + 1


def test_a_cancelled_text_does_not_end_the_others_of_its_batch(slow):
    blocker = begin(slow, "!slow 0.5")
    wait_for(slow, lambda current: current["open"] and not current["waiting"])
    responses = []
    threads = [
        threading.Thread(target=lambda n=n: responses.append(slow.translate(f"stays {n}")))
        for n in range(5)
    ]
    for thread in threads:
        thread.start()
    begin(slow, "leaves").close()
    for thread in threads:
        thread.join()
    blocker.close()
    texts = {body["translations"][0][0]["text"] for _, body in responses}
    assert texts == {f"STAYS {n}" for n in range(5)}


def test_an_unread_stream_delays_no_one(slow):
    before = idle(slow)
    with closing(begin(slow, "a " * 2500, "/v1/translate/stream", deadline=60)):
        assert slow.translate("next", deadline=60)[0] == 200
        after = idle(slow)
    assert after["done"] == before["done"] + 2


@pytest.mark.parametrize(
    "times", [60, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_counts_add_up_whenever_clients_disconnect(slow, times):
    before = idle(slow)
    for number in range(times):
        path = "/v1/translate/stream" if number % 3 == 0 else "/v1/translate"
        deadline = 0.1 if number % 5 == 0 else 5
        connection = begin(slow, f"text {number}", path, deadline=deadline)
        time.sleep((0, 0.005, 0.02)[number % 3])
        if number % 4 == 0:
            connection.recv(100)
        connection.close()
    after = idle(slow)
    gained = {name: after[name] - before[name] for name in after}
    assert gained["accepted"] == sum(gained[outcome] for outcome in OUTCOMES)
    assert gained["cancelled"] > 0
    assert after["open"] == after["waiting"] == 0
    assert slow.translate("still here")[0] == 200
    summary = ", ".join(f"{gained[outcome]:.0f} {outcome}" for outcome in OUTCOMES)
    print(f"{times:,} clients disconnected: {summary}")


def test_a_deadline_passes_in_the_queue_too(slow):
    idle(slow)
    with closing(begin(slow, f"!slow {NEVER}", deadline=60)):
        wait_for(slow, lambda current: current["open"] and not current["waiting"])
        status, body = slow.translate("late", deadline=0.15)
        assert status in (504, 429)
        assert body["error"]["code"] in ("deadline_exceeded", "overloaded")
        assert counts(slow)["open"]  # the search before it still runs
