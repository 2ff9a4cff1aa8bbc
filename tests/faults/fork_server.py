"""A process with everything imported, which forks a child for each command: none waits to start."""

import ctypes
import gc
import importlib
import json
import os
import signal
import sys
import time
import traceback
from contextlib import suppress

import torch

from dhyan.cli import main

ANYONE_MAY_TRACE = 0x59616D61
torch.set_num_threads(1)


def become(words, log, *, held, learn):
    """Be a dhyan command whose output goes to a file; held, wait for SIGCONT first."""
    ctypes.CDLL(None).prctl(ANYONE_MAY_TRACE, ctypes.c_ulong(-1 & 2**64 - 1), 0, 0, 0)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, place in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(descriptor, place)
    sys.argv = ["dhyan", *words]
    if held:
        os.kill(os.getpid(), signal.SIGSTOP)
    code = 1
    try:
        main()
    except SystemExit as leaving:
        code = leaving.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    if learn:
        with open(learn, "w") as file:
            json.dump(list(sys.modules), file)
    os._exit(code)


def begin(words, log, *, held=False, learn=None):
    """Fork a child that becomes a command; `learn` is a file for the modules it needed."""
    pid = os.fork()
    if not pid:
        become(words, log, held=held, learn=learn)
    return pid


def wait(pid, seconds):
    """The child's exit code, negative if a signal ended it; None if it took too long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def load(names):
    """Import all these, and let no child look through them for what can be freed."""
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    for line in sys.stdin:
        match json.loads(line):
            case ["begin", facts]:
                answer = begin(**facts)
            case ["wait", pid, seconds]:
                answer = wait(pid, seconds)
            case ["load", names]:
                answer = load(names)
        print(json.dumps(answer), flush=True)
