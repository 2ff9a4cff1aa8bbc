"""Commands as children of a stage, alone or under strace, and what became of them."""

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


class Stage:
    """Talks to a stage."""

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

    def begin(self, *words, held=False, learn=None):
        self.count += 1
        log = self.logs / f"child-{self.count}.log"
        facts = {"words": [str(word) for word in words], "log": str(log), "held": held}
        pid = self.ask("begin", {**facts, "learn": learn and str(learn)})
        return Child(pid, log, self)

    def run(self, *words, seconds=300):
        """A command from its beginning to its end: its exit code and all it said."""
        child = self.begin(*words)
        return child.wait(seconds), child.said()

    def rehearse(self, *words):
        """Run a command once, and import here what it had to import there."""
        learned = self.logs / "modules.json"
        child = self.begin(*words, learn=learned)
        assert child.wait() == 0, child.said()
        self.ask("load", json.loads(learned.read_text()))

    def close(self):
        self.process.stdin.close()
        self.process.wait()


@dataclass(frozen=True)
class Child:
    pid: int
    log: Path
    stage: Stage

    def wait(self, seconds=300):
        return self.stage.ask("wait", self.pid, seconds)

    def send(self, number):
        os.kill(self.pid, number)

    def until(self, fact):
        """Wait until the kernel says this of it."""
        until = time.monotonic() + 120
        while fact not in Path(f"/proc/{self.pid}/status").read_text():
            assert time.monotonic() < until, f"waited in vain for {fact!r}"
            time.sleep(0.002)

    def alive(self):
        """Whether it has not ended yet."""
        return "State:\tZ" not in Path(f"/proc/{self.pid}/status").read_text()

    def said(self):
        return self.log.read_text() if self.log.exists() else ""


@contextmanager
def stage_in(logs):
    stage = Stage(logs)
    try:
        yield stage
    finally:
        stage.close()


def need_strace():
    """Without strace nothing here is known, so its absence is a failure."""
    assert STRACE, "strace is not here: sudo apt-get install strace"


@dataclass(frozen=True)
class Point:
    """The `number`-th call of its name, and what it was about."""

    call: str
    number: int
    about: str

    def begins(self, words):
        """Whether the call is written like this."""
        return f"{self.call}({self.about}".startswith(words)

    def inject(self, what):
        """The words that make strace meddle with this call, and with no other."""
        return "-e", f"inject={self.call}:{what}:when={self.number}"


def attached(stage, words, *options):
    """A command that runs under strace from its first moment, and its tracer."""
    need_strace()
    child = stage.begin(*words, held=True)
    child.until("State:\tT")
    log, watched = child.log.with_suffix(".strace"), ",".join((*CHANGES, "write"))
    tracer = subprocess.Popen(
        [STRACE, "-f", "-y", "-s", "9", "-o", log, "-p", str(child.pid), "-e", f"trace={watched}"]
        + list(options),
        stderr=subprocess.DEVNULL,
    )
    child.until(f"TracerPid:\t{tracer.pid}")
    child.send(signal.SIGCONT)
    return child, tracer, log


def traced(stage, words, *options, seconds=300):
    """Run a command under strace to its end: its exit code, the calls, what it said."""
    child, tracer, log = attached(stage, words, *options)
    code = child.wait(seconds)
    tracer.wait()
    return code, log.read_text(errors="replace"), child.said()


def changes(calls, folder, kinds=CHANGES):
    """Every call of these kinds that changes something in a folder, in their order."""
    counts, found = Counter(), []
    for call, rest in CALL.findall(calls):
        counts[call] += 1
        if call in kinds and str(folder) in rest and (call != "openat" or "O_CREAT" in rest):
            found.append(Point(call, counts[call], rest.replace(str(folder), "RUN")))
    return found


def spread(points, count):
    """So many of the points, from the first to the last; all, if the count is 0."""
    chosen = range(count or len(points))
    return [points[(2 * n + 1) * len(points) // (2 * len(chosen))] for n in chosen]


def newest_step(out):
    """The newest checkpoint that is in place, or −1."""
    names = [path.name.removeprefix("step-") for path in out.glob("step-*")]
    return max(map(int, names), default=-1)
