"""The models that are there when none is named: trained once on the primer, then kept.

Whatever interrupts their training, the next start goes on from the last checkpoint.
"""

import os
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.resources import as_file
from pathlib import Path

from dhyan.checkpoint import steps_in
from dhyan.config import Recipe, load_recipe
from dhyan.errors import UserError
from dhyan.studio.demo_corpus import CORE, LONGEST, OFFERED, OWN, PAIRS, TIMES, write_corpus
from dhyan.studio.training_jobs import Training
from dhyan.studio.training_status import Coming
from dhyan.version import __version__

NAMES = ("bahdanau", "transformer", "luong", "bottleneck")  # the first is shown first
SECONDS_BETWEEN_LINES = 15.0
Say = Callable[[str], None]


def place() -> Path:
    """Where the models are kept: in the user's cache, anew for every version and recipe."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    seen = sha256(f"{__version__} {PAIRS} {LONGEST} {CORE} {OWN} {TIMES}".encode())
    for one in sorted(OFFERED.iterdir(), key=lambda file: file.name):
        seen.update(one.read_bytes())
    return caches / "dhyan" / f"studio-{seen.hexdigest()[:8]}"


def kept(folder: Path) -> list[Path]:
    """The models whose training has ended."""
    return [folder / name for name in NAMES if _ended(folder / name, name)]


class Offer:
    """Trains what is not kept yet, as many at once as there are processors; `bring` takes each."""

    def __init__(self, folder: Path, bring: Callable[[str, Path], None], say: Say) -> None:
        self.folder, self.bring, self.say = folder, bring, say
        self._left = [name for name in NAMES if not _ended(folder / name, name)]
        self._states = {name: Coming(name, _recipe(name).about, "waiting") for name in self._left}
        self._running: dict[str, Training] = {}
        self._guard, self._stop = threading.Lock(), threading.Event()
        self._worker = threading.Thread(target=self._work, daemon=True)

    def begin(self) -> None:
        """Start in the background."""
        self._worker.start()

    def told(self) -> list[Coming]:
        """How far each is that was not there at the start."""
        with self._guard:
            for name, training in self._running.items():
                self._states[name] = self._now(name, training)
            return list(self._states.values())

    def end(self) -> None:
        """Stop; what runs saves a checkpoint first."""
        self._stop.set()
        for training in list(self._running.values()):
            training.end()
        if self._worker.is_alive():
            self._worker.join(1)

    def _work(self) -> None:
        try:
            corpus = write_corpus(self.folder / "corpus")
        except (OSError, UserError) as error:
            for name in self._left:
                self._states[name] = Coming(name, "", "failed", problem=str(error))
            self.say(f"the demo models cannot be trained: {error}")
            return
        threading.Thread(target=self._tell, daemon=True).start()
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for name in self._left:
                pool.submit(self._train, name, corpus)

    def _train(self, name: str, corpus: Path) -> None:
        if self._stop.is_set():
            return
        folder = self.folder / name
        with as_file(OFFERED / f"{name}.toml") as recipe:
            begun = bool(steps_in(folder)) if folder.exists() else False
            training = Training(name, str(recipe), folder, settings=_data(corpus), resume=begun)
            with self._guard:
                self._running[name] = training
            state = training.wait()
        with self._guard:
            del self._running[name]
            self._states[name] = self._now(name, training)
        if state == "done":
            self.bring(name, folder)
            self.say(f"{name} is ready")
        elif not self._stop.is_set():
            self.say(f"{name}: {training.progress().problem or state}")

    def _tell(self) -> None:
        """A line every so often, until all have come."""
        while not self._stop.wait(SECONDS_BETWEEN_LINES):
            running = [one for one in self.told() if one.state == "running"]
            if not running:
                return
            self.say("; ".join(map(str, running)))

    def _now(self, name: str, training: Training) -> Coming:
        far = training.progress()
        about = self._states[name].about
        state = "failed" if far.state == "cancelled" else far.state
        return Coming(name, about, state, far.step, far.steps, far.seconds_left, far.problem)


def _data(corpus: Path) -> dict[str, object]:
    """The primer's files; its sentences differ in what they say, if often by one word."""
    places = {"source": "train.en", "target": "train.hi"}
    places |= {"valid_source": "valid.en", "valid_target": "valid.hi"}
    named: dict[str, object] = {f"data.{key}": str(corpus / file) for key, file in places.items()}
    named["data.allow_leakage"] = True
    return named | {"data.source_language": "en", "data.target_language": "hi"}


def _recipe(name: str) -> Recipe:
    with as_file(OFFERED / f"{name}.toml") as file:
        return load_recipe(str(file))


def _ended(folder: Path, name: str) -> bool:
    """Whether the last step's checkpoint is there."""
    return folder.exists() and max(steps_in(folder), default=0) >= _recipe(name).training.steps
