"""Run a job: give its shards to the workers of an engine until all are translated."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from time import monotonic
from typing import Literal, Protocol, get_args

from dhyan.batch_translation.cluster_pools import DaskPool, RayPool
from dhyan.batch_translation.job import TranslationJob
from dhyan.batch_translation.ledger import Ledger, Record
from dhyan.batch_translation.local_pool import LocalPool
from dhyan.batch_translation.shard import Outcome, Status
from dhyan.cpu_engine.threads import usable_cores
from dhyan.errors import UserError, spell_option
from dhyan.open_translator import uses_cpu

Engine = Literal["local", "dask", "ray"]
POLL_SECONDS = 1.0  # between two reports of progress, and two tries at a shard of another process


@dataclass(frozen=True, kw_only=True)
class Progress:
    """How far a job is; `lines` and `bytes` include those of shards that are being translated.

    `new_lines`, `new_bytes` and `seconds` are those since this process began to look.
    """

    shards: int
    all_shards: int
    failed: int
    lines: int
    left_empty: int
    bytes: int
    all_bytes: int
    new_lines: int
    new_bytes: int
    seconds: float

    @property
    def lines_per_second(self) -> float:
        """The throughput of all workers since this process began to look."""
        return self.new_lines / self.seconds if self.seconds else 0.0

    @property
    def seconds_left(self) -> float | None:
        """The time left at this throughput, by the size of the files; None before the first line."""
        if not self.new_bytes:
            return None
        return (self.all_bytes - self.bytes) * self.seconds / self.new_bytes


class Pool(Protocol):
    """Workers of an engine; `slots` is how many shards they are given ahead."""

    slots: int

    def submit(self, name: str) -> None:
        """Give a shard to the workers."""
        ...

    def results(self, timeout: float) -> list[tuple[str, Outcome]]:
        """The shards that came to an end since the last call; waits for one, for a while."""
        ...


def translate_shards(
    source: str | Path,
    out: str | Path,
    job: TranslationJob,
    *,
    engine: Engine = "local",
    workers: int = 0,
    address: str = "",
    device: str = "auto",
    threads: int = 0,
) -> Iterator[Progress]:
    """Translate every file of a folder into another folder, and yield the progress.

    A job that was interrupted goes on where it stopped, with any engine and any number of workers;
    it may run several times at once, on several machines that share the folders. `workers` 0 is
    one per GPU, else one per CPU core; `address` is that of a Dask or Ray cluster. At the end a
    manifest names the hash of every output.
    """
    if engine not in get_args(Engine):
        names = ", ".join(get_args(Engine))
        raise UserError(f"{spell_option('engine', engine)}: choose one of {names}")
    if engine == "local" and address:
        raise UserError(
            f"{spell_option('address', address)}: the engine local has none; choose dask or ray"
        )
    ledger = Ledger.create(Path(source), Path(out), job)

    def make_pool(shards: int) -> LocalPool | DaskPool | RayPool:
        devices = _devices(device)
        on_gpu = devices[0].startswith("cuda")
        count = min(shards, workers or (len(devices) if on_gpu else usable_cores()))
        each = threads or 1  # workers translate in parallel, rather than threads of one
        if engine == "local":
            return LocalPool(ledger.out, workers=count, devices=devices, threads=each)
        make = DaskPool if engine == "dask" else RayPool
        return make(ledger.out, workers=count, address=address, device=device, threads=each)

    return _run(ledger, make_pool)


def _run(
    ledger: Ledger, make_pool: Callable[[int], LocalPool | DaskPool | RayPool]
) -> Iterator[Progress]:
    state = _State(ledger)
    yield state.progress()
    if state.waiting:
        with make_pool(len(state.waiting)) as pool:
            yield from state.run(pool)
    ledger.manifest()
    yield state.progress()


class _State:
    """The shards that are waiting, those that workers have, and what is known of the others."""

    def __init__(self, ledger: Ledger) -> None:
        self.ledger, self.start = ledger, monotonic()
        shards = ledger.shards()
        self.sizes = {shard.name: shard.bytes for shard in shards}
        self.waiting = deque(shard.name for shard in ledger.remaining())
        remaining = set(self.waiting)
        self.given, self.busy = set[str](), list[str]()
        self.shards = self.failed = self.lines = self.left_empty = self.bytes = 0
        for shard in shards:
            if shard.name not in remaining and (record := ledger.record(shard.name)):
                self._count(shard.name, record)
        self.first_lines, self.first_bytes = self.lines, self.bytes

    def run(self, pool: Pool) -> Iterator[Progress]:
        """Give out the shards and take the results, until all have a record."""
        reported = tried = monotonic()
        while self.waiting or self.given or self.busy:
            while self.waiting and len(self.given) < pool.slots:
                name = self.waiting.popleft()
                self.given.add(name)
                pool.submit(name)
            for name, outcome in pool.results(POLL_SECONDS):
                self._take(name, outcome)
            if self.busy and monotonic() - tried >= POLL_SECONDS:
                tried = monotonic()
                self.waiting.extend(self.busy)
                self.busy.clear()
            if monotonic() - reported >= POLL_SECONDS:
                reported = monotonic()
                yield self.progress()

    def _take(self, name: str, outcome: Outcome) -> None:
        self.given.discard(name)
        match outcome.status:
            case Status.STOP:
                raise UserError(outcome.reason)
            case Status.BUSY:
                self.busy.append(name)
            case Status.DONE if record := self.ledger.record(name):
                self._count(name, record)
            case _:  # lost with its worker, or its output was removed: again, by another
                self.waiting.appendleft(name)

    def _count(self, name: str, record: Record) -> None:
        self.failed += bool(record.error)
        self.shards += not record.error
        self.lines += record.lines
        self.left_empty += record.left_empty
        self.bytes += self.sizes[name]

    def progress(self) -> Progress:
        """How far the job is, with what workers have noted of the shards they have."""
        notes = [self.ledger.claim_note(name) for name in (*self.given, *self.busy)]
        lines = self.lines + sum(lines for lines, _ in notes)
        read_bytes = self.bytes + sum(read_bytes for _, read_bytes in notes)
        return Progress(
            shards=self.shards,
            all_shards=len(self.sizes),
            failed=self.failed,
            lines=lines,
            left_empty=self.left_empty,
            bytes=read_bytes,
            all_bytes=sum(self.sizes.values()),
            new_lines=max(0, lines - self.first_lines),
            new_bytes=max(0, read_bytes - self.first_bytes),
            seconds=monotonic() - self.start,
        )


def _devices(device: str) -> list[str]:
    """The devices that workers share out: every GPU, or the one that is named."""
    if uses_cpu(device) or device not in ("auto", "cuda"):
        return [device]
    import torch

    gpus = [f"cuda:{number}" for number in range(torch.cuda.device_count())]
    return gpus or [device]
