"""Clients that leave take their work along, wherever it is, and the counts add up."""

import json
import threading
import time
from contextlib import closing

import pytest

from tests.serving.running_server import served

ENDS = ("done", "expired", "cancelled", "failed")


@pytest.fixture(scope="module")
def slow(tmp_path_factory):
    """A model that takes long enough to be left."""
    load, settings = {"each": 0.05}, {"batch": 64, "queue": 100_000}
    with served(tmp_path_factory.mktemp("slow"), load=load, settings=settings) as running:
        yield running


def begin(running, text, path="/v1/translate", **more):
    """A connection with a request under way."""
    body = json.dumps({"text": text, **more}).encode()
    one = running.connect()
    head = f"POST {path} HTTP/1.1\r\nhost: 127.0.0.1:{running.port}\r\n"
    kind = f"content-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
    one.sendall((head + kind).encode() + body)
    return one


def counts(running):
    """Requests by what became of them."""
    found = running.metrics()
    return {end: found[f'dhyan_requests_total{{end="{end}"}}'] for end in ("accepted", *ENDS)} | {
        "open": found["dhyan_open_requests"],
        "waiting": found["dhyan_queue_texts"],
    }


def settled(running, within=5):
    """The counts once nothing is under way."""
    until = time.monotonic() + within
    while (found := counts(running))["open"] and time.monotonic() < until:
        time.sleep(0.02)
    return found


@pytest.mark.parametrize("path", ["/v1/translate", "/v1/translate/stream"])
def test_work_that_nobody_waits_for_stops_at_once(slow, path):
    before = settled(slow)
    one = begin(slow, "!slow 30", path)
    time.sleep(0.3)
    one.close()
    began = time.monotonic()
    assert slow.translate("next")[0] == 200
    assert time.monotonic() - began < 0.6  # a step of a hundredth, and the next batch
    assert settled(slow)["cancelled"] == before["cancelled"] + 1


def test_a_text_that_left_does_not_end_the_others_of_its_batch(slow):
    blocker = begin(slow, "!slow 0.3")
    time.sleep(0.1)
    found = []
    good = [
        threading.Thread(target=lambda n=n: found.append(slow.translate(f"stays {n}")))
        for n in range(5)
    ]
    for one in good:
        one.start()
    time.sleep(0.05)
    begin(slow, "leaves").close()
    for one in good:
        one.join()
    blocker.close()
    texts = {body["translations"][0][0]["text"] for _, body in found}
    assert texts == {f"STAYS {n}" for n in range(5)}


def test_a_stream_that_nobody_reads_holds_no_one_up(slow):
    before = settled(slow)
    with closing(begin(slow, "a " * 2500, "/v1/translate/stream")):
        assert slow.translate("next")[0] == 200
        until = time.monotonic() + 5
        while (after := counts(slow))["open"] and time.monotonic() < until:
            time.sleep(0.02)
    assert after["done"] == before["done"] + 2


@pytest.mark.parametrize(
    "times", [60, pytest.param(1000, marks=[pytest.mark.slow, pytest.mark.soak])]
)
def test_counts_add_up_however_clients_leave(slow, times):
    before = settled(slow)
    for number in range(times):
        path = "/v1/translate/stream" if number % 3 == 0 else "/v1/translate"
        one = begin(slow, f"text {number}", path, deadline=0.1 if number % 5 == 0 else 5)
        time.sleep((0, 0.005, 0.02)[number % 3])
        if number % 4 == 0:
            one.recv(100)
        one.close()
    after = settled(slow, within=30)
    gained = {name: after[name] - before[name] for name in after}
    assert gained["accepted"] == sum(gained[end] for end in ENDS)
    assert gained["cancelled"] > times / 10
    assert after["open"] == after["waiting"] == 0
    assert slow.translate("still here")[0] == 200
    print(f"{times:,} clients left: {', '.join(f'{gained[end]:.0f} {end}' for end in ENDS)}")


def test_a_deadline_passes_in_the_queue_too(slow):
    with closing(begin(slow, "!slow 0.5")):
        time.sleep(0.1)
        began = time.monotonic()
        status, found = slow.translate("late", deadline=0.15)
        assert status in (504, 429)
        assert found["error"]["code"] in ("expired", "busy")
        assert time.monotonic() - began < 0.4
