"""Several workers of one model: readiness, a killed one, shutdown, metrics; a proxy in front."""

import os
import signal
import threading
import time

import pytest

from tests.serving.running_server import running_server
from tests.serving.test_shutdown import readiness, wait_gone, worker_pids

pytestmark = pytest.mark.slow
WORKERS = 3


def send_together(running, texts):
    """The statuses of requests that are sent at the same time, by text."""
    statuses = {}

    def send(text):
        statuses[text] = running.translate(text, deadline=60)[0]

    threads = [threading.Thread(target=send, args=(text,)) for text in texts]
    for thread in threads:
        thread.start()
    return threads, statuses


def wait_for(running, metric, value):
    """Wait until a metric has a value."""
    deadline = time.monotonic() + 60
    while (found := running.metrics()[metric]) != value:
        assert time.monotonic() < deadline, found
        time.sleep(0.01)


def test_a_killed_worker_of_several_loses_its_own_requests_and_is_replaced(tmp_path):
    with running_server(tmp_path, workers=WORKERS, load={"loading": 0.3}, ready=False) as running:
        while readiness(running)[0] != 200:
            assert readiness(running)[1] in ("the model is being loaded", "")
        assert running.metrics()["dhyan_workers_ready"] == WORKERS
        pids = worker_pids(running)
        assert len(pids) == WORKERS
        threads, statuses = send_together(running, [f"!slow {n}" for n in (3.0, 3.1, 3.2)])
        wait_for(running, "dhyan_open_requests", WORKERS)
        os.kill(pids[0], signal.SIGKILL)
        wait_for(running, "dhyan_workers_ready", WORKERS - 1)
        assert readiness(running) == (200, "")
        assert running.translate("meanwhile", deadline=60)[0] == 200
        for thread in threads:
            thread.join()
        assert sorted(statuses.values()) == [200, 200, 503]
        wait_for(running, "dhyan_workers_ready", WORKERS)
        samples = running.metrics()
        assert samples["dhyan_worker_starts"] == WORKERS + 1
        assert samples['dhyan_requests_total{outcome="accepted"}'] == WORKERS + 1
        assert samples['dhyan_requests_total{outcome="done"}'] == WORKERS
        assert samples['dhyan_requests_total{outcome="failed"}'] == 1
        log = running.stderr.read_text()
        assert "fixed, worker 3: ready" in log
        pids = worker_pids(running)
        threads, statuses = send_together(
            running, ["!slow 1.0", "!slow 1.1", "!slow 1.2", "!slow 0.1"]
        )
        wait_for(running, "dhyan_open_requests", 4)
        running.process.terminate()
        for thread in threads:
            thread.join()
        assert set(statuses.values()) == {200}  # SIGTERM lets all workers finish
        assert running.process.wait(60) == 0
        for pid in pids:
            wait_gone(pid)


def test_the_client_behind_a_trusted_proxy_is_the_one_it_forwards_for(tmp_path):
    settings = {"rate_limit": 10.0, "burst_seconds": 1.0}
    with running_server(tmp_path, proxies=["127.0.0.1"], settings=settings) as running:

        def status(*forwarded):
            headers = {"x-forwarded-for": ", ".join(forwarded), "x-forwarded-proto": "https"}
            return running.translate("ten letter", headers)[0]

        assert [status("192.0.2.1"), status("192.0.2.1")] == [200, 429]
        assert status("192.0.2.2") == 200
        # what a client wrote itself stands before what the proxy adds
        assert status("192.0.2.3", "192.0.2.2") == 429
    with running_server(tmp_path, settings=settings) as running:
        headers = {"x-forwarded-for": "192.0.2.1"}
        assert running.translate("ten letter", headers)[0] == 200
        headers = {"x-forwarded-for": "192.0.2.2"}
        assert running.translate("ten letter", headers)[0] == 429
