"""Answers of a batch are handed out one at a time."""

import asyncio

from dhyan.serving.fair_queue import Job
from dhyan.serving.worker_batch import ResponsePacer
from dhyan.serving.worker_protocol import JobOptions


def test_new_requests_run_between_two_answers_of_a_batch():
    async def run():
        loop, order = asyncio.get_running_loop(), []
        jobs = [Job(id, "a", JobOptions(), "one", 1, loop.create_future()) for id in range(3)]
        for job in jobs:
            job.answer.add_done_callback(lambda _, id=job.id: order.append(id))
        jobs[1].answer.cancel()  # its client has disconnected

        def new_request(number):
            order.append(f"new {number}")
            if number < 3:
                loop.call_soon(new_request, number + 1)

        loop.call_soon(new_request, 0)
        pacer = ResponsePacer()
        for job in jobs:
            pacer.give(job, {"translations": []})
        assert not jobs[0].cancelled
        assert all(job.answered for job in jobs)
        for _ in range(20):
            await asyncio.sleep(0)
        return order, [job.answer.cancelled() for job in jobs]

    order, cancelled = asyncio.run(run())
    assert cancelled == [False, True, False]
    assert [entry for entry in order if entry in (0, 2)] == [0, 2]
    assert order.index("new 2") < order.index(2)
