"""Demo models: trained once on the primer when no model is named, then kept in the user's cache.

Interrupted training resumes from the last checkpoint at the next start.
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
from dhyan.studio.demo_corpus import (
    CORE_SHARE,
    DEMO_RECIPES,
    LONGEST,
    NOTE_REPEATS,
    PAIRS,
    VARIANT_REPEATS,
    write_corpus,
)
from dhyan.studio.registry import PendingModel
from dhyan.studio.training_job import TrainingJob
from dhyan.version import __version__

NAMES = ("bahdanau", "transformer", "luong", "bottleneck")  # the first is the page's default
REPORT_SECONDS = 15.0


def cache_folder() -> Path:
    """The folder of the demo models in the user's cache, another for every version and recipe."""
    caches = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    corpus = f"{PAIRS} {LONGEST} {CORE_SHARE} {NOTE_REPEATS} {VARIANT_REPEATS}"
    digest = sha256(f"{__version__} {corpus}".encode())
    for path in sorted(DEMO_RECIPES.iterdir(), key=lambda path: path.name):
        digest.update(path.read_bytes())
    return caches / "dhyan" / f"studio-{digest.hexdigest()[:8]}"


def trained_models(folder: Path) -> list[Path]:
    """The demo models whose training is complete."""
    return [folder / name for name in NAMES if _is_trained(folder / name, name)]


class DemoTraining:
    """Trains the missing demo models in the background, as many at once as there are CPUs.

    `on_trained` is called with the name and folder of each; `report` gets lines for the terminal.
    """

    def __init__(
        self,
        folder: Path,
        on_trained: Callable[[str, Path], None],
        report: Callable[[str], None],
    ) -> None:
        self.folder, self._on_trained, self._report = folder, on_trained, report
        self._names = [name for name in NAMES if not _is_trained(folder / name, name)]
        self._states = {
            name: PendingModel(name, _recipe(name).about, "waiting") for name in self._names
        }
        self._jobs: dict[str, TrainingJob] = {}
        self._lock, self._stopping = threading.Lock(), threading.Event()
        self._thread = threading.Thread(target=self._train_all, daemon=True)

    def start(self) -> None:
        """Start in the background."""
        self._thread.start()

    def progress(self) -> list[PendingModel]:
        """The progress of each model that was missing at the start."""
        with self._lock:
            for name, job in self._jobs.items():
                self._states[name] = self._state(name, job)
            return list(self._states.values())

    def stop(self) -> None:
        """Stop; running jobs save a checkpoint first."""
        self._stopping.set()
        for job in list(self._jobs.values()):
            job.stop()
        if self._thread.is_alive():
            self._thread.join(1)

    def _train_all(self) -> None:
        try:
            corpus = write_corpus(self.folder / "corpus")
        except (OSError, UserError) as error:
            for name in self._names:
                self._states[name] = PendingModel(name, "", "failed", error=str(error))
            self._report(f"the demo models cannot be trained: {error}")
            return
        threading.Thread(target=self._report_progress, daemon=True).start()
        with ThreadPoolExecutor(os.cpu_count() or 1) as pool:
            for name in self._names:
                pool.submit(self._train, name, corpus)

    def _train(self, name: str, corpus: Path) -> None:
        if self._stopping.is_set():
            return
        folder = self.folder / name
        with as_file(DEMO_RECIPES / f"{name}.toml") as recipe:
            resume = bool(steps_in(folder)) if folder.exists() else False
            settings = _data_settings(corpus)
            job = TrainingJob(name, str(recipe), folder, settings=settings, resume=resume)
            with self._lock:
                self._jobs[name] = job
            state = job.wait()
        with self._lock:
            del self._jobs[name]
            self._states[name] = self._state(name, job)
        if state == "done":
            self._on_trained(name, folder)
            self._report(f"{name} is ready")
        elif not self._stopping.is_set():
            self._report(f"{name}: {job.progress().error or state}")

    def _report_progress(self) -> None:
        """Report progress at intervals until all are trained."""
        while not self._stopping.wait(REPORT_SECONDS):
            running = [model for model in self.progress() if model.state == "running"]
            if not running:
                return
            self._report("; ".join(map(str, running)))

    def _state(self, name: str, job: TrainingJob) -> PendingModel:
        now = job.progress()
        about = self._states[name].about
        state = "failed" if now.state == "cancelled" else now.state
        return PendingModel(name, about, state, now.step, now.steps, now.seconds_left, now.error)


def _data_settings(corpus: Path) -> dict[str, object]:
    """Settings of the demo corpus, whose sentences may differ from the test's by one word only."""
    files = {"source": "train.en", "target": "train.hi"}
    files |= {"valid_source": "valid.en", "valid_target": "valid.hi"}
    settings: dict[str, object] = {f"data.{key}": str(corpus / file) for key, file in files.items()}
    settings["data.allow_leakage"] = True
    return settings | {"data.source_language": "en", "data.target_language": "hi"}


def _recipe(name: str) -> Recipe:
    with as_file(DEMO_RECIPES / f"{name}.toml") as file:
        return load_recipe(str(file))


def _is_trained(folder: Path, name: str) -> bool:
    """Whether the last step's checkpoint exists."""
    return folder.exists() and max(steps_in(folder), default=0) >= _recipe(name).training.steps
