"""Serving under open-loop load: goodput, latency, fairness and throughput.

First with a worker of fixed latency, whose capacity is known; then with a real model pinned to one
core, while the server and the clients run on another.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from itertools import pairwise
from pathlib import Path
from statistics import fmean, median
from typing import Any

from benchmarks.load_generator import (
    Outcome,
    Reply,
    missed_targets,
    percentiles,
    request,
    run_open_loop,
    saturate,
    summarize,
)
from benchmarks.server_process import (
    describe_model,
    pin_to,
    pinned_worker,
    running_server,
    sentences,
)
from dhyan.serving.access import add_key

EACH, PER_TEXT, TEXTS = 0.03, 0.005, 16
CAPACITY = TEXTS / (EACH + PER_TEXT * TEXTS)
FIXED: dict[str, Any] = {
    "load": {"each": EACH, "per_text": PER_TEXT},
    "settings": {
        "batch_capacity": 2 * TEXTS,
        "queue_capacity": 4 * TEXTS,
    },  # a text of one word costs two units
}
LEVELS = (0.5, 0.9, 1.0, 2.0, 4.0, 10.0)
REAL_LEVELS = (0.5, 0.9, 1.0, 1.5, 2.0)
DEADLINE = 2.0  # seconds; later replies do not count as goodput
CLIENTS = 10
WARM_UP, RECOVERY = 3.0, 7.0
CAPACITY_SECONDS, PARTS = 5.0, 3  # each capacity measurement of a real model; parts per level
OVERLOAD_DURATION = 3  # times as long as the other levels
IN_FLIGHT = 128  # requests
LINES, ROUNDS = 4000, 5
BULK: dict[str, tuple[dict[str, int], int]] = {  # settings, and texts per request
    "default_batches": ({"batch_capacity": 4096, "queue_capacity": 6144}, 64),
    "larger_batches": ({"batch_capacity": 8192, "queue_capacity": 8192}, 128),
}


def serving(model: Path, seconds: float = 20.0) -> object:
    """All measurements; `seconds` is the duration of each load level."""
    figures = {
        "seconds_per_level": seconds,
        "deadline_seconds": DEADLINE,
        "fixed": fixed(seconds),
        "fairness": fairness(seconds),
        "real": real(model, seconds),
        "throughput": throughput(model),
    }
    misses = missed_targets(figures)
    print(*(misses or ["All targets are reached."]), sep="\n", file=sys.stderr)
    return {**figures, "misses": misses}


def fixed(seconds: float) -> dict[str, Any]:
    """A worker of fixed latency, at 0.5 to 10 times its capacity."""
    with running_server(FIXED) as port:
        levels = _levels(port, lambda: CAPACITY, LEVELS, seconds, _word)
        after = asyncio.run(run_open_loop(port, 0.9 * CAPACITY, RECOVERY, _message(port, _word)))
    late = [reply for reply in after.with_status(200) if reply.at > after.replies[0].at + 2]
    shape = {"batch_ms": round(1000 * TEXTS / CAPACITY), "texts_per_batch": TEXTS}
    recovery = percentiles([reply.seconds for reply in late])
    return {**shape, **_summarize_levels(levels), "recovery_ms": recovery}


def fairness(seconds: float) -> dict[str, Any]:
    """Ten clients at 0.9 of capacity; then one of them floods at 3 times capacity."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "keys"
        keys = [add_key(file, f"client-{number}") for number in range(CLIENTS)]
        with running_server({**FIXED, "keys": str(file)}) as port:
            fair_rate = 0.9 * CAPACITY / CLIENTS
            baseline = asyncio.run(_run_clients(port, keys, [fair_rate] * CLIENTS, seconds))
            rates = [3 * CAPACITY, *[fair_rate] * (CLIENTS - 1)]
            flood, *others = asyncio.run(_run_clients(port, keys, rates, seconds))
    before = percentiles([reply.seconds for run in baseline for reply in run.with_status(200)])
    during = percentiles([reply.seconds for run in others for reply in run.with_status(200)])
    return {
        "clients": CLIENTS,
        "baseline_ms": before,
        "during_flood_ms": during,
        "p99_ratio": round(during["p99"] / before["p99"], 2),
        "others_refused": round(
            1
            - sum(len(run.with_status(200)) for run in others)
            / sum(len(run.replies) for run in others),
            4,
        ),
        "flood_refused": round(len(flood.with_status(429)) / len(flood.replies), 3),
    }


async def _run_clients(
    port: int, keys: Sequence[str], rates: Sequence[float], seconds: float
) -> list[Outcome]:
    runs = [
        run_open_loop(port, rate, seconds, _message(port, _word, key), seed=number)
        for number, (key, rate) in enumerate(zip(keys, rates, strict=True))
    ]
    return list(await asyncio.gather(*runs))


def _word(number: int) -> str:
    return f"w{number % 10**7:07d}"


def _message(port: int, text: Callable[[int], str], key: str = "") -> Callable[[int], bytes]:
    head = f"authorization: Bearer {key}\r\n" if key else ""

    def message(number: int) -> bytes:
        body = {"text": text(number), "deadline": DEADLINE}
        return request(port, "/v1/translate", body, head)

    return message


def real(model: Path, seconds: float) -> dict[str, Any]:
    """A real model on one core, at 0.5 to 2 times its measured capacity."""
    texts = sentences()
    with running_server(pinned_worker(model)) as port:
        message = _message(port, lambda number: texts[number % len(texts)])
        elapsed, replies = asyncio.run(saturate(port, IN_FLIGHT, 3000, message))
        estimate = sum(reply.status == 200 for reply in replies) / elapsed

        def capacity() -> float:
            """Goodput at twice the estimated capacity; measured repeatedly, as speed varies."""
            return asyncio.run(
                run_open_loop(port, 2 * estimate, CAPACITY_SECONDS, message, seed=77)
            ).goodput(DEADLINE)

        levels = _levels(
            port,
            capacity,
            REAL_LEVELS,
            seconds,
            lambda number: texts[number % len(texts)],
            parts=PARTS,
        )
    return {"model": describe_model(model), **_summarize_levels(levels)}


def throughput(model: Path) -> dict[str, Any]:
    """Sentences per second of the server and of `dhyan translate`, same sentences, one core.

    They run in turn, and a share is the median of those of each round: the speed of the machine
    varies.
    """
    texts = sentences()[:LINES]
    rates: dict[str, list[float]] = {name: [] for name in ("translate", *BULK)}
    same = dict.fromkeys(BULK, True)
    with ExitStack() as stack:
        servers = {}
        for name, (settings, texts_per_request) in BULK.items():
            options = {**pinned_worker(model), "settings": settings}
            port = stack.enter_context(running_server(options))
            servers[name] = partial(_server_throughput, port, texts, texts_per_request)
            servers[name]()
        for number in range(ROUNDS):
            rate, expected = _command_throughput(model, texts)
            rates["translate"].append(rate)
            for name, measure in servers.items():
                rate, translations = measure()
                rates[name].append(rate)
                same[name] &= translations == expected
            print(f"throughput: round {number + 1} of {ROUNDS}", file=sys.stderr)
    command_rates = rates["translate"]
    figures: dict[str, Any] = {
        "sentences": len(texts),
        "rounds": ROUNDS,
        "translate_per_second": round(median(command_rates), 1),
    }
    for name, (settings, texts_per_request) in BULK.items():
        pairs = zip(rates[name], command_rates, strict=True)
        shares = [served / translated for served, translated in pairs]
        figures[name] = {
            **settings,
            "texts_per_request": texts_per_request,
            "served_per_second": round(median(rates[name]), 1),
            "share": round(median(shares), 3),
            "shares": [round(share, 3) for share in shares],
            "same_translations": same[name],
        }
    return figures


def _server_throughput(
    port: int, texts: Sequence[str], texts_per_request: int
) -> tuple[float, list[str]]:
    """Sentences per second of a server, and its translations."""
    parts = [
        texts[first : first + texts_per_request]
        for first in range(0, len(texts), texts_per_request)
    ]

    def message(number: int) -> bytes:
        body = {"text": parts[number % len(parts)], "deadline": 60}
        return request(port, "/v1/translate", body)

    seconds, replies = asyncio.run(saturate(port, 2, len(parts), message))
    statuses = {reply.status for reply in replies}
    assert statuses == {200}, statuses
    return len(texts) / seconds, _translations(replies)


def _command_throughput(model: Path, texts: Sequence[str]) -> tuple[float, list[str]]:
    """Sentences per second of `dhyan translate`, without startup and loading; its output."""

    def run(lines: Sequence[str]) -> tuple[float, list[str]]:
        command = [
            *pin_to(0),
            sys.executable,
            "-m",
            "dhyan",
            "translate",
            str(model),
            "--threads",
            "1",
        ]
        text = "".join(f"{line}\n" for line in lines)
        start = time.perf_counter()
        process = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        return time.perf_counter() - start, process.stdout.splitlines()

    startup = min(run(texts[:1])[0] for _ in range(2))
    seconds, translations = run(texts)
    return len(texts) / (seconds - startup), translations


def _translations(replies: Sequence[Reply]) -> list[str]:
    return [
        nbest[0]["text"] for reply in replies for nbest in json.loads(reply.body)["translations"]
    ]


def _levels(
    port: int,
    capacity: Callable[[], float],
    levels: Sequence[float],
    seconds: float,
    text: Callable[[int], str],
    *,
    parts: int = 1,
) -> dict[str, Any]:
    """Figures at each load level, relative to the current capacity.

    Capacity is measured again between the parts of a level, which is related to its mean.
    """
    message = _message(port, text)
    figures, now = dict[str, Any](), capacity()
    asyncio.run(run_open_loop(port, 0.8 * now, WARM_UP, message, seed=99))
    for level in levels:
        runs, capacities = list[Outcome](), [now]
        duration = (OVERLOAD_DURATION * seconds if level >= LEVELS[-1] else seconds) / parts
        for part in range(parts):
            seed = int(10 * level) + 100 * part
            runs.append(asyncio.run(run_open_loop(port, level * now, duration, message, seed=seed)))
            capacities.append(now := capacity())
        mean_capacity = fmean(fmean(pair) for pair in pairwise(capacities))
        figures[f"{level:g}"] = {
            "capacity_per_second": round(mean_capacity, 1), **summarize(runs, within=DEADLINE)
        }  # fmt: skip
        print(f"{level:g}", figures[f"{level:g}"], file=sys.stderr)
    return figures


def _summarize_levels(levels: dict[str, Any]) -> dict[str, Any]:
    """Goodput as a share of capacity, or of the load where that is less; p99 latency relative to
    that at 0.9 of capacity; latency of refusals; errors."""
    over = {level: figures for level, figures in levels.items() if float(level) >= 1}
    usual = levels["0.9"]["accepted_ms"]["p99"]
    refusals = [figures["refused_ms"]["p99"] for figures in levels.values() if figures["refused"]]
    return {
        "min_goodput_share": round(
            min(
                figures["goodput_per_second"]
                / min(figures["capacity_per_second"], figures["offered_per_second"])
                for figures in levels.values()
            ),
            3,
        ),
        "max_accepted_p99_ratio": round(
            max(figures["accepted_ms"]["p99"] for figures in over.values()) / usual, 2
        ),
        "max_refused_p99_ms": max(refusals, default=0.0),
        "connection_errors": sum(figures["connection_errors"] for figures in levels.values()),
        "other_statuses": sum(figures["other_statuses"] for figures in levels.values()),
        "levels": levels,
    }
