"""Commands as children of a fork server, alone or under strace."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from tests.tiny_models import environment

STRACE = shutil.which("strace")
CHANGES = ("openat", "mkdir", "fsync", "rename", "ftruncate", "unlink", "unlinkat", "rmdir")
CALL = re.compile(r"^(?:\d+ +)?(\w+)\((.*)$", re.MULTILINE)


class ForkServer:
    """A process with everything imported, which forks a child for each command."""

    def __init__(self, logs):
        self.logs = Path(logs)
        self.count = 0
        self.process = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.fork_server"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=Path(__file__).parents[2],
            env={**environment(), "OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"},
        )

    def ask(self, *request):
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def start(self, *arguments, stopped=False, modules_file=None):
        self.count += 1
        log = self.logs / f"child-{self.count}.log"
        options = {
            "arguments": [str(argument) for argument in arguments],
            "log": str(log),
            "stopped": stopped,
            "modules_file": modules_file and str(modules_file),
        }
        pid = self.ask("start", options)
        return Child(pid, log, self)

    def run(self, *arguments, seconds=300):
        """Run a command to its end: its exit code and output."""
        child = self.start(*arguments)
        return child.wait(seconds), child.output()

    def warm_up(self, *arguments):
        """Run a command once, and import in the server what it had to import."""
        modules_file = self.logs / "modules.json"
        child = self.start(*arguments, modules_file=modules_file)
        assert child.wait() == 0, child.output()
        self.ask("load", json.loads(modules_file.read_text()))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@dataclass(frozen=True)
class Child:
    pid: int
    log: Path
    server: ForkServer

    def wait(self, seconds=300):
        return self.server.ask("wait", self.pid, seconds)

    def send(self, number):
        os.kill(self.pid, number)

    def wait_for_status(self, text):
        """Wait until /proc/PID/status contains a text."""
        until = time.monotonic() + 120
        while text not in Path(f"/proc/{self.pid}/status").read_text():
            assert time.monotonic() < until, f"{text!r} did not appear"
            time.sleep(0.002)

    def alive(self):
        """Whether it has not ended yet."""
        return "State:\tZ" not in Path(f"/proc/{self.pid}/status").read_text()

    def output(self):
        return self.log.read_text() if self.log.exists() else ""


@contextmanager
def fork_server(logs):
    server = ForkServer(logs)
    try:
        yield server
    finally:
        server.close()


def need_strace():
    """Fail if strace is not installed."""
    assert STRACE, "strace is not here: sudo apt-get install strace"


@dataclass(frozen=True)
class Point:
    """The `number`-th call of its name, and what it was about."""

    call: str
    number: int
    about: str

    def starts_with(self, text):
        """Whether the call, as strace writes it, starts like this."""
        return f"{self.call}({self.about}".startswith(text)

    def inject(self, what):
        """The options that make strace change this call, and no other."""
        return "-e", f"inject={self.call}:{what}:when={self.number}"


def attached(server, arguments, *options):
    """Start a command under strace; the child, its tracer and the log."""
    need_strace()
    child = server.start(*arguments, stopped=True)
    child.wait_for_status("State:\tT")
    log, watched = child.log.with_suffix(".strace"), ",".join((*CHANGES, "write"))
    tracer = subprocess.Popen(
        [STRACE, "-f", "-y", "-s", "9", "-o", log, "-p", str(child.pid), "-e", f"trace={watched}"]
        + list(options),
        stderr=subprocess.DEVNULL,
    )
    child.wait_for_status(f"TracerPid:\t{tracer.pid}")
    child.send(signal.SIGCONT)
    return child, tracer, log


def traced(server, arguments, *options, seconds=300):
    """Run a command under strace to its end: exit code, system calls, output."""
    child, tracer, log = attached(server, arguments, *options)
    code = child.wait(seconds)
    tracer.wait()
    return code, log.read_text(errors="replace"), child.output()


def changes(calls, folder, kinds=CHANGES):
    """The system calls of these kinds that change something in a folder, in order."""
    counts, points = Counter(), []
    for call, rest in CALL.findall(calls):
        counts[call] += 1
        if call in kinds and str(folder) in rest and (call != "openat" or "O_CREAT" in rest):
            points.append(Point(call, counts[call], rest.replace(str(folder), "RUN")))
    return points


def spread(points, count):
    """`count` of the points, evenly spread; all if the count is 0."""
    chosen = range(count or len(points))
    return [points[(2 * n + 1) * len(points) // (2 * len(chosen))] for n in chosen]


def newest_step(out):
    """The step of the newest checkpoint, or −1."""
    names = [path.name.removeprefix("step-") for path in out.glob("step-*")]
    return max(map(int, names), default=-1)
