"""A server in a process of its own, and a client that can send it any bytes."""

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

from tests.fork_server import forked_python
from tests.tiny_models import environment

ROOT = Path(__file__).parents[2]
ANNOUNCEMENT = r"Serving: http://[\d.]+:(\d+)/(?: and http://127.0.0.1:(\d+)/metrics)?.*\n"


@dataclass(frozen=True)
class Running:
    """The process, its ports, and the file of its stderr."""

    process: subprocess.Popen
    port: int
    stderr: Path
    metrics_port: int = 0

    def request(self, method, path, body=None, headers=(), timeout=30):
        """Status, headers and body of the response."""
        with closing(
            http.client.HTTPConnection("127.0.0.1", self.port, timeout=timeout)
        ) as connection:
            raw = body if isinstance(body, bytes | None) else json.dumps(body).encode()
            default = {"content-type": "application/json"} if raw is not None else {}
            connection.request(method, path, raw, {**default, **dict(headers)})
            response = connection.getresponse()
            return response.status, dict(response.getheaders()), response.read()

    def translate(self, text, headers=(), **options):
        """Status and JSON of a translation."""
        body = {"text": text, **options}
        status, _, raw = self.request("POST", "/v1/translate", body, headers)
        return status, json.loads(raw)

    def metrics(self, headers=(), *, by_model=False):
        """Prometheus samples by name and labels; the label of a single model is left out."""
        page = self.request("GET", "/metrics", headers=headers)[2].decode()
        if not by_model:
            page = re.sub(r'model="[^"]*",?', "", page).replace("{}", "")
        lines = (line.rpartition(" ") for line in page.splitlines() if not line.startswith("#"))
        return {name: float(value) for name, _, value in lines}

    def wait_until_ready(self, timeout=60):
        """Wait until it can translate."""
        deadline = time.monotonic() + timeout
        while self.request("GET", "/readyz")[0] != 200:
            assert time.monotonic() < deadline, self.stderr.read_text()
            time.sleep(0.02)

    def connect(self):
        """A bare connection."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=30)

    def send_raw(self, data, timeout=30):
        """All bytes that come back, until the server closes."""
        with closing(self.connect()) as connection:
            connection.settimeout(timeout)
            connection.sendall(data)
            received = b""
            while chunk := connection.recv(65536):
                received += chunk
            return received


@contextmanager
def running_server(tmp_path, *, ready=True, arguments=None, **options):
    """A server with a worker of fixed latency; killed at the end if it still runs."""
    arguments = arguments or [
        sys.executable, "-m", "benchmarks.fixed_latency_server", json.dumps(options)
    ]  # fmt: skip
    stderr_path = tmp_path / "stderr"
    with stderr_path.open("wb") as stderr:
        process = subprocess.Popen(
            arguments, stdout=subprocess.PIPE, stderr=stderr, cwd=ROOT,
            env={**environment(), "PYTHONUNBUFFERED": "1"}, text=True,
        )  # fmt: skip
    try:
        line = process.stdout.readline()
        match = re.fullmatch(ANNOUNCEMENT, line)
        assert match, line + stderr_path.read_text()
        running = Running(process, int(match[1]), stderr_path, int(match[2] or 0))
        if ready:
            running.wait_until_ready()
        yield running
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        process.stdout.close()


def start_and_stop(*arguments, cwd):
    """`dhyan serve` until it listens, then stopped by Ctrl-C: exit code and output."""
    process = subprocess.Popen(
        forked_python("-m", "dhyan", "serve", *arguments, "--port", "0", "--host", "127.0.0.1"),
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, cwd=cwd, text=True,
        env={**environment(), "PYTHONUNBUFFERED": "1"},
    )  # fmt: skip
    line = process.stdout.readline()
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    return process.returncode if line.startswith("Serving: ") else 1, line + rest
