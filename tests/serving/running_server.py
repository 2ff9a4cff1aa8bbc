"""A server in a process of its own, and a client that speaks to it byte by byte."""

import http.client
import json
import re
import signal
import socket
import subprocess
import sys
import time
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.tiny_models import command, environment

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True)
class Running:
    """The process, where it listens, and what it has said."""

    process: subprocess.Popen
    port: int
    errors: Path
    watched: int = 0

    def ask(self, method, path, body=None, headers=(), timeout=30):
        """Status, headers and body of one answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)) as one:
            raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            own = {"content-type": "application/json"} if raw is not None else {}
            one.request(method, path, raw, {**own, **dict(headers)})
            answer = one.getresponse()
            return answer.status, dict(answer.getheaders()), answer.read()

    def translate(self, text, headers=(), **more):
        """Status and what was said."""
        status, _, raw = self.ask("POST", "/v1/translate", {"text": text, **more}, headers)
        return status, json.loads(raw)

    def metrics(self, headers=()):
        """The numbers of the page, by name and label."""
        page = self.ask("GET", "/metrics", headers=headers)[2].decode()
        found = (line.rpartition(" ") for line in page.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in found}

    def until_ready(self, within=20):
        """Wait until it can be asked."""
        until = time.monotonic() + within
        while self.ask("GET", "/readyz")[0] != 200:
            assert time.monotonic() < until, self.errors.read_text()
            time.sleep(0.02)

    def connect(self):
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def raw(self, sent, within=30):
        """All that comes back for some bytes, until the other side closes."""
        with closing(self.connect()) as one:
            one.settimeout(within)
            one.sendall(sent)
            found = b""
            while data := one.recv(65536):
                found += data
            return found


@contextmanager
def served(tmp_path, *, ready=True, words=None, **given):
    """A server with a model of fixed time; killed at the end if it still runs."""
    words = words or [sys.executable, "-m", "benchmarks.fixed_latency_server", json.dumps(given)]
    errors = tmp_path / "stderr"
    with errors.open("wb") as stderr:
        process = subprocess.Popen(
            words, stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT,
            env={**environment(), "PYTHONUNBUFFERED": "1"}, text=True,
        )  # fmt: skip
    try:
        line = process.stdout.readline()
        found = re.fullmatch(
            r"Serving: http://[\d.]+:(\d+)/(?: and http://127.0.0.1:(\d+)/metrics)?.*\n", line
        )
        assert found, line + errors.read_text()
        running = Running(process, int(found[1]), errors, int(found[2] or 0))
        if ready:
            running.until_ready()
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def started(*words, cwd):
    """`dhyan serve` until it listens, then ended by Ctrl-C: its exit code, and what it said."""
    process = subprocess.Popen(
        command("serve", *words, "--port", "0", "--host", "127.0.0.1"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd, text=True,
        env={**environment(), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    said = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=30)
    return process.returncode if said.startswith("Serving: ") else 1, said + rest
