"""Several models trained at once, each in a process of its own."""

import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from time import monotonic, sleep

from dhyan.compare.plan import Entry, Plan
from dhyan.errors import UserError

logger = logging.getLogger(__name__)

LOG = "log.txt"
GLANCE, SPEAK = 0.2, 10.0  # seconds between looks at the processes, and between words of progress

Words = Callable[[Entry], Sequence[str]]
"""The words of the command that trains an entry, after `dhyan`."""


def side_by_side(plan: Plan, entries: Sequence[Entry], jobs: int, words: Words) -> None:
    """Train all entries, so many at a time.

    If one fails the others are stopped, with a checkpoint, as they are when this is interrupted.
    """
    waiting, running = list(entries), dict[str, subprocess.Popen[bytes]]()
    spoke = monotonic()
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                entry = waiting.pop(0)
                running[entry.name] = _started(plan.home(entry), words(entry))
                logger.info(f"{entry.name}: begun")
            sleep(GLANCE)
            for name in [name for name, one in running.items() if one.poll() is not None]:
                if running.pop(name).returncode:
                    raise UserError(f"{name}: {_last_words(plan.folder / name)}")
                logger.info(f"{name}: trained and tested")
            if monotonic() - spoke >= SPEAK:
                spoke = monotonic()
                logger.info("  ".join(f"{name} {_stand(plan.folder / name)}" for name in running))
    finally:
        for one in running.values():
            one.send_signal(signal.SIGTERM)
        for one in running.values():
            one.wait()


def _started(home: Path, words: Sequence[str]) -> subprocess.Popen[bytes]:
    """In a session of its own, so that Ctrl-C reaches it through us alone, and only once."""
    home.mkdir(parents=True, exist_ok=True)
    with open(home / LOG, "ab") as log:
        return subprocess.Popen(
            [sys.executable, "-m", "dhyan", *words],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )


def _last_words(home: Path) -> str:
    """Why a process ended, by the last line of its log."""
    lines = [line for line in (home / LOG).read_text(errors="replace").splitlines() if line.strip()]
    return lines[-1].removeprefix("dhyan: ") if lines else f"ended without a word; see {home / LOG}"


def _stand(home: Path) -> str:
    """How far a run is."""
    last = next(_noted(home), None)
    return f"step {last['step']:,}" if last else "begins"


def _noted(home: Path) -> Iterator[dict[str, float]]:
    """The events of a run, newest first."""
    path = home / "metrics.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    for line in reversed(text.splitlines()):
        try:
            yield json.loads(line)
        except ValueError:  # being written in this moment
            continue
