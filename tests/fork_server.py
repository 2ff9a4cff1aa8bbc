"""A Python process with torch and the package imported, which forks a child for each program.

A program takes two seconds to import torch and the package, and most tests of programs are about
what comes after. `forked_python("-m", "dhyan", …)` stands for `python -m dhyan …`: the words of a
client that hands its streams, folder and environment to the server, forwards signals, and ends as
the program ended. Tests about imports, start-up or closed streams start Python itself.
"""

import array
import atexit
import functools
import json
import os
import select
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from contextlib import suppress
from importlib.abc import InspectLoader
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import module_from_spec
from pathlib import Path

ROOT = Path(__file__).parents[1]
CLIENT = Path(__file__).with_name("fork_server_client.py")
PROGRAMS = ("dhyan.__main__",)  # importing it runs a command


def forked_python(*words):
    """The words of a command that runs Python with these arguments in a forked process."""
    return [sys.executable, "-IS", str(CLIENT), _socket_path(), *map(str, words)]


@functools.cache
def _socket_path():
    """Start the server of this test process; it ends with it."""
    folder = tempfile.TemporaryDirectory(prefix="fork-")
    path = str(Path(folder.name) / "socket")
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.fork_server", path],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, cwd=ROOT, start_new_session=True,
        env={**os.environ, "PYTHONPATH": f"{ROOT / 'src'}:{ROOT}", "OMP_NUM_THREADS": "1"},
    )  # fmt: skip

    def end():
        process.stdin.close()
        process.wait()
        folder.cleanup()

    atexit.register(end)
    assert process.stdout.readline() == b"ready\n"
    return path


def serve(path):
    """Fork a child for each client, until stdin is closed."""
    import_package()
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(path)
        listener.listen(64)
        os.write(1, b"ready\n")
        while listener in select.select([listener, 0], [], [])[0]:
            connection, _ = listener.accept()
            if not os.fork():
                listener.close()
                supervise(connection)
            connection.close()
            with suppress(ChildProcessError):
                while os.waitpid(-1, os.WNOHANG)[0]:
                    pass


def import_package():
    """Import everything that a command may need, and keep it out of garbage collection."""
    import gc
    import importlib
    import pkgutil

    import torch

    import dhyan

    torch.set_num_threads(1)
    for module in pkgutil.walk_packages(dhyan.__path__, "dhyan."):
        if module.name not in PROGRAMS:
            with suppress(ImportError):  # an optional package is not installed
                importlib.import_module(module.name)
    for name in ("matplotlib.pyplot", "matplotlib.backends.backend_agg", "sacrebleu"):
        importlib.import_module(name)
    gc.collect()
    gc.freeze()


def supervise(connection):
    """Run a client's program in a child; send its process id, then its status."""
    streams = array.array("i")
    message, ancillary, *_ = connection.recvmsg(4, socket.CMSG_SPACE(3 * streams.itemsize))
    for _, _, data in ancillary:
        streams.frombytes(data)
    with connection.makefile("rb") as file:
        request = json.loads(file.read(int.from_bytes(message, "big")))
    pid = os.fork()
    if not pid:
        connection.close()
        run_program(streams, **request)
    connection.sendall(pid.to_bytes(4, "big"))
    _, status = os.waitpid(pid, 0)
    connection.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))
    os._exit(0)


def run_program(streams, words, folder, environment):
    """Run `python WORDS` with these streams in a folder; never returns."""
    for number, descriptor in enumerate(streams):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    encoding, unbuffered = environment.get("PYTHONIOENCODING"), "PYTHONUNBUFFERED" in environment
    sys.stdin = open(0, encoding=encoding, closefd=False)  # noqa: SIM115
    for name, number in (("stdout", 1), ("stderr", 2)):
        stream = open(number, "w", encoding=encoding, closefd=False)  # noqa: SIM115
        stream.reconfigure(
            errors="backslashreplace" if number == 2 else "strict",
            line_buffering=number == 2 or stream.isatty(),
            write_through=unbuffered,
        )
        setattr(sys, name, stream)
    code = exit_code_of(words)
    with suppress(Exception):
        import threading

        threading._shutdown()
        atexit._run_exitfuncs()
        sys.stdout.flush()
        sys.stderr.flush()
    os._exit(code)


class ProgramText(InspectLoader):
    """Loads a module from the text of `python -c`."""

    def __init__(self, text):
        self.text = text

    def get_source(self, fullname):
        return self.text


def run_as_main(loader, origin):
    """Execute a program as the module `__main__`."""
    main = sys.modules["__main__"] = module_from_spec(ModuleSpec("__main__", loader, origin=origin))
    main.__file__ = origin
    loader.exec_module(main)


def exit_code_of(words):
    """Run a module, a text or a file as Python does; its exit code."""
    import runpy

    sys.modules.pop("__main__", None)
    try:
        match words:
            case ["-m", module, *arguments]:
                sys.argv = [module, *arguments]
                sys.path.insert(0, os.getcwd())
                runpy.run_module(module, run_name="__main__", alter_sys=True)
            case ["-c", program, *arguments]:
                sys.argv = ["-c", *arguments]
                sys.path.insert(0, "")
                run_as_main(ProgramText(program), "<string>")
            case [path, *arguments]:
                sys.argv = [path, *arguments]
                sys.path.insert(0, str(Path(path).parent.resolve()))
                run_as_main(SourceFileLoader("__main__", path), path)
    except SystemExit as leaving:
        if isinstance(leaving.code, str):
            print(leaving.code, file=sys.stderr)
            return 1
        return leaving.code or 0
    except KeyboardInterrupt:
        traceback.print_exc()
        signal.signal(signal.SIGINT, signal.SIG_DFL)
        os.kill(os.getpid(), signal.SIGINT)
    except BaseException:
        traceback.print_exc()
        return 1
    return 0


if __name__ == "__main__":
    serve(sys.argv[1])
