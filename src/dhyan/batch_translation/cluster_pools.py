"""Shards as tasks of Dask distributed or of Ray Core: of a cluster, or of processes started here.

What is started here listens on the loopback interface only.
"""

import logging
import os
import time
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from types import TracebackType
from typing import Any

from dhyan.batch_translation.shard import Outcome, Status, translate_shard
from dhyan.errors import UserError

LOOPBACK = "127.0.0.1"
TASKS_PER_WORKER = 2  # so that none waits for its next shard


class DaskPool:
    """Tasks of a Dask cluster, by the address of its scheduler, or of worker processes here."""

    def __init__(self, out: Path, *, workers: int, address: str, device: str, threads: int) -> None:
        _require("distributed", "dask")
        import dask
        from distributed import Client, LocalCluster

        self._arguments, self._futures = (device, threads), dict[Any, str]()
        self._out, self._cluster = str(out), None
        if address:
            self._client = Client(address)
            workers = len(self._client.scheduler_info(n_workers=-1)["workers"])
        else:
            # The ledger counts the attempts at a shard.
            dask.config.set({"distributed.scheduler.allowed-failures": 10**6})
            self._cluster = LocalCluster(
                n_workers=workers,
                threads_per_worker=1,
                host=LOOPBACK,
                dashboard_address=None,
                memory_limit=0,
                silence_logs=logging.CRITICAL,  # of workers that are killed
            )
            self._client = Client(self._cluster)
        self.slots = TASKS_PER_WORKER * max(1, workers)

    def __enter__(self) -> "DaskPool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        with suppress(OSError, TimeoutError):
            self._client.close()
        if self._cluster:
            self._cluster.close()

    def submit(self, name: str) -> None:
        """Make a shard a task."""
        future = self._client.submit(translate_shard, self._out, name, *self._arguments, pure=False)
        self._futures[future] = name

    def results(self, timeout: float) -> list[tuple[str, Outcome]]:
        """The tasks that ended since the last call; waits for one, for a while."""
        from distributed import KilledWorker, wait

        if not self._futures:
            time.sleep(timeout)
            return []
        with suppress(TimeoutError):
            wait(list(self._futures), timeout=timeout, return_when="FIRST_COMPLETED")
        results = []
        for future in [future for future in self._futures if future.done()]:
            name = self._futures.pop(future)
            try:
                results.append((name, Outcome(*future.result())))
            except KilledWorker:
                results.append((name, Outcome(Status.LOST)))
        return results


class RayPool:
    """Tasks of a Ray cluster, by its address, or of worker processes here."""

    def __init__(self, out: Path, *, workers: int, address: str, device: str, threads: int) -> None:
        _require("ray", "ray")
        os.environ.setdefault("RAY_USAGE_STATS_ENABLED", "0")
        import ray

        self._ray, self._arguments, self._names = ray, (device, threads), dict[Any, str]()
        gpus = 1 if device.startswith("cuda") else 0
        if address:
            ray.init(address=address, log_to_driver=False)
            cpus = ray.cluster_resources().get("GPU" if gpus else "CPU", 1) // max(1, threads)
            workers = int(ray.cluster_resources().get("GPU", 1)) if gpus else int(cpus)
        else:
            ray.init(
                num_cpus=workers * max(1, threads),
                include_dashboard=False,
                log_to_driver=False,
                logging_level=logging.ERROR,
                object_store_memory=100 * 2**20,  # names and counts alone pass through it
                _node_ip_address=LOOPBACK,
            )
        # A process keeps its model from task to task.
        as_task: Any = ray.remote(
            num_cpus=max(1, threads), num_gpus=gpus, max_retries=-1, max_calls=0
        )
        self._task = as_task(translate_shard)
        self._out, self.slots = str(out), TASKS_PER_WORKER * max(1, workers)

    def __enter__(self) -> "RayPool":
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ray.shutdown()

    def submit(self, name: str) -> None:
        """Make a shard a task."""
        self._names[self._task.remote(self._out, name, *self._arguments)] = name

    def results(self, timeout: float) -> list[tuple[str, Outcome]]:
        """The tasks that ended since the last call; waits for one, for a while."""
        if not self._names:
            time.sleep(timeout)
            return []
        tasks = list(self._names)
        ready, _ = self._ray.wait(tasks, num_returns=1, timeout=timeout)
        if ready:
            ready, _ = self._ray.wait(tasks, num_returns=len(tasks), timeout=0)
        results = []
        for task in ready:
            name = self._names.pop(task)
            try:
                results.append((name, Outcome(*self._ray.get(task))))
            except (self._ray.exceptions.WorkerCrashedError, self._ray.exceptions.NodeDiedError):
                results.append((name, Outcome(Status.LOST)))
        return results


def _require(package: str, extra: str) -> None:
    if find_spec(package) is None:
        raise UserError(
            f"engine: {extra} is not installed; pip install 'dhyan[{extra}]', or use the engine local"
        )
