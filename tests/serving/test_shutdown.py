"""Ends: of the server, which loses nothing, and of the model's process, which others survive."""

import contextlib
import json
import os
import signal
import threading
import time
from contextlib import closing
from pathlib import Path

import pytest

from tests.serving.running_server import served

pytestmark = pytest.mark.slow
LONG = [pytest.mark.slow, pytest.mark.soak]


def flood(running, seconds, found, every=0.01):
    """Requests one after the other from many threads: (status, seconds, headers)."""
    until = time.monotonic() + seconds

    def one(number):
        while time.monotonic() < until:
            began = time.monotonic()
            try:
                status, headers, _ = running.ask("POST", "/v1/translate", {"text": f"t {number}"})
            except ConnectionRefusedError:  # the server is gone: as it should be
                return
            except OSError as error:
                found.append((repr(error), time.monotonic() - began, {}))
                return
            found.append((status, time.monotonic() - began, headers))
            time.sleep(every)

    threads = [threading.Thread(target=one, args=(number,)) for number in range(5)]
    for thread in threads:
        thread.start()
    return threads


def join(threads):
    for thread in threads:
        thread.join()


@pytest.mark.parametrize("sign", [signal.SIGTERM, pytest.param(signal.SIGINT, marks=LONG)])
def test_a_signal_under_load_loses_nothing(tmp_path, sign):
    with served(tmp_path, load={"each": 0.1}, settings={"notice": 0.5}) as running:
        found = []
        slow = threading.Thread(target=lambda: found.append(running.ask(
            "POST", "/v1/translate", {"text": "!slow 1.2"})[:2]))  # fmt: skip
        threads = flood(running, 4, found, every=0.02)
        time.sleep(0.4)
        slow.start()
        time.sleep(0.3)
        running.process.send_signal(sign)
        time.sleep(0.1)
        assert running.ask("GET", "/readyz")[0] == 503
        assert running.ask("GET", "/livez")[0] == 200
        found.append(running.ask("POST", "/v1/translate", {"text": "new"})[:2])
        assert running.process.wait(30) == 0
        join([*threads, slow])
    assert {one[0] for one in found} == {200, 503}
    refused = [one[-1] for one in found if one[0] == 503]
    assert all(headers["connection"] == "close" for headers in refused)


def test_what_cannot_be_done_before_the_end_is_told_so(tmp_path):
    settings = {"notice": 0.1, "drain_within": 0.4}
    with served(tmp_path, load={"each": 0.02}, settings=settings) as running:
        found = {}

        def ask(text, path):
            body = {"text": text, "deadline": 60}
            found[text] = running.ask("POST", path, body)

        asked = {"!slow 30": "/v1/translate", "!slow 31": "/v1/translate", "a b": "/v1/translate"}
        threads = [threading.Thread(target=ask, args=one) for one in asked.items()]
        for thread in threads:
            thread.start()
            time.sleep(0.1)
        with closing(running.connect()) as unfinished:
            unfinished.sendall(
                f"POST /v1/translate HTTP/1.1\r\nhost: 127.0.0.1:{running.port}\r\n"
                "content-type: application/json\r\ncontent-length: 100\r\n\r\n{".encode()
            )
            time.sleep(0.1)
            began = time.monotonic()
            running.process.terminate()
            assert running.process.wait(10) == 0
            assert time.monotonic() - began < 5
            late = unfinished.recv(65536)
        join(threads)
        errors = running.errors.read_text()
    assert {status for status, _, _ in found.values()} == {503}
    assert {json.loads(raw)["error"]["code"] for _, _, raw in found.values()} == {"ending"}
    assert late.startswith(b"HTTP/1.1 503 ")
    assert b'"ending"' in late
    assert "Traceback" not in errors


def test_a_second_signal_ends_it_at_once(tmp_path):
    with served(tmp_path) as running:
        pid = child(running)
        threading.Thread(target=lambda: _quiet(running, "!slow 20"), daemon=True).start()
        time.sleep(0.2)
        running.process.terminate()
        time.sleep(0.3)
        assert running.process.poll() is None
        running.process.terminate()
        assert running.process.wait(2) == 128 + signal.SIGTERM
        gone(pid)


def _quiet(running, text):
    with contextlib.suppress(OSError):
        running.translate(text)


def child(running):
    """The model's process."""
    found = Path(f"/proc/{running.process.pid}/task/{running.process.pid}/children").read_text()
    [pid] = map(int, found.split())
    return pid


def gone(pid, within=5):
    """Wait until a process is no more."""
    until = time.monotonic() + within
    while Path(f"/proc/{pid}").exists():
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
        if state == "Z":
            return
        assert time.monotonic() < until
        time.sleep(0.02)


def test_the_model_ends_with_the_server_however_that_ends(tmp_path):
    with served(tmp_path) as running:
        pid = child(running)
        running.process.kill()
        running.process.wait()
        gone(pid)


OTHERS = (pytest.param(how, marks=LONG) for how in ("SIGSTOP", "SIGSEGV", "!kill", "!abort"))


@pytest.mark.parametrize("how", ["SIGKILL", *OTHERS])
def test_a_model_that_dies_is_started_again(tmp_path, how):
    settings = {"stuck_for": 0.3, "deadline": 1.0, "canary_every": 0.5}
    with served(tmp_path, load={"each": 0.02}, settings=settings) as running:
        found, pid = [], child(running)
        threads = flood(running, 2, found, every=0.05)
        time.sleep(0.3)
        if how.startswith("SIG"):
            os.kill(pid, getattr(signal, how))
        else:
            assert running.translate(how)[0] == 503
        died = time.monotonic()
        join(threads)
        running.until_ready(10)
        assert time.monotonic() - died < 10
        assert child(running) != pid
        assert running.translate("again")[0] == 200
        starts = running.metrics()["dhyan_model_starts"]
    assert starts == 2
    assert {status for status, _, _ in found} <= {200, 503, 504, 429}
    assert sum(status == 503 for status, _, _ in found) >= 1
    assert max(seconds for _, seconds, _ in found) < 5


def test_one_that_hangs_is_ended_whether_anyone_asks_or_not(tmp_path):
    settings = {"stuck_for": 0.2, "canary_every": 0.2, "deadline": 0.5}
    with served(tmp_path, settings=settings) as running:
        assert running.translate("!hang", deadline=0.2)[0] == 504
        until(running, "died")
        running.until_ready()
        os.kill(child(running), signal.SIGSTOP)
        until(running, "died")
        running.until_ready()
        assert running.translate("again")[0] == 200


def ready(running):
    status, _, raw = running.ask("GET", "/readyz")
    return status, json.loads(raw)["error"]["message"] if status == 503 else ""


def until(running, words, within=10):
    """Wait until it says that it is not ready, and why."""
    last = time.monotonic() + within
    while words not in (found := ready(running))[1]:
        assert time.monotonic() < last, found
        time.sleep(0.02)
    assert found[0] == 503


def test_health_is_true_of_a_model_that_cannot_be_loaded(tmp_path):
    load = {"loading": 0.3, "problem": "step-7: model.safetensors does not fit its sum"}
    with served(tmp_path, ready=False, load=load) as running:
        assert ready(running) == (503, "the model is being loaded")
        until(running, "does not fit its sum")
        assert running.ask("GET", "/livez")[0] == 200
        assert running.translate("a")[0] == 503
        assert running.ask("GET", "/v1/models")[0] == 503
        assert running.ask("GET", "/languages")[0] == 503


def test_health_is_true_of_a_model_that_says_the_wrong_thing(tmp_path):
    canary = {"sentences": ("one",), "wanted": ("something else",)}
    with served(tmp_path, ready=False, canary=canary) as running:
        until(running, "1 of 1 canary sentences")
        assert running.translate("a")[0] == 503


def test_health_is_true_of_a_model_that_changes_when_it_is_started_again(tmp_path):
    broken = tmp_path / "broken"
    with served(tmp_path, load={"broken": str(broken)}) as running:
        broken.touch()
        os.kill(child(running), signal.SIGKILL)
        until(running, "canary")
        broken.unlink()
        running.until_ready()


def test_a_command_that_is_no_model_is_told(tmp_path):
    with served(tmp_path, ready=False, command=["false"], settings={"rest": 0.05}) as running:
        until(running, "died while it was loading")


def test_a_command_that_cannot_be_started_ends_no_server(tmp_path):
    command = ["/nowhere/no-model"]
    with served(tmp_path, ready=False, command=command, settings={"rest": 0.05}) as running:
        until(running, "cannot be started: No such file or directory")
        assert running.ask("GET", "/livez")[0] == 200
