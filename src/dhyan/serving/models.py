"""The models of a server, each with a scheduler and worker processes of its own.

A request chooses one by its name or by its language pair; a server of one model needs neither.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dhyan.serving.errors import (
    ApiError,
    invalid_request,
    model_not_found,
    model_not_ready,
    overloaded,
)
from dhyan.serving.language_detection import Detection, detect
from dhyan.serving.metrics import Metrics
from dhyan.serving.scheduler import Scheduler
from dhyan.serving.settings import ServerSettings
from dhyan.serving.supervisor import WorkerPool
from dhyan.text.languages import UNDETERMINED


@dataclass(frozen=True)
class ServedModels:
    """The schedulers of all models by name, in the order of the command line."""

    schedulers: Mapping[str, Scheduler]
    metrics: Metrics
    settings: ServerSettings

    @classmethod
    def build(cls, pools: Sequence[WorkerPool]) -> "ServedModels":
        """A scheduler before the workers of each model, all with the same settings."""
        metrics, settings = Metrics(), pools[0].settings
        schedulers = {
            pool.name: Scheduler(pool, settings, metrics.of_model(pool.name)) for pool in pools
        }
        models = cls(schedulers, metrics, settings)
        models._add_gauges()
        return models

    def _add_gauges(self) -> None:
        gauges = {
            "dhyan_ready": "Whether the model can translate",
            "dhyan_workers_ready": "Worker processes that can translate",
            "dhyan_queue_texts": "Texts in the queue",
            "dhyan_queue_cost": "Their tokens times beam",
            "dhyan_open_requests": "Requests being processed",
            "dhyan_worker_starts": "Worker processes started",
        }
        for gauge, help in gauges.items():
            read = {name: scheduler.gauges()[gauge] for name, scheduler in self.schedulers.items()}
            self.metrics.add_gauge(gauge, help, read)

    def __iter__(self) -> Iterator[Scheduler]:
        return iter(self.schedulers.values())

    def cards(self) -> list[dict[str, Any]]:
        """Facts about every model, once all are loaded."""
        for scheduler in self:
            if not scheduler.pool.card:
                raise self._not_ready(scheduler)
        return [scheduler.pool.card for scheduler in self]

    def choose(self, model: str | None, source: str | None, target: str | None) -> Scheduler:
        """The scheduler of the model with this name that translates this language pair.

        A model that is alone, or named, accepts any language where its own is not known.
        """
        candidates = [
            scheduler for name, scheduler in self.schedulers.items() if model in (None, name)
        ]
        if not candidates:
            raise model_not_found("No model has that name; /v1/models lists the models.")
        if source is None and target is None:
            if len(candidates) > 1:
                names = ", ".join(self.schedulers)
                raise invalid_request(
                    f"This server has several models: give model ({names}), or source_language "
                    "and target_language."
                )
            return candidates[0]
        if (chosen := self._first(candidates, source, target)) is None:
            raise model_not_found(f"No such model translates that; there is {self._pairs()}.")
        return chosen

    def for_pair(self, source: str, target: str) -> Scheduler:
        """The first scheduler of a language pair."""
        if (chosen := self._first(list(self), source, target)) is None:
            raise invalid_request(f"This server only translates {self._pairs()}.")
        return chosen

    def _first(
        self, candidates: Sequence[Scheduler], source: str | None, target: str | None
    ) -> Scheduler | None:
        for scheduler in candidates:
            card = scheduler.pool.card
            own = (card.get("source_language"), card.get("target_language"))
            accepted = {UNDETERMINED} if len(candidates) == 1 else set[str]()
            if card and all(
                language in (None, code) or code in accepted
                for language, code in zip((source, target), own, strict=True)
            ):
                return scheduler
        for scheduler in candidates:
            if not scheduler.pool.card:
                raise self._not_ready(scheduler)
        return None

    def _pairs(self) -> str:
        pairs = [(card["source_language"], card["target_language"]) for card in self.cards()]
        return ", ".join(f"from {source} to {target}" for source, target in dict.fromkeys(pairs))

    def detect(self, text: str) -> list[Detection]:
        """The languages of the models, as likely as the text's script and words make them."""
        self.cards()
        vocabularies: dict[str, list[frozenset[str]]] = {}
        for scheduler in self:
            for language, words in scheduler.pool.known_words.items():
                vocabularies.setdefault(language, []).append(words)
        return detect(text, vocabularies)

    @property
    def ready(self) -> bool:
        """Whether all models can translate."""
        return all(scheduler.pool.ready for scheduler in self)

    def not_ready(self) -> ApiError:
        """The error of the first model that cannot translate."""
        waiting = [scheduler for scheduler in self if not scheduler.pool.ready]
        return self._not_ready(waiting[0]) if waiting else model_not_ready("")

    def _not_ready(self, scheduler: Scheduler) -> ApiError:
        prefix = f"{scheduler.name}: " if len(self.schedulers) > 1 else ""
        return model_not_ready(prefix + scheduler.pool.reason)

    @property
    def draining(self) -> bool:
        """Whether the server is being shut down."""
        return any(scheduler.draining for scheduler in self)

    def drain(self) -> None:
        """Accept no more requests."""
        for scheduler in self:
            scheduler.draining = True

    @property
    def open_requests(self) -> int:
        """Requests being processed."""
        return sum(scheduler.open_requests for scheduler in self)

    def check_capacity(self, client: str) -> None:
        """Refuse a request before its body is read if every model would refuse even a small one.

        It has not chosen a model yet, and is counted for the first.
        """
        if all(scheduler.is_full(client) for scheduler in self):
            next(iter(self)).metrics.count_request("refused")
            raise overloaded(1.0)

    def close(self) -> None:
        """Fail whatever is not done."""
        for scheduler in self:
            scheduler.close()

    def kill_workers(self) -> None:
        """Kill the worker processes, whatever they do."""
        for scheduler in self:
            scheduler.pool.kill()
