"""Shutdown loses no request; a worker that dies or hangs is replaced; health is true."""

import contextlib
import json
import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.serving.running_server import running_server

pytestmark = pytest.mark.slow
LONG = [pytest.mark.slow, pytest.mark.soak]


def flood(running, seconds, responses, every=0.01):
    """Requests one after the other from five threads: (status, headers)."""
    end = time.monotonic() + seconds

    def send_repeatedly(number):
        while time.monotonic() < end:
            try:
                status, headers, _ = running.request(
                    "POST", "/v1/translate", {"text": f"t {number}"}
                )
            except ConnectionRefusedError:  # the server is gone: as it should be
                return
            except OSError as error:
                responses.append((repr(error), {}))
                return
            responses.append((status, headers))
            time.sleep(every)

    threads = [threading.Thread(target=send_repeatedly, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    for thread in threads:
        thread.join()


def wait_open(running, count):
    """Wait until so many requests are open."""
    deadline = time.monotonic() + 60
    while running.metrics()["dhyan_open_requests"] < count:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=LONG)])
def test_a_signal_under_load_loses_no_request(tmp_path, number):
    settings = {"drain_notice": 3.0, "deadline": 60.0}
    with running_server(tmp_path, load={"each": 0.1}, settings=settings) as running:
        responses = []

        def send(text):
            status, headers, _ = running.request("POST", "/v1/translate", {"text": text})
            responses.append((status, headers))

        slow = threading.Thread(target=send, args=("!slow 1.2",))
        threads = flood(running, 5, responses, every=0.02)
        slow.start()
        wait_open(running, 3)
        running.process.send_signal(number)
        while running.request("GET", "/readyz")[0] != 503:
            time.sleep(0.01)
        assert running.request("GET", "/livez")[0] == 200
        send("new")
        assert running.process.wait(60) == 0
        join([*threads, slow])
    assert {status for status, _ in responses} == {200, 503}
    refused = [headers for status, headers in responses if status == 503]
    assert all(headers["connection"] == "close" for headers in refused)


def test_what_the_drain_cannot_finish_gets_an_error(tmp_path):
    settings = {"drain_notice": 0.1, "drain_timeout": 0.4}
    with running_server(tmp_path, load={"each": 0.02}, settings=settings) as running:
        responses = {}

        def send(text):
            body = {"text": text, "deadline": 60}
            responses[text] = running.request("POST", "/v1/translate", body, timeout=120)

        texts = ("!slow 300", "!slow 301", "a b")
        threads = [threading.Thread(target=send, args=(text,)) for text in texts]
        for count, thread in enumerate(threads, start=1):
            thread.start()
            wait_open(running, count)
        with closing(running.connect()) as unfinished:
            unfinished.sendall(
                f"POST /v1/translate HTTP/1.1\r\nhost: 127.0.0.1:{running.port}\r\n"
                "content-type: application/json\r\ncontent-length: 100\r\n\r\n{".encode()
            )
            running.request("GET", "/livez")  # by now the server has the unfinished request
            running.process.terminate()
            assert running.process.wait(60) == 0
            late = unfinished.recv(65536)
        join(threads)
        log = running.stderr.read_text()
    assert {status for status, _, _ in responses.values()} == {503}
    errors = [json.loads(raw)["error"] for _, _, raw in responses.values()]
    assert {error["code"] for error in errors} == {"shutting_down"}
    assert late.startswith(b"HTTP/1.1 503 ")
    assert b'"shutting_down"' in late
    assert "Traceback" not in log


def test_a_second_signal_exits_at_once(tmp_path):
    with running_server(tmp_path, settings={"drain_timeout": 600.0}) as running:
        pid = worker_pid(running)
        threading.Thread(target=_send_quietly, args=(running, "!slow 300"), daemon=True).start()
        wait_open(running, 1)
        running.process.terminate()
        while running.request("GET", "/readyz")[0] != 503:
            time.sleep(0.01)
        assert running.process.poll() is None
        running.process.terminate()
        assert running.process.wait(60) == 128 + signal.SIGTERM
        wait_gone(pid)


def _send_quietly(running, text):
    with contextlib.suppress(OSError):
        running.translate(text, deadline=60)


def worker_pids(running):
    """The ids of the worker processes, in the order in which they were started."""
    pid = running.process.pid
    return sorted(map(int, Path(f"/proc/{pid}/task/{pid}/children").read_text().split()))


def worker_pid(running):
    """The id of the only worker process."""
    [worker] = worker_pids(running)
    return worker


def wait_gone(pid, timeout=60):
    """Wait until a process has exited."""
    deadline = time.monotonic() + timeout
    while Path(f"/proc/{pid}").exists():
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":
            return
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_the_worker_exits_when_the_server_is_killed(tmp_path):
    with running_server(tmp_path) as running:
        pid = worker_pid(running)
        running.process.kill()
        running.process.wait()
        wait_gone(pid)


OTHERS = (pytest.param(how, marks=LONG) for how in ("SIGSTOP", "SIGSEGV", "!kill", "!abort"))


@pytest.mark.parametrize("how", ["SIGKILL", *OTHERS])
def test_a_worker_that_dies_is_restarted(tmp_path, how):
    settings = {"cancel_timeout": 0.3, "deadline": 1.0, "canary_interval": 0.5}
    with running_server(tmp_path, load={"each": 0.02}, settings=settings) as running:
        responses, pid = [], worker_pid(running)
        threads = flood(running, 2, responses, every=0.05)
        time.sleep(0.3)
        if how.startswith("SIG"):
            os.kill(pid, getattr(signal, how))
        else:
            assert running.translate(how)[0] == 503
        join(threads)
        running.wait_until_ready()
        assert worker_pid(running) != pid
        assert running.translate("again", deadline=60)[0] == 200
        starts = running.metrics()["dhyan_worker_starts"]
    assert starts >= 2
    assert {status for status, _ in responses} <= {200, 503, 504, 429}
    assert sum(status == 503 for status, _ in responses) >= 1


def test_a_hanging_worker_is_killed_with_and_without_requests(tmp_path):
    settings = {"cancel_timeout": 0.2, "canary_interval": 0.2, "deadline": 0.5}
    with running_server(tmp_path, settings=settings) as running:
        assert running.translate("!hang", deadline=0.2)[0] == 504
        wait_not_ready(running, "died")
        running.wait_until_ready()
        os.kill(worker_pid(running), signal.SIGSTOP)
        wait_not_ready(running, "died")
        running.wait_until_ready()
        assert running.translate("again", deadline=60)[0] == 200


def readiness(running):
    """Status of /readyz, and the reason if it fails."""
    status, _, raw = running.request("GET", "/readyz")
    return status, json.loads(raw)["error"]["message"] if status == 503 else ""


def wait_not_ready(running, reason, timeout=60):
    """Wait until /readyz fails for a reason."""
    deadline = time.monotonic() + timeout
    while reason not in (current := readiness(running))[1]:
        assert time.monotonic() < deadline, current
        time.sleep(0.01)
    assert current[0] == 503


def test_readyz_fails_while_a_model_cannot_be_loaded(tmp_path):
    load = {"loading": 1.0, "error": "step-7: checksum of model.safetensors is wrong"}
    with running_server(tmp_path, ready=False, load=load) as running:
        assert readiness(running) == (503, "the model is being loaded")
        wait_not_ready(running, "checksum of model.safetensors")
        assert running.request("GET", "/livez")[0] == 200
        assert running.translate("a")[0] == 503
        assert running.request("GET", "/v1/models")[0] == 503
        assert running.request("GET", "/languages")[0] == 503


def test_readyz_fails_while_the_canary_is_translated_wrongly(tmp_path):
    canary = {"sentences": ("one",), "expected": ("something else",)}
    with running_server(tmp_path, ready=False, canary=canary) as running:
        wait_not_ready(running, "1 of 1 canary sentences")
        assert running.translate("a")[0] == 503


def test_readyz_fails_if_a_restarted_model_translates_otherwise(tmp_path):
    broken = tmp_path / "broken"
    with running_server(tmp_path, load={"broken": str(broken)}) as running:
        broken.touch()
        os.kill(worker_pid(running), signal.SIGKILL)
        wait_not_ready(running, "canary")
        broken.unlink()
        running.wait_until_ready()


def test_a_command_that_is_no_worker_is_reported(tmp_path):
    options = {"command": ["false"], "settings": {"restart_delay": 0.05}}
    with running_server(tmp_path, ready=False, **options) as running:
        wait_not_ready(running, "died while loading the model")


def test_a_command_that_cannot_be_started_does_not_stop_the_server(tmp_path):
    options = {"command": ["/nowhere/no-model"], "settings": {"restart_delay": 0.05}}
    with running_server(tmp_path, ready=False, **options) as running:
        wait_not_ready(running, "cannot be started: No such file or directory")
        assert running.request("GET", "/livez")[0] == 200
