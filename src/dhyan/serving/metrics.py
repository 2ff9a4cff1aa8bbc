"""Prometheus metrics of the server; no label holds anything a client sent."""

from collections.abc import Callable, Mapping

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    disable_created_metrics,
    generate_latest,
)

disable_created_metrics()  # they would double the number of series

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
BATCH_SIZES = (1, 2, 4, 8, 16, 32, 64, 128)
OUTCOMES = ("accepted", "done", "expired", "cancelled", "failed", "refused")
STATUSES = (200, 204, 400, 401, 403, 404, 405, 408, 411, 413, 415, 429, 431, 500, 503, 504)
OTHER_STATUS = 0


class Metrics:
    """The metrics of one server, in a registry of their own."""

    def __init__(self) -> None:
        registry = self._registry = CollectorRegistry()
        self._responses = Counter(
            "dhyan_responses", "HTTP responses by status; 0: any other", ["status"],
            registry=registry,
        )  # fmt: skip
        self._requests = Counter(
            "dhyan_requests", "Translation requests by model and outcome", ["model", "outcome"],
            registry=registry,
        )  # fmt: skip
        self._tokens = Counter(
            "dhyan_tokens", "Source tokens translated", ["model"], registry=registry
        )
        self._latency = Histogram(
            "dhyan_request_seconds", "Time from acceptance to the end of a request", ["model"],
            buckets=SECONDS, registry=registry,
        )  # fmt: skip
        self._queue_wait = Histogram(
            "dhyan_queue_wait_seconds", "Time from acceptance to the start of a batch", ["model"],
            buckets=SECONDS, registry=registry,
        )  # fmt: skip
        self._batch_texts = Histogram(
            "dhyan_batch_texts", "Texts in a batch", ["model"],
            buckets=BATCH_SIZES, registry=registry,
        )  # fmt: skip

    def of_model(self, model: str) -> "ModelMetrics":
        """The metrics with the label of a model."""
        return ModelMetrics(
            {outcome: self._requests.labels(model, outcome) for outcome in OUTCOMES},
            self._tokens.labels(model),
            self._latency.labels(model),
            self._queue_wait.labels(model),
            self._batch_texts.labels(model),
        )

    def count_response(self, status: int) -> None:
        """A response was started."""
        self._responses.labels(status if status in STATUSES else OTHER_STATUS).inc()

    def add_gauge(self, name: str, help: str, read: Mapping[str, Callable[[], float]]) -> None:
        """A value of each model, read whenever the metrics are."""
        gauge = Gauge(name, help, ["model"], registry=self._registry)
        for model, function in read.items():
            gauge.labels(model).set_function(function)

    def exposition(self) -> bytes:
        """The metrics in Prometheus' text format."""
        return generate_latest(self._registry)


class ModelMetrics:
    """The metrics of one model: of the requests accepted, each ends as done, expired, cancelled or
    failed."""

    def __init__(
        self,
        requests: Mapping[str, Counter],
        tokens: Counter,
        latency: Histogram,
        queue_wait: Histogram,
        batch_texts: Histogram,
    ) -> None:
        self._requests, self._tokens = requests, tokens
        self.latency, self.queue_wait, self.batch_texts = latency, queue_wait, batch_texts

    def count_request(self, outcome: str) -> None:
        """A request was accepted or refused, or has ended."""
        self._requests[outcome].inc()

    def count_tokens(self, tokens: int) -> None:
        """Source tokens were translated."""
        self._tokens.inc(tokens)
