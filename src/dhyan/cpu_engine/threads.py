"""CPU threads by default: as PyTorch counts them, or one per idle core, without importing torch."""

import os
import sys
import time
from collections.abc import Mapping
from pathlib import Path

MAX_THREADS = 4  # by default; small matrices gain nothing from more
STAT = Path("/proc/stat")  # time of each core by kind, in ticks
CoreTimes = Mapping[int, tuple[int, int]]  # idle and total ticks of each core


def default_threads() -> int:
    """The threads of PyTorch, if it is imported; else OMP_NUM_THREADS, or one per core."""
    torch = sys.modules.get("torch")
    if torch is not None:
        return int(torch.get_num_threads())
    asked = os.environ.get("OMP_NUM_THREADS", "")
    return max(1, int(asked)) if asked.isdecimal() else usable_cores()


def usable_cores() -> int:
    """The cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def idle_threads(most: int) -> int:
    """One thread per idle core, at most four, and at most so many."""
    available = min(most, MAX_THREADS)
    return max(1, min(available, idle_cores())) if available > 1 else 1


def idle_cores(seconds: float = 0.1) -> int:
    """Cores of this process that are idle, over some time on Linux; elsewhere by the load average."""
    if STAT.exists():
        before = _core_times(STAT.read_text())
        time.sleep(seconds)
        after = _core_times(STAT.read_text())
        return count_idle(before, after)
    cores = os.cpu_count() or 1
    return cores if sys.platform == "win32" else round(cores - os.getloadavg()[0])


def count_idle(before: CoreTimes, after: CoreTimes) -> int:
    """The idle shares of all cores between two readings, added up and rounded."""
    shares = []
    for core, (idle, total) in after.items():
        earlier_idle, earlier_total = before.get(core, (0, 0))
        elapsed = total - earlier_total
        shares.append((idle - earlier_idle) / elapsed if elapsed else 1.0)
    return round(sum(shares))


def _core_times(stat: str) -> CoreTimes:
    """Idle and total time of each core that this process may use, from /proc/stat."""
    usable = os.sched_getaffinity(0)
    times = {}
    for line in stat.splitlines():
        name, *values = line.split()
        core = name.removeprefix("cpu")
        if name.startswith("cpu") and core.isdigit() and int(core) in usable:
            user, nice, system, idle, iowait, *rest = map(int, values)
            times[int(core)] = (idle + iowait, sum((user, nice, system, idle, iowait, *rest[:3])))
    return times
