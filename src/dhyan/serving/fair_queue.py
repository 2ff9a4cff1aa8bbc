"""Fair queue: texts of all clients, each client with an equal share of the model's time.

Start-time fair queueing (Goyal et al., 1996): a text's tag is the time at which it would finish if
its client had an equal share; the lowest tag goes first. A client with many texts delays only itself.
"""

import asyncio
import heapq
from collections import OrderedDict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from dhyan.serving.worker_protocol import Answer, JobOptions

MAX_IDLE_CLIENTS = 4096

OnWords = Callable[[int, list[str]], None]
"""Called with the index of the first word that changed, and the words from there on."""


@dataclass(eq=False)
class Job:
    """One text on its way through the server, with the future its client awaits."""

    id: int
    text: str
    options: JobOptions
    client: str
    cost: int
    answer: "asyncio.Future[Answer]"
    on_words: OnWords | None = None
    added: float = 0.0
    sent: bool = field(default=False)
    """whether the worker has it"""
    answered: bool = field(default=False)
    """whether the worker has answered, though the client may not have the answer yet"""

    @property
    def cancelled(self) -> bool:
        """Whether its client no longer waits for it."""
        return self.answer.done()


@dataclass
class ClientQueue:
    """One client's jobs in order; tags follow from the start of the first, so that a job that is
    dropped moves up all behind it."""

    start: float
    jobs: "OrderedDict[int, Job]" = field(default_factory=OrderedDict)
    cost: int = 0

    def tagged(self) -> Iterator[tuple[float, int, Job]]:
        """Jobs with their tags."""
        tag = self.start
        for id, job in self.jobs.items():
            tag += job.cost
            yield tag, id, job

    def cost_before(self, tag: float) -> float:
        """The cost that goes before a tag, to within a job."""
        first = next(iter(self.jobs.values()), None)
        if first is None or self.start + first.cost > tag:
            return 0
        return min(self.cost, tag - self.start)


class FairQueue:
    """A queue for each client. Sums are updated as jobs come and go, so that reading one takes no
    longer when much waits."""

    def __init__(self, client_capacity: int = 0) -> None:
        self._client_capacity = client_capacity
        self._clients: dict[str, ClientQueue] = {}
        self._count, self._virtual_time = 0, 0.0
        self.cost, self.capped_cost = 0, 0
        """cost of all waiting jobs; the same with no client counted above `client_capacity`"""

    def __len__(self) -> int:
        return self._count

    def __iter__(self) -> Iterator[Job]:
        return (job for queue in self._clients.values() for job in queue.jobs.values())

    def add(self, job: Job) -> None:
        """Append a job to its client's queue."""
        queue = self._clients.setdefault(job.client, ClientQueue(self._virtual_time))
        if not queue.jobs:
            queue.start = max(queue.start, self._virtual_time)
        queue.jobs[job.id] = job
        self._change(queue, job.cost, 1)

    def drop(self, job: Job) -> None:
        """Remove a job whose client has disconnected; it is not charged for it."""
        queue = self._clients.get(job.client)
        if queue and queue.jobs.pop(job.id, None):
            self._change(queue, -job.cost, -1)

    def cost_ahead(self, client: str, cost: int) -> float:
        """The cost that goes before the end of a further job of a client."""
        queue = self._clients.get(client) or ClientQueue(self._virtual_time)
        tag = max(queue.start, self._virtual_time) + queue.cost + cost
        others = (other.cost_before(tag) for name, other in self._clients.items() if name != client)
        return queue.cost + sum(others)

    def cost_of(self, client: str) -> int:
        """The cost of a client's waiting jobs."""
        queue = self._clients.get(client)
        return queue.cost if queue else 0

    def take_batch(self, capacity: int) -> list[Job]:
        """The next jobs, all with the same options, up to a cost; a single job may exceed it.

        Called when no batch is running: if the queue is empty too, all clients' shares are reset.
        """
        batch, cancelled = self._select(capacity)
        for job in cancelled:
            self.drop(job)
        for job in batch:
            self.drop(job)
            self._clients[job.client].start += job.cost
        self._forget_idle(all_=not batch or len(self._clients) > MAX_IDLE_CLIENTS)
        return batch

    def _select(self, capacity: int) -> tuple[list[Job], list[Job]]:
        """The jobs of the next batch, and the cancelled ones met on the way."""
        batch: list[Job] = []
        cancelled: list[Job] = []
        cost = 0
        for tag, _, job in heapq.merge(*(queue.tagged() for queue in self._clients.values())):
            if job.cancelled:
                cancelled.append(job)
            elif not batch or (job.options == batch[0].options and cost + job.cost <= capacity):
                batch.append(job)
                cost += job.cost
                self._virtual_time = max(self._virtual_time, tag - job.cost)
                if job.options.stream:
                    break
            elif cost + job.cost > capacity:
                break
        return batch, cancelled

    def _forget_idle(self, *, all_: bool) -> None:
        """Forget idle clients that have used no more than their share, or all idle clients."""
        self._clients = {
            name: queue
            for name, queue in self._clients.items()
            if queue.jobs or (queue.start > self._virtual_time and not all_)
        }

    def _change(self, queue: ClientQueue, cost: int, count: int) -> None:
        self.capped_cost -= min(queue.cost, self._client_capacity)
        queue.cost += cost
        self.capped_cost += min(queue.cost, self._client_capacity)
        self.cost += cost
        self._count += count
