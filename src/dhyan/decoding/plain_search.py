"""Plain search: greedy search or one beam without rules and constraints, as the engines do it."""

from collections.abc import Callable, Iterator, Sequence
from math import nan
from typing import Any

import numpy as np

from dhyan.config import DecodingOptions
from dhyan.cpu_engine import MAX_BEAM, CpuEngine
from dhyan.decoding.hypothesis import Hypothesis
from dhyan.decoding.prepare_requests import Request

SENTENCES_AT_ONCE = 4096  # of the CPU engine, between two reports of progress


def is_plain_search(
    requests: Sequence[Request],
    options: DecodingOptions,
    rules: Sequence[Any],
    special: Sequence[Any] | None,
) -> bool:
    """Whether an engine can search for these requests: without rules, constraints and frames.

    What is `special` about a model are the rules of its task, and the language it begins with.
    """
    if rules or special or options.min_length or options.no_repeat_ngram:
        return False
    if options.sample or options.beam_groups > 1 or options.width > MAX_BEAM:
        return False
    return not any(
        request.prefix or request.required or isinstance(request.source, np.ndarray)
        for request in requests
    )


def cpu_engine_search(
    engine: CpuEngine,
    requests: Sequence[Request],
    options: DecodingOptions,
    threads: Callable[[], int],
) -> Iterator[list[tuple[Request, list[Hypothesis]]]]:
    """The hypotheses of every request that is not empty, best first.

    A sentence whose scores are not finite has one of no tokens, as the other searches give it.
    """
    requests = [request for request in requests if len(request.source)]
    for first in range(0, len(requests), SENTENCES_AT_ONCE):
        batch = requests[first : first + SENTENCES_AT_ONCE]
        outputs = engine.translate(
            [list(request.source) for request in batch],
            beam=options.width,
            max_lengths=[request.max_length for request in batch],
            length_penalty=options.length_penalty,
            nbest=None if options.nbest > 1 else 1,
            threads=threads() if len(batch) > 1 else 1,
        )
        yield [
            (
                request,
                [Hypothesis(tuple(ids), score, finished) for ids, score, finished in hypotheses]
                or [Hypothesis((), nan, False)],
            )
            for request, hypotheses in zip(batch, outputs, strict=True)
        ]


def by_length(requests: Sequence[Request]) -> list[Request]:
    """Requests without required phrases first, the shortest first."""
    return sorted(requests, key=lambda request: (bool(request.required), len(request.source)))
