"""Overload: what is accepted is done in time, the rest is refused at once.

Figures of time are checked in the soaks alone, on a machine that does nothing else.
"""

import asyncio
import json

import pytest

from benchmarks.load_generator import (
    MAX_OTHERS_REFUSED,
    Client,
    percentiles,
    request,
    run_open_loop,
    saturate,
    summarize,
)
from dhyan.serving.access import add_key
from tests.serving.running_server import running_server

pytestmark = pytest.mark.slow
EACH, PER_TEXT, TEXTS = 0.1, 0.01, 16  # slow, so that it matters little what else runs
CAPACITY = TEXTS / (EACH + PER_TEXT * TEXTS)
LONG = [pytest.mark.slow, pytest.mark.soak]


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    """A worker of known capacity: a text of eight characters and one word costs two."""
    load = {"each": EACH, "per_text": PER_TEXT}
    settings = {"batch_capacity": 2 * TEXTS, "queue_capacity": 4 * TEXTS}
    with running_server(tmp_path_factory.mktemp("load"), load=load, settings=settings) as running:
        asyncio.run(saturate(running.port, 2 * TEXTS, 160, requests(running)))
        yield running


def requests(running):
    """Requests that differ in their text."""
    return lambda number: request(running.port, "/v1/translate", {"text": f"w{number:07d}"})


@pytest.mark.parametrize(
    ("times", "seconds"),
    [(2, 4), *(pytest.param(times, 20, marks=LONG) for times in (0.5, 1, 2, 4, 10))],
)
def test_overload_is_refused_and_the_rest_is_done(fixed, times, seconds):
    outcome = asyncio.run(
        run_open_loop(fixed.port, times * CAPACITY, seconds, requests(fixed), seed=7)
    )
    result = summarize([outcome], within=2.0)
    assert result["connection_errors"] == result["other_statuses"] == 0
    assert result["refused_without_retry_after"] == 0
    bodies = [json.loads(reply.body) for reply in outcome.with_status(200)]
    texts = [body["translations"][0][0]["text"] for body in bodies]
    assert texts
    assert len(set(texts)) == len(texts)
    if seconds < 5:
        return
    normal = asyncio.run(run_open_loop(fixed.port, 0.9 * CAPACITY, 10, requests(fixed)))
    usual = summarize([normal], within=2.0)["accepted_ms"]["p99"]
    assert result["accepted_ms"]["p99"] <= 2 * usual + 300
    assert result["goodput_per_second"] >= 0.85 * min(times, 1) * CAPACITY
    if times > 1:
        assert result["refused"] > 0.5 * (times - 1) / times * len(outcome.replies)
        assert result["refused_ms"]["p50"] <= 50


@pytest.mark.parametrize(
    ("others", "seconds"), [(3, 2.5), pytest.param(9, 15, marks=LONG)], ids=["three", "nine"]
)
def test_a_flood_slows_no_other_client(tmp_path, others, seconds):
    names = [f"client-{number}" for number in range(others + 1)]
    keys = {name: add_key(tmp_path / "keys", name) for name in names}
    load = {"each": EACH, "per_text": PER_TEXT}
    settings = {"batch_capacity": 2 * TEXTS, "queue_capacity": 4 * TEXTS}
    calm = 0.9 * CAPACITY / 10  # of each, so that ten of them are nine tenths of capacity
    options = {"keys": str(tmp_path / "keys"), "load": load, "settings": settings}
    with running_server(tmp_path, **options) as running:

        def request_of(name):
            head = f"authorization: Bearer {keys[name]}\r\n"
            return lambda number: request(
                running.port, "/v1/translate", {"text": f"w{number:07d}"}, head
            )

        async def side_by_side(rates):
            runs = (
                run_open_loop(running.port, rate, seconds, request_of(name), seed=seed)
                for seed, (name, rate) in enumerate(zip(names, rates, strict=True))
            )
            return await asyncio.gather(*runs)

        asyncio.run(saturate(running.port, 32, 100, request_of(names[0])))
        usual = asyncio.run(side_by_side([calm] * len(names))) if others > 3 else ()
        flood, *outcomes = asyncio.run(side_by_side([2 * CAPACITY, *[calm] * others]))
    normal = [reply for outcome in outcomes for reply in outcome.replies]
    assert {reply.status for reply in normal} <= {200, 429}
    refused = sum(reply.status == 429 for reply in normal)
    assert refused / len(normal) < len(flood.with_status(429)) / len(flood.replies)
    if usual:
        assert refused <= MAX_OTHERS_REFUSED * len(normal)  # bursts
        assert len(flood.with_status(429)) > len(flood.replies) / 4
        during = percentiles([reply.seconds for reply in normal if reply.status == 200])
        before = percentiles([reply.seconds for load in usual for reply in load.replies])
        full_batch = 1000 * (EACH + PER_TEXT * TEXTS)
        print(f"p99 {before['p99']} ms, beside a flood {during['p99']} ms")
        assert during["p50"] <= 2.5 * full_batch  # the rest of a batch, and its own
        assert during["p99"] <= min(6 * full_batch, 1.5 * before["p99"])


def test_characters_beyond_the_rate_limit_are_refused(tmp_path):
    with running_server(
        tmp_path, settings={"rate_limit": 0.01, "burst_seconds": 20_000}
    ) as running:
        assert running.translate("x" * 150)[0] == 200
        status, headers, raw = running.request("POST", "/v1/translate", {"text": "x" * 150})
        assert (status, json.loads(raw)["error"]["code"]) == (429, "rate_limited")
        assert int(headers["retry-after"]) > 1
        assert running.translate("x" * 20)[0] == 200


def test_a_request_that_cannot_meet_its_deadline_is_refused_before_it_waits(tmp_path):
    settings = {"batch_capacity": 4, "queue_capacity": 1000}
    with running_server(tmp_path, load={"each": 0.4}, settings=settings) as running:
        for _ in range(3):
            running.translate("a")

        async def send():
            client = Client(running.port)
            patient = request(running.port, "/v1/translate", {"text": ["a"] * 20, "deadline": 60})
            hasty = request(running.port, "/v1/translate", {"text": "a", "deadline": 0.5})
            loop = asyncio.get_running_loop()
            waiting = asyncio.ensure_future(client.send(patient, loop.time()))
            while not running.metrics()["dhyan_queue_texts"]:
                await asyncio.sleep(0.02)
            refused = await client.send(hasty, loop.time())
            return refused, waiting.done(), await waiting

        refused, was_done, answered = asyncio.run(send())
    assert (refused.status, refused.retry, answered.status) == (429, True, 200)
    assert not was_done


def test_one_slow_batch_does_not_refuse_requests_for_ever(tmp_path):
    with running_server(tmp_path) as running:
        assert running.translate("!slow 3")[0] == 200
        assert [running.translate("no slower", deadline=2.5)[0] for _ in range(3)] == [200] * 3
