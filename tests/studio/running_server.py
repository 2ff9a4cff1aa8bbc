"""`dhyan studio` in a process of its own, until Ctrl-C."""

import re
import signal
import subprocess
import sys
from contextlib import contextmanager

from tests.tiny_models import environment


def real_python(*words):
    """A command that starts Python itself."""
    return [sys.executable, *map(str, words)]


@contextmanager
def running(*words, cwd, python=real_python, **more):
    """The process and its address, once it answers; ended by Ctrl-C if it still runs."""
    process = subprocess.Popen(
        python("-m", "dhyan", "studio", *words, "--no-browser", "--port", "0"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=cwd,
        env={**environment(), "PYTHONUNBUFFERED": "1", **more},
    )  # fmt: skip
    try:
        line = process.stdout.readline()
        match = re.fullmatch(r"Studio: (http://127\.0\.0\.1:\d+/) \(Ctrl-C to stop\)\n", line)
        assert match, line + process.stderr.read()
        yield process, match[1]
    finally:
        if process.poll() is None:
            process.send_signal(signal.SIGINT)
        process.communicate(timeout=30)
