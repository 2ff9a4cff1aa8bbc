"""The server under an open loop of requests: what it does of what is asked, and how soon.

First with a model whose batches take a fixed time, so that its capacity is known; then with a real
one on a core of its own, beside which the server and the clients have another.
"""

import asyncio
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from itertools import pairwise
from pathlib import Path
from statistics import fmean
from typing import Any

from benchmarks.load_generator import (
    Outcome,
    Reply,
    arrive,
    figures,
    percentiles,
    request,
    saturate,
    verdict,
)
from benchmarks.server_process import about, on, pinned, sentences, served
from dhyan.serving.access import add_key

EACH, PER_TEXT, TEXTS = 0.03, 0.005, 16
CAPACITY = TEXTS / (EACH + PER_TEXT * TEXTS)
FIXED: dict[str, Any] = {
    "load": {"each": EACH, "per_text": PER_TEXT},
    "settings": {
        "batch_capacity": 2 * TEXTS,
        "queue_capacity": 4 * TEXTS,
    },  # a text of one word is two of work
}
LEVELS = (0.5, 0.9, 1.0, 2.0, 4.0, 10.0)
REAL_LEVELS = (0.5, 0.9, 1.0, 1.5, 2.0)
WITHIN = 2.0  # seconds in which an answer is good: the deadline of every request
CLIENTS = 10
WARM, RECOVERY = 3.0, 7.0
BRIEF, PARTS = 5.0, 3  # seconds of each look at what a real model can do, around each part
FLOOD = 3  # times as long as the other levels
BUSY = 128  # requests that are always under way
LINES = 4000
BULK: dict[str, tuple[dict[str, int], int]] = {  # settings, and the texts of a request
    "as_it_is": ({"batch_capacity": 4096, "queue_capacity": 6144}, 64),
    "for_bulk": ({"batch_capacity": 8192, "queue_capacity": 8192}, 128),
}


def serving(model: Path, seconds: float = 20.0) -> object:
    """All of it, with a model and as long at every level."""
    found = {
        "seconds_each": seconds,
        "good_within_seconds": WITHIN,
        "fixed": fixed(seconds),
        "fairness": fairness(seconds),
        "real": real(model, seconds),
        "throughput": throughput(model),
    }
    misses = verdict(found)
    print(*(misses or ["nothing is missed"]), sep="\n", file=sys.stderr)
    return {**found, "misses": misses}


def fixed(seconds: float) -> dict[str, Any]:
    """A model of fixed time, at half to ten times what it can do."""
    with served(FIXED) as port:
        levels = _levels(port, lambda: CAPACITY, LEVELS, seconds, _word)
        after = asyncio.run(arrive(port, 0.9 * CAPACITY, RECOVERY, _sent(port, _word)))
    late = [one for one in after.of(200) if one.at > after.replies[0].at + 2]
    shape = {"batch_ms": round(1000 * TEXTS / CAPACITY), "texts_in_a_batch": TEXTS}
    again = percentiles([one.seconds for one in late])
    return {**shape, **_judged(levels), "two_seconds_after_ten_times_ms": again}


def fairness(seconds: float) -> dict[str, Any]:
    """Ten clients at nine tenths of capacity; then nine as before and one that asks for thrice."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "keys"
        keys = [add_key(file, f"client-{number}") for number in range(CLIENTS)]
        with served({**FIXED, "keys": str(file)}) as port:
            calm = 0.9 * CAPACITY / CLIENTS
            usual = asyncio.run(_side_by_side(port, keys, [calm] * CLIENTS, seconds))
            rates = [3 * CAPACITY, *[calm] * (CLIENTS - 1)]
            flood, *others = asyncio.run(_side_by_side(port, keys, rates, seconds))
    before = percentiles([one.seconds for own in usual for one in own.of(200)])
    during = percentiles([one.seconds for own in others for one in own.of(200)])
    return {
        "clients": CLIENTS,
        "usual_ms": before,
        "beside_a_flood_ms": during,
        "p99_by_usual": round(during["p99"] / before["p99"], 2),
        "others_refused": round(
            1 - sum(len(own.of(200)) for own in others) / sum(len(own.replies) for own in others), 4
        ),
        "flood_refused": round(len(flood.of(429)) / len(flood.replies), 3),
    }


async def _side_by_side(
    port: int, keys: Sequence[str], rates: Sequence[float], seconds: float
) -> list[Outcome]:
    runs = [
        arrive(port, rate, seconds, _sent(port, _word, key), seed=number)
        for number, (key, rate) in enumerate(zip(keys, rates, strict=True))
    ]
    return list(await asyncio.gather(*runs))


def _word(number: int) -> str:
    return f"w{number % 10**7:07d}"


def _sent(port: int, text: Callable[[int], str], key: str = "") -> Callable[[int], bytes]:
    head = f"authorization: Bearer {key}\r\n" if key else ""

    def sent(number: int) -> bytes:
        body = {"text": text(number), "deadline": WITHIN}
        return request(port, "/v1/translate", body, head)

    return sent


def real(model: Path, seconds: float) -> dict[str, Any]:
    """A model on one core, at half to twice what it does when there is always more to do."""
    texts = sentences()
    with served(pinned(model)) as port:
        sent = _sent(port, lambda number: texts[number % len(texts)])
        took, replies = asyncio.run(saturate(port, BUSY, 3000, sent))
        rough = sum(one.status == 200 for one in replies) / took

        def capacity() -> float:
            """What it does now, with twice as much to do: a machine's pace is not steady."""
            return asyncio.run(arrive(port, 2 * rough, BRIEF, sent, seed=77)).good(WITHIN)

        levels = _levels(
            port,
            capacity,
            REAL_LEVELS,
            seconds,
            lambda number: texts[number % len(texts)],
            parts=PARTS,
        )
    return {"model": about(model), **_judged(levels)}


def throughput(model: Path) -> dict[str, Any]:
    """Sentences a second of `dhyan translate` and of the server, of the same file on one core."""
    texts = sentences()[:LINES]
    commanded = _commanded(model, texts)
    found: dict[str, Any] = {
        "sentences": len(texts),
        "translate_per_second": round(commanded["rate"], 1),
    }
    for name, (settings, together) in BULK.items():
        rate, said = _served(model, texts, settings, together)
        found[name] = {
            **settings,
            "texts_in_a_request": together,
            "served_per_second": round(rate, 1),
            "share": round(rate / commanded["rate"], 3),
            "same_translations": said == commanded["said"],
        }
    return found


def _served(
    model: Path, texts: Sequence[str], settings: dict[str, int], together: int
) -> tuple[float, list[str]]:
    parts = [texts[first : first + together] for first in range(0, len(texts), together)]
    with served({**pinned(model), "settings": settings}) as port:

        def sent(number: int) -> bytes:
            body = {"text": parts[number % len(parts)], "deadline": 60}
            return request(port, "/v1/translate", body)

        asyncio.run(saturate(port, 2, len(parts) // 4, sent))
        runs = [asyncio.run(saturate(port, 2, len(parts), sent)) for _ in range(3)]
    for _, replies in runs:
        assert {one.status for one in replies} == {200}, {one.status for one in replies}
    return len(texts) / min(took for took, _ in runs), _said(runs[-1][1])


def _commanded(model: Path, texts: Sequence[str]) -> dict[str, Any]:
    """The command on the same core, less the time it takes to start and load."""

    def run(lines: Sequence[str]) -> tuple[float, list[str]]:
        words = [*on(0), sys.executable, "-m", "dhyan", "translate", str(model), "--threads", "1"]
        text = "".join(f"{line}\n" for line in lines)
        began = time.perf_counter()
        done = subprocess.run(words, input=text, capture_output=True, text=True, check=True)
        return time.perf_counter() - began, done.stdout.splitlines()

    start = min(run(texts[:1])[0] for _ in range(3))
    runs = [run(texts) for _ in range(3)]
    return {"rate": len(texts) / (min(took for took, _ in runs) - start), "said": runs[0][1]}


def _said(replies: Sequence[Reply]) -> list[str]:
    return [own[0]["text"] for one in replies for own in json.loads(one.body)["translations"]]


def _levels(
    port: int,
    capacity: Callable[[], float],
    levels: Sequence[float],
    seconds: float,
    text: Callable[[int], str],
    *,
    parts: int = 1,
) -> dict[str, Any]:
    """What comes of each level of what can be done at that time.

    In parts, between which it is measured what can be done, a level is judged by the mean of that.
    """
    sent = _sent(port, text)
    found, now = dict[str, Any](), capacity()
    asyncio.run(arrive(port, 0.8 * now, WARM, sent, seed=99))
    for level in levels:
        runs, paces = list[Outcome](), [now]
        long = (FLOOD * seconds if level >= LEVELS[-1] else seconds) / parts
        for part in range(parts):
            seed = int(10 * level) + 100 * part
            runs.append(asyncio.run(arrive(port, level * now, long, sent, seed=seed)))
            paces.append(now := capacity())
        around = fmean(fmean(pair) for pair in pairwise(paces))
        found[f"{level:g}"] = {
            "capacity_per_second": round(around, 1), **figures(runs, within=WITHIN)
        }  # fmt: skip
        print(f"{level:g}", found[f"{level:g}"], file=sys.stderr)
    return found


def _judged(levels: dict[str, Any]) -> dict[str, Any]:
    """What is asked of it: goodput by capacity, or by what was asked for where that is less, the
    slowest by those at nine tenths, refusals."""
    over = {level: own for level, own in levels.items() if float(level) >= 1}
    usual = levels["0.9"]["accepted_ms"]["p99"]
    refusals = [own["refused_ms"]["p99"] for own in levels.values() if own["refused"]]
    return {
        "least_good_share_of_capacity": round(
            min(
                own["good_per_second"] / min(own["capacity_per_second"], own["offered_per_second"])
                for own in levels.values()
            ),
            3,
        ),
        "worst_accepted_p99_by_that_at_0.9": round(
            max(own["accepted_ms"]["p99"] for own in over.values()) / usual, 2
        ),
        "worst_refused_p99_ms": max(refusals, default=0.0),
        "connection_errors": sum(own["connection_errors"] for own in levels.values()),
        "other_statuses": sum(own["other_statuses"] for own in levels.values()),
        "levels": levels,
    }
