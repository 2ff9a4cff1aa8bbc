"""The scheduler before a simulated worker, and its latency model."""

import asyncio
import functools
import random

import pytest

from dhyan.serving.errors import ApiError
from dhyan.serving.metrics import Metrics
from dhyan.serving.scheduler import LatencyModel, Scheduler
from dhyan.serving.settings import ServerSettings
from dhyan.serving.supervisor import Canary, WorkerPool
from dhyan.serving.worker_protocol import JobOptions
from tests.serving.simulated_worker import SimulatedWorker, messages


def make_scheduler(workers=1, **options):
    """A scheduler whose workers are ready."""
    settings = ServerSettings(**options)
    canary = Canary(("one",), ("ONE",))
    pool = WorkerPool.build((), {}, settings, canary, name="model", workers=workers)
    for supervisor in pool.supervisors:
        supervisor.worker, supervisor.card = SimulatedWorker(), {"beam": 1}
        supervisor.ready = supervisor.loaded = True
    return Scheduler(pool, settings, Metrics().of_model("model"))


def submit(scheduler, *texts, client="a", timeout=5.0, options=JobOptions()):  # noqa: B008
    work = scheduler.translate(texts, options, client=client, timeout=timeout)
    return asyncio.ensure_future(work)


async def turns(count=5):
    """Let the event loop run."""
    for _ in range(count):
        await asyncio.sleep(0)


def texts_of(answers):
    return [answer["translations"][0]["text"] for answer in answers]


def in_event_loop(test):
    """Run a test that is a coroutine."""

    @functools.wraps(test)
    def run():
        asyncio.run(asyncio.wait_for(test(), 60))

    return run


@in_event_loop
async def test_a_huge_request_shuts_no_other_client_out():
    scheduler = make_scheduler()
    [worker] = scheduler.pool.workers()
    serving = asyncio.ensure_future(scheduler.serve(worker))
    huge = submit(
        scheduler, *["x" * 5000] * 128, client="hog", timeout=60, options=JobOptions(beam=16)
    )
    await turns()
    assert scheduler.queue.cost > 100 * scheduler.settings.queue_capacity
    assert scheduler.is_full("hog")
    assert not scheduler.is_full("other")
    small = submit(scheduler, "small", client="other")
    await turns()
    worker.answer(worker.sent[0])  # the one text that is running; then it is the other's turn
    assert [text for _, text in worker.sent[1]["jobs"]] == ["small"]
    worker.answer(worker.sent[1])
    assert texts_of(await small) == ["SMALL"]
    with pytest.raises(ApiError, match="queue is too long"):
        await submit(scheduler, "more", client="hog")
    for task in (huge, serving):
        task.cancel()


@in_event_loop
async def test_many_clients_together_fill_the_queue():
    scheduler = make_scheduler(queue_capacity=100, batch_capacity=100)
    scheduler._tokens_per_character, requests = 1.0, []
    for number in range(5):  # each is small enough to go before those who wait
        requests.append(submit(scheduler, "x" * (99 - number), client=f"client-{number}"))
        await turns(1)
    assert scheduler.queue.cost == 99 + 98 + 97 + 96  # the first is running
    assert not scheduler.is_full("another")
    requests.append(submit(scheduler, "x" * 94, client="client-5"))
    await turns(1)
    assert scheduler.is_full("another")
    for request in requests:
        request.cancel()


@in_event_loop
async def test_a_request_in_the_turn_of_the_canary_is_answered():
    scheduler = make_scheduler(canary_interval=0.02)
    [worker] = scheduler.pool.workers()
    serving = asyncio.ensure_future(scheduler.serve(worker))
    original, requests = scheduler._exits_before_canary, []

    async def with_request(own_worker):
        exits = await original(own_worker)
        loop = asyncio.get_running_loop()
        loop.call_soon(requests.append, submit(scheduler, "hello"))
        return exits

    scheduler._exits_before_canary = with_request
    working = asyncio.ensure_future(worker.answer_all())
    while len(requests) < 6:
        await asyncio.sleep(0.01)
    assert all([texts_of(await request) == ["HELLO"] for request in requests[:5]])
    assert [batch for batch in worker.sent if batch["jobs"][0][1] == "one"]
    assert not worker.killed
    for task in (serving, working, *requests[5:]):
        task.cancel()


@in_event_loop
async def test_a_worker_that_dies_with_the_canary_holds_no_request():
    scheduler = make_scheduler(canary_interval=0.01)
    [worker] = scheduler.pool.workers()
    codes = []

    async def submit_after_exit():
        while True:
            if worker.exited.is_set():
                try:
                    await scheduler.translate(["late"], JobOptions(), client="b", timeout=0.5)
                except ApiError as error:
                    codes.append(error.code)
            await asyncio.sleep(0)

    serving = asyncio.ensure_future(scheduler.serve(worker))
    while not worker.sent:
        await asyncio.sleep(0.005)
    assert worker.sent[0]["jobs"][0][1] == "one"
    submitting = asyncio.ensure_future(submit_after_exit())
    await turns()
    worker.exited.set()
    await serving
    assert not scheduler._batches
    assert len(scheduler.queue) == 0
    await turns()
    assert set(codes) == {"model_not_ready"}
    submitting.cancel()


@in_event_loop
async def test_an_answered_batch_delays_no_request():
    scheduler = make_scheduler()
    [worker] = scheduler.pool.workers()
    worker.on_message = lambda message: scheduler._receive(worker, message)
    for _ in range(5):
        scheduler.latency.observe(2, 3.0)
    first = submit(scheduler, "first")
    await turns()
    *answers, done = messages(worker.sent[0])
    for message in answers:
        worker.on_message(message)
    assert texts_of(await first) == ["FIRST"]
    second = submit(scheduler, "second", timeout=1.0)  # before the end of the batch arrives
    await turns()
    worker.on_message(done)
    worker.answer(worker.sent[1])
    assert texts_of(await second) == ["SECOND"]


@in_event_loop
async def test_what_is_not_done_when_the_drain_times_out_gets_an_error():
    scheduler = make_scheduler()
    [worker] = scheduler.pool.workers()
    serving = asyncio.ensure_future(scheduler.serve(worker))
    running = submit(scheduler, "running", timeout=60)
    waiting = submit(scheduler, "waiting", timeout=60, options=JobOptions(beam=2))
    await turns()
    scheduler.draining = True
    scheduler.close()
    for request in (running, waiting):
        with pytest.raises(ApiError, match="shutting down") as error:
            await request
        assert (error.value.status_code, error.value.code) == (503, "shutting_down")
    assert scheduler.open_requests == 0
    serving.cancel()


@in_event_loop
async def test_a_request_is_spread_over_the_workers_that_are_free():
    scheduler = make_scheduler(workers=3)
    workers = list(scheduler.pool.workers())
    serving = [asyncio.ensure_future(scheduler.serve(worker)) for worker in workers]
    await turns()
    request = submit(scheduler, *["abcd"] * 12)
    await turns()
    assert [[len(batch["jobs"]) for batch in worker.sent] for worker in workers] == [[4]] * 3
    waits = submit(scheduler, "next")
    await turns()
    workers[1].answer(workers[1].sent[0])
    assert [len(worker.sent) for worker in workers] == [1, 2, 1]
    for worker in workers:
        worker.answer(worker.sent[-1])
    assert texts_of(await request) == ["ABCD"] * 12
    assert texts_of(await waits) == ["NEXT"]
    for task in serving:
        task.cancel()


@in_event_loop
async def test_a_dead_worker_loses_its_own_texts_alone():
    scheduler = make_scheduler(workers=2)
    first, second = scheduler.pool.workers()
    serving = [asyncio.ensure_future(scheduler.serve(worker)) for worker in (first, second)]
    await turns()
    requests = [submit(scheduler, text) for text in ("first", "second", "waiting")]
    await turns()
    first.kill()
    with pytest.raises(ApiError) as error:
        await requests[0]
    assert (error.value.status_code, error.value.code) == (503, "model_not_ready")
    assert "retry-after" in dict(error.value.headers)
    second.answer(second.sent[0])
    second.answer(second.sent[1])
    assert [texts_of(await request) for request in requests[1:]] == [["SECOND"], ["WAITING"]]
    last = submit(scheduler, "last")
    await turns()
    assert len(second.sent) == 3
    waits = submit(scheduler, "in the queue")
    await turns()
    second.kill()
    for request in (last, waits):
        with pytest.raises(ApiError, match="died"):
            await request
    with pytest.raises(ApiError, match="died"):
        await submit(scheduler, "none is left")
    for task in serving:
        task.cancel()


@in_event_loop
async def test_disconnecting_cancels_the_texts_of_all_workers():
    scheduler = make_scheduler(workers=2)
    workers = list(scheduler.pool.workers())
    request = submit(scheduler, "abcd", "efgh")
    await turns()
    request.cancel()
    await turns()
    jobs = [[job for job, _ in worker.sent[0]["jobs"]] for worker in workers]
    assert [worker.sent[1] for worker in workers] == [
        {"type": "cancel", "jobs": own} for own in jobs
    ]


@in_event_loop
async def test_with_more_workers_a_longer_queue_is_done_by_the_deadline():
    for workers, fits in ((1, False), (4, True)):
        scheduler = make_scheduler(workers=workers, batch_capacity=100, queue_capacity=10**6)
        scheduler._tokens_per_character = 1.0
        for _ in range(5):
            scheduler.latency.observe(10, 1.0)
        for _ in range(workers):
            submit(scheduler, "x" * 99)
        await turns()
        submit(scheduler, *["x" * 99] * 4, client="b", timeout=100)
        await turns()
        last = submit(scheduler, "x", client="b", timeout=25)
        await turns()
        assert last.done() != fits


def test_a_model_is_ready_once_all_workers_were_and_while_one_is():
    pool = make_scheduler(workers=2).pool
    first, second = pool.supervisors
    assert (pool.ready, pool.workers_ready, pool.reason) == (True, 2, "")
    second.ready = second.loaded = False
    assert (pool.ready, pool.workers_ready) == (False, 1)
    assert pool.reason == "the model is being loaded"
    second.loaded = True
    assert pool.ready
    first.ready = False
    assert not pool.ready


def test_overhead_and_rate_are_learnt_from_batches_of_different_costs():
    latency, rng = LatencyModel(), random.Random(1)
    for _ in range(60):
        cost = rng.randint(1, 32)
        latency.observe(cost, 0.03 + 0.0025 * cost)
    assert latency.predict(32, 32) == pytest.approx(0.11, rel=0.01)
    assert latency.predict(64, 32) == pytest.approx(0.22, rel=0.01)
    assert latency.predict(1, 32) == pytest.approx(0.0325, rel=0.05)


def test_latency_of_equal_batches_is_proportional_to_cost_and_follows_a_change():
    latency = LatencyModel()
    assert latency.predict(100, 10) == 0
    for seconds in (0.1, 0.4):
        for _ in range(100):
            latency.observe(10, seconds)
        assert latency.predict(20, 10) == pytest.approx(2 * seconds, rel=0.01)
