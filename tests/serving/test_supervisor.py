"""The supervisor: canary checks, restarts, and processes that cannot be started."""

import asyncio
import errno

import pytest

from dhyan.serving.settings import ServerSettings
from dhyan.serving.supervisor import Canary, Supervisor, WorkerProcess
from tests.serving.simulated_worker import SimulatedWorker


@pytest.mark.parametrize("translations", [[], [""], [" "], ["एक", "दो"]])
def test_a_canary_without_expectation_needs_a_first_translation(translations):
    canary = Canary(("one",))
    assert "no translation for a canary sentence" in canary.check(translations)
    assert not canary.check(["एक"])
    assert "wrongly" in canary.check([""])


def test_a_canary_expects_the_first_translation_from_then_on():
    canary = Canary(("one",))
    assert not canary.check(["एक"])
    assert not canary.check(["एक"])
    assert "wrongly" in canary.check(["दो"])
    assert "wrongly" in canary.check([])


def test_a_worker_that_cannot_be_started_is_tried_again_after_growing_delays(monkeypatch):
    starts, delays, sleep = [], [], asyncio.sleep

    async def start(command):
        starts.append(command)
        if len(starts) < 4:
            raise OSError(errno.EMFILE, "Too many open files")
        return SimulatedWorker()

    async def record_delay(seconds, *rest):
        delays.append(seconds)
        await sleep(0)

    async def run():
        settings = ServerSettings(restart_delay=2.0, max_restart_delay=5.0)
        supervisor = Supervisor((), {}, settings)
        serving, reasons = asyncio.Event(), set()

        async def serve(worker):
            serving.set()
            await asyncio.Event().wait()

        running = asyncio.ensure_future(supervisor.run(serve))
        while not serving.is_set():
            reasons.add(supervisor.reason)
            await sleep(0)
        assert supervisor.ready
        assert "the worker process cannot be started: Too many open files" in reasons
        running.cancel()

    monkeypatch.setattr(WorkerProcess, "start", start)
    monkeypatch.setattr("dhyan.serving.supervisor.asyncio.sleep", record_delay)
    asyncio.run(asyncio.wait_for(run(), 60))
    assert delays == [2.0, 4.0, 5.0]


def test_a_process_whose_socket_cannot_be_opened_is_killed(monkeypatch):
    async def fails(**options):
        raise OSError(errno.ENOMEM, "Cannot allocate memory")

    processes = []
    original = asyncio.create_subprocess_exec

    async def record_process(*arguments, **options):
        processes.append(await original(*arguments, **options))
        return processes[-1]

    async def run():
        with pytest.raises(OSError, match="allocate"):
            await WorkerProcess.start(["sleep", "60"])
        return await asyncio.wait_for(processes[0].wait(), 30)

    monkeypatch.setattr(asyncio, "open_connection", fails)
    monkeypatch.setattr(asyncio, "create_subprocess_exec", record_process)
    assert asyncio.run(run()) != 0
