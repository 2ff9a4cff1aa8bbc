"""More than can be done: what is accepted is done in time, the rest is refused at once."""

import asyncio
import json

import pytest

from benchmarks.load_generator import (
    MOST_OTHERS,
    Client,
    arrive,
    figures,
    percentiles,
    request,
    saturate,
)
from dhyan.serving.api_keys import add_key
from tests.serving.running_server import served

pytestmark = pytest.mark.slow
EACH, PER_TEXT, TEXTS = 0.1, 0.01, 16  # slow, so that it matters little what else runs
CAPACITY = TEXTS / (EACH + PER_TEXT * TEXTS)
LONG = [pytest.mark.slow, pytest.mark.soak]


@pytest.fixture(scope="module")
def fixed(tmp_path_factory):
    """A model whose capacity is known: a text of eight letters and one word is two of work."""
    load = {"each": EACH, "per_text": PER_TEXT}
    settings = {"batch": 2 * TEXTS, "queue": 4 * TEXTS}
    with served(tmp_path_factory.mktemp("load"), load=load, settings=settings) as running:
        asyncio.run(saturate(running.port, 2 * TEXTS, 160, texts(running)))
        yield running


def texts(running):
    """Requests that are told apart by their text."""
    return lambda number: request(running.port, "/v1/translate", {"text": f"w{number:07d}"})


@pytest.mark.parametrize(
    ("times", "seconds"),
    [(2, 4), *(pytest.param(times, 20, marks=LONG) for times in (0.5, 1, 2, 4, 10))],
)
def test_more_than_capacity_is_refused_and_the_rest_is_done_in_time(fixed, times, seconds):
    normal = asyncio.run(arrive(fixed.port, 0.9 * CAPACITY, min(seconds, 10), texts(fixed)))
    found = asyncio.run(arrive(fixed.port, times * CAPACITY, seconds, texts(fixed), seed=7))
    told = figures([found], within=2.0)
    assert told["connection_errors"] == told["other_statuses"] == 0
    assert told["refused_without_retry_after"] == 0
    usual = figures([normal], within=2.0)["accepted_ms"]["p99"]
    assert told["accepted_ms"]["p99"] <= 2 * usual + 300  # other tests run beside this one
    wanted = 0.7 if seconds < 5 else 0.85  # of the machine as it is; the benchmark is strict
    assert told["good_per_second"] >= wanted * min(times, 1) * CAPACITY
    if times > 1:
        assert told["refused"] > 0.5 * (times - 1) / times * len(found.replies)
        assert told["refused_ms"]["p50"] <= 50
    texts_back = [json.loads(one.body)["translations"][0][0]["text"] for one in found.of(200)]
    assert len(set(texts_back)) == len(texts_back)


@pytest.mark.parametrize(
    ("others", "seconds"), [(3, 2.5), pytest.param(9, 15, marks=LONG)], ids=["three", "nine"]
)
def test_one_who_floods_slows_no_one_else(tmp_path, others, seconds):
    names = [f"client-{number}" for number in range(others + 1)]
    keys = {name: add_key(tmp_path / "keys", name) for name in names}
    load = {"each": EACH, "per_text": PER_TEXT}
    settings = {"batch": 2 * TEXTS, "queue": 4 * TEXTS}
    calm = 0.9 * CAPACITY / 10  # of each, so that ten of them are nine tenths of what is done
    with served(tmp_path, keys=str(tmp_path / "keys"), load=load, settings=settings) as running:

        def sent(name):
            head = f"authorization: Bearer {keys[name]}\r\n"
            return lambda number: request(
                running.port, "/v1/translate", {"text": f"w{number:07d}"}, head
            )

        async def side_by_side(rates):
            runs = (
                arrive(running.port, rate, seconds, sent(name), seed=place)
                for place, (name, rate) in enumerate(zip(names, rates, strict=True))
            )
            return await asyncio.gather(*runs)

        asyncio.run(saturate(running.port, 32, 100, sent(names[0])))
        usual = asyncio.run(side_by_side([calm] * len(names))) if others > 3 else ()
        flood, *found = asyncio.run(side_by_side([2 * CAPACITY, *[calm] * others]))
    normal = [reply for one in found for reply in one.replies]
    assert {one.status for one in normal} <= {200, 429}
    assert sum(one.status == 429 for one in normal) <= MOST_OTHERS * len(normal)  # bursts
    assert len(flood.of(429)) > len(flood.replies) / 4
    during = percentiles([one.seconds for one in normal if one.status == 200])
    full = 1000 * (EACH + PER_TEXT * TEXTS)
    assert during["p50"] <= 2.5 * full  # the rest of a batch, and its own
    assert during["p99"] <= 6 * full
    if usual:
        before = percentiles([reply.seconds for one in usual for reply in one.replies])
        print(f"p99 {before['p99']} ms, beside a flood {during['p99']} ms")
        assert during["p99"] <= 1.5 * before["p99"]


def test_letters_beyond_a_rate_are_refused(tmp_path):
    with served(tmp_path, settings={"rate": 100, "burst": 2}) as running:
        assert running.translate("x" * 150)[0] == 200
        status, headers, raw = running.ask("POST", "/v1/translate", {"text": "x" * 150})
        assert (status, json.loads(raw)["error"]["code"]) == (429, "over_rate")
        assert headers["retry-after"] == "1"
        assert running.translate("x" * 20)[0] == 200


def test_a_request_that_cannot_be_done_in_time_is_refused_before_it_waits(tmp_path):
    with served(tmp_path, load={"each": 0.3}, settings={"batch": 4, "queue": 1000}) as running:
        for _ in range(3):
            running.translate("a")

        async def ask():
            client = Client(running.port)
            patient = request(running.port, "/v1/translate", {"text": ["a"] * 20, "deadline": 20})
            hasty = request(running.port, "/v1/translate", {"text": "a", "deadline": 0.5})
            loop = asyncio.get_running_loop()
            waits = asyncio.ensure_future(client.ask(patient, loop.time()))
            await asyncio.sleep(0.1)
            began = loop.time()
            found = await client.ask(hasty, began)
            took = loop.time() - began
            return found, took, await waits

        refused, took, done = asyncio.run(ask())
    assert (refused.status, refused.retry, done.status) == (429, True, 200)
    assert took < 0.3


def test_a_slow_moment_is_not_held_against_the_model_for_ever(tmp_path):
    with served(tmp_path) as running:
        for _ in range(3):
            assert running.translate("!slow 0.6")[0] == 200
        assert [running.translate("no slower", deadline=0.4)[0] for _ in range(3)] == [200] * 3
