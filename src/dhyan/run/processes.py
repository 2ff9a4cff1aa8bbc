"""The processes of a training run: joining those that torchrun started, ending one that hangs."""

import atexit
import faulthandler
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import torch
from torch import distributed
from torch.distributed import FileStore, Store  # type: ignore[attr-defined]
from torch.distributed.rendezvous import rendezvous

from dhyan.errors import UserError, spell_option
from dhyan.training.data_parallel import DataParallel

STORE_FOLDER = "DHYAN_STORE_FOLDER"  # where processes of one host meet, instead of at a port
JOIN_TIMEOUT = timedelta(minutes=5)
EXCHANGE_TIMEOUT = timedelta(minutes=30)  # the first process may have vocabularies to learn


def join_processes(device: torch.device) -> DataParallel:
    """This process among those that torchrun started with it; alone, if it was started otherwise."""
    if int(os.environ.get("WORLD_SIZE", "1")) == 1:
        return DataParallel()
    if not distributed.is_initialized():
        distributed.init_process_group(
            "cpu:gloo,cuda:nccl" if device.type == "cuda" else "gloo",
            store=_meeting_point(),
            rank=int(os.environ["RANK"]),
            world_size=int(os.environ["WORLD_SIZE"]),
            timeout=EXCHANGE_TIMEOUT,
        )
        atexit.register(distributed.destroy_process_group)
    return DataParallel(distributed.get_rank(), distributed.get_world_size())


def _meeting_point() -> Store:
    """A file of this host and attempt if there is a folder for it, else what torchrun says.

    A store of an earlier attempt would hold the addresses of processes that ended with it.
    """
    folder = os.environ.get(STORE_FOLDER)
    if folder is None:
        store, _, _ = next(rendezvous("env://", timeout=JOIN_TIMEOUT))
        return store
    path = os.path.join(folder, f"attempt-{os.environ['TORCHELASTIC_RESTART_COUNT']}")
    file_store = FileStore(path, int(os.environ["WORLD_SIZE"]))
    file_store.set_timeout(JOIN_TIMEOUT)
    return file_store


def local_device(device: torch.device) -> torch.device:
    """The GPU of this process among those of its host; without a GPU, or alone, the device itself."""
    processes = processes_of_host()
    if device.type != "cuda" or processes == 1:
        return device
    if device.index is not None:
        raise UserError(
            f"device {device} is one GPU, and there are {processes} processes: give cuda"
        )
    if processes > (gpus := torch.cuda.device_count()):
        raise UserError(
            f"{processes} processes, and {gpus} GPUs here: start {gpus}, one for each, or give "
            f"{spell_option('device', 'cpu')}"
        )
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    return device


def processes_of_host() -> int:
    """How many processes of the run share this machine."""
    return int(os.environ.get("LOCAL_WORLD_SIZE", "1"))


def was_restarted() -> bool:
    """Whether torchrun started this process again after a failure."""
    return int(os.environ.get("TORCHELASTIC_RESTART_COUNT", "0")) > 0


@contextmanager
def hang_watchdog(progress: Callable[[], object], seconds: float) -> Iterator[None]:
    """Inside the block the process ends if `progress` returns the same value for so many seconds.

    Then the stacks of all threads are on stderr, and torchrun starts the processes again. It ends
    even if it hangs in a call that never returns to Python. 0 is for no watchdog.
    """
    if not seconds:
        yield
        return
    ended = threading.Event()

    def watch() -> None:
        last: object = None
        while True:
            if (now := progress()) != last:
                faulthandler.dump_traceback_later(seconds, exit=True)
                last = now
            if ended.wait(seconds / 20):
                return

    thread = threading.Thread(target=watch, name="hang-watchdog", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        faulthandler.cancel_dump_traceback_later()
