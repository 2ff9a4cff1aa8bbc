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


def run_command(arguments, log, *, stopped, modules_file):
    """Run a dhyan command whose output goes to a file; `stopped`, wait for SIGCONT first."""
    ctypes.CDLL(None).prctl(ANYONE_MAY_TRACE, ctypes.c_ulong(-1 & 2**64 - 1), 0, 0, 0)
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    nothing = os.open(os.devnull, os.O_RDONLY)
    for descriptor, standard in ((nothing, 0), (file, 1), (file, 2)):
        os.dup2(descriptor, standard)
    sys.argv = ["dhyan", *arguments]
    if stopped:
        os.kill(os.getpid(), signal.SIGSTOP)
    code = 1
    try:
        main()
    except SystemExit as error:
        code = error.code or 0
    except BaseException:
        traceback.print_exc()
    sys.stdout.flush()
    if modules_file:
        with open(modules_file, "w") as file:
            json.dump(list(sys.modules), file)
    os._exit(code)


def start(arguments, log, *, stopped=False, modules_file=None):
    """Fork a child that runs a command; the names of its modules are written to a file."""
    pid = os.fork()
    if not pid:
        run_command(arguments, log, stopped=stopped, modules_file=modules_file)
    return pid


def wait(pid, seconds):
    """The child's exit code, negative if a signal ended it; None if it took too long."""
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        exited_pid, status = os.waitpid(pid, os.WNOHANG)
        if exited_pid:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return None


def load(names):
    """Import modules, and keep them out of the garbage collection of the children."""
    for name in names:
        with suppress(Exception):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


if __name__ == "__main__":
    for line in sys.stdin:
        match json.loads(line):
            case ["start", options]:
                answer = start(**options)
            case ["wait", pid, seconds]:
                answer = wait(pid, seconds)
            case ["load", names]:
                answer = load(names)
        print(json.dumps(answer), flush=True)
