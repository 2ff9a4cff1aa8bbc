"""Start the processes of a training run on this machine with torchrun's agent, and restart them."""

import logging
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

logger = logging.getLogger(__name__)

LOOPBACK = "lo"
STATUS_FILE = "DHYAN_STATUS_FILE"
RESTART_SECONDS = 0.2  # between two looks at the processes
SHUTDOWN_SECONDS = 30  # until processes that do not end are killed
HANDLED = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP, signal.SIGQUIT)  # by the agent
SAFE_SETTINGS = {
    # A store that outlives an attempt has the addresses of processes that are gone.
    "TORCH_DISABLE_SHARE_RDZV_TCP_STORE": "1",
    # Nothing listens on any other interface.
    "GLOO_SOCKET_IFNAME": LOOPBACK,
    "NCCL_SOCKET_IFNAME": LOOPBACK,
}


def is_launched() -> bool:
    """Whether this process is one of several that torchrun, or `launch`, started."""
    return "TORCHELASTIC_RUN_ID" in os.environ


def is_first() -> bool:
    """Whether this process is the one that reports progress."""
    return "WORLD_SIZE" not in os.environ or os.environ.get("RANK", "0") == "0"


def launch(
    arguments: Sequence[str],
    *,
    processes: int,
    max_restarts: int,
    command: Sequence[str] = (sys.executable, "-m", "dhyan"),
) -> int:
    """Run a command, by default dhyan, with these arguments in several processes.

    Returns its exit code.

    They meet at a file, so no port is open but those between them, on the loopback interface. If
    one is killed or fails, all are started again, and resume from the newest checkpoint.
    """
    from torch.distributed.elastic.multiprocessing.api import SignalException
    from torch.distributed.elastic.multiprocessing.errors import ChildFailedError
    from torch.distributed.launcher.api import LaunchConfig, elastic_launch

    from dhyan.run.processes import STORE_FOLDER

    with tempfile.TemporaryDirectory(prefix="dhyan-train-") as folder, restored_process():
        status = Path(folder) / "status"
        os.environ.update({**SAFE_SETTINGS, STORE_FOLDER: folder, STATUS_FILE: str(status)})
        os.environ.setdefault("OMP_NUM_THREADS", str(max(1, (os.cpu_count() or 1) // processes)))
        config = LaunchConfig(
            min_nodes=1,
            max_nodes=1,
            nproc_per_node=processes,
            run_id="train",
            rdzv_backend="c10d",
            rdzv_endpoint=os.path.join(folder, "rendezvous"),
            rdzv_configs={"store_type": "file"},
            local_addr="127.0.0.1",
            max_restarts=max_restarts,
            monitor_interval=RESTART_SECONDS,
            shutdown_timeout=SHUTDOWN_SECONDS,
        )
        try:
            elastic_launch(config, command[0])(*command[1:], *arguments)
        except SignalException as stopped:
            return _read(status, default=128 + stopped.sigval)
        except ChildFailedError as failed:
            rank, failure = failed.get_first_failure()
            name = (
                failure.signal_name() if failure.exitcode < 0 else f"exit code {failure.exitcode}"
            )
            logger.warning(
                f"process {rank} failed ({name}) after {max_restarts} restarts; resume with --resume"
            )
            return 1
        return _read(status, default=0)


@contextmanager
def restored_process() -> Iterator[None]:
    """Afterwards the process has the environment and the signal handlers it had before."""
    environment = dict(os.environ)
    handlers = {number: signal.getsignal(number) for number in HANDLED}
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(environment)
        for number, handler in handlers.items():
            signal.signal(number, handler)


def report_final(code: int) -> bool:
    """Tell `launch` the exit code, so that it starts nothing again; whether no process did before.

    What the user has to correct, or has stopped, is no failure: the process then ends with 0.
    """
    with suppress(FileExistsError), open(os.environ[STATUS_FILE], "x") as file:
        file.write(str(code))
        return True
    return False


def has_final_code() -> bool:
    """Whether a process of an attempt before reported an exit code."""
    return os.path.exists(os.environ[STATUS_FILE])


def is_lost_connection(error: RuntimeError) -> bool:
    """Whether an exchange failed since another process has ended."""
    from torch.distributed import DistError

    return isinstance(error, DistError) or "gloo/transport" in str(error)


def has_launcher() -> bool:
    """Whether this process was started by `launch`."""
    return STATUS_FILE in os.environ


def _read(status: Path, *, default: int) -> int:
    return int(status.read_text()) if status.exists() else default
