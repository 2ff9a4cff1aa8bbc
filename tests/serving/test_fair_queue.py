"""The fair queue: order, batches, equal shares, and sums that follow every change."""

import random

import pytest

from dhyan.serving.fair_queue import ClientQueue, FairQueue, Job
from dhyan.serving.worker_protocol import JobOptions


class Future:
    """Stands for an answer that may be given."""

    def __init__(self):
        self.is_done = False

    def done(self):
        return self.is_done


def make_job(id, client="a", cost=10, **options):
    return Job(id, f"text {id}", JobOptions(**options), client, cost, Future())


def queue_of(*jobs):
    queue = FairQueue()
    for job in jobs:
        queue.add(job)
    return queue


def test_one_client_is_served_in_order():
    queue = queue_of(*(make_job(id, cost=id % 3 + 1) for id in range(20)))
    order = [job.id for _ in range(20) for job in queue.take_batch(3)]
    assert order == list(range(20))


def test_a_batch_has_equal_options_and_stays_within_its_capacity():
    queue = queue_of(*(make_job(id, beam=id % 2 + 1, cost=7) for id in range(30)))
    order = []
    while batch := queue.take_batch(25):
        assert len({job.options for job in batch}) == 1
        assert sum(job.cost for job in batch) <= 25
        order += [job.id for job in batch]
    assert sorted(order) == list(range(30))


def test_a_text_larger_than_a_batch_goes_alone():
    queue = queue_of(make_job(1, cost=5), make_job(2, cost=500), make_job(3, cost=5))
    assert [[job.id for job in queue.take_batch(25)] for _ in range(3)] == [[1], [2], [3]]


def test_a_stream_goes_alone():
    queue = queue_of(make_job(1, stream=True), make_job(2, stream=True))
    assert [len(queue.take_batch(100)) for _ in range(3)] == [1, 1, 0]


def test_cancelled_jobs_are_neither_batched_nor_counted():
    jobs = [make_job(id) for id in range(10)]
    queue = queue_of(*jobs)
    for job in jobs[::2]:
        job.answer.is_done = True
        queue.drop(job)
        queue.drop(job)
    assert (len(queue), queue.cost, queue.cost_of("a")) == (5, 50, 50)
    jobs[1].answer.is_done = True  # cancelled, but not dropped yet
    assert [job.id for job in queue.take_batch(1000)] == [3, 5, 7, 9]
    assert (len(queue), queue.cost, queue.cost_of("a"), queue.capped_cost) == (0, 0, 0, 0)


def test_a_client_is_not_charged_for_cancelled_jobs():
    others = [make_job(100 + id, "b") for id in range(20)]
    cancelled = [make_job(id, "a") for id in range(50)]
    queue = queue_of(*others, *cancelled)
    for job in cancelled:
        queue.drop(job)
    assert queue.cost_ahead("a", 10) == 10  # a job of the other client has the same tag
    queue.add(make_job(60, "a"))
    assert 60 in [job.id for job in queue.take_batch(20)]


def test_sums_are_those_of_the_waiting_jobs():
    rng, queue, waiting = random.Random(1), FairQueue(40), {}
    for id in range(3000):
        match rng.randrange(4):
            case 0 | 1:
                waiting[id] = make_job(id, rng.choice("abcdef"), rng.randint(1, 30))
                queue.add(waiting[id])
            case 2 if waiting:
                queue.drop(waiting.pop(rng.choice(list(waiting))))
            case _:
                for job in queue.take_batch(rng.randint(1, 60)):
                    del waiting[job.id]
        costs = {name: sum(j.cost for j in waiting.values() if j.client == name)
                 for name in "abcdef"}  # fmt: skip
        assert {job.id for job in queue} == set(waiting)
        assert (len(queue), queue.cost) == (len(waiting), sum(costs.values()))
        assert {name: queue.cost_of(name) for name in costs} == costs
        assert queue.capped_cost == sum(min(cost, 40) for cost in costs.values())


@pytest.mark.parametrize("count", [10, 10_000])
def test_reading_the_cost_ahead_visits_clients_not_jobs(monkeypatch, count):
    visits = []
    queue = queue_of(*(make_job(id) for id in range(count)))
    original = ClientQueue.cost_before
    monkeypatch.setattr(
        ClientQueue, "cost_before", lambda queue, tag: visits.append(1) or original(queue, tag)
    )
    monkeypatch.setattr(ClientQueue, "tagged", lambda queue: pytest.fail("walks through the jobs"))
    assert queue.cost_ahead("b", 10**9) == queue.cost == 10 * count
    assert len(visits) == 1


def test_clients_that_have_gone_are_forgotten():
    queue = FairQueue()
    for id in range(5000):
        queue.add(make_job(id, f"client-{id}", cost=id % 7 + 1))
        if id % 100 == 99:
            queue.take_batch(1000)
    assert len(queue._clients) <= 4096 + 100
    assert not queue.take_batch(100)
    assert not queue._clients


def test_a_flood_waits_behind_itself():
    queue = queue_of(*(make_job(id, "flood") for id in range(1000)))
    queue.take_batch(50)
    for id in range(3):
        queue.add(make_job(2000 + id, "normal"))
    assert queue.cost_ahead("normal", 10) <= 100
    next_jobs = [job for _ in range(2) for job in queue.take_batch(50)]
    assert sum(job.client == "normal" for job in next_jobs) == 3


def test_shares_are_equal_while_all_clients_have_work():
    queue = FairQueue()
    for id in range(300):
        queue.add(make_job(id, "abc"[id % 3], cost=(5, 10, 20)[id % 3]))
    done = [job for _ in range(20) for job in queue.take_batch(50)]
    costs = [sum(job.cost for job in done if job.client == name) for name in "abc"]
    assert max(costs) - min(costs) <= 20
