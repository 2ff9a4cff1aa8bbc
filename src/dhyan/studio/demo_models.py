"""Demo models: trained once when no model is named, then kept in the user's cache.

Their corpus has short sentences of the primer and those of the lecture notes, some of them written
as people type, without a capital letter or a full stop. Interrupted training resumes from the last
checkpoint at the next start.
"""

import os
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from importlib.resources import as_file, files
from itertools import chain, product, repeat
from pathlib import Path

from dhyan.atomic_folder import atomic_folder
from dhyan.checkpoint import steps_in
from dhyan.config import Recipe, load_recipe
from dhyan.data.filters import distinct
from dhyan.data.primer import generate_sentences
from dhyan.errors import UserError
from dhyan.studio.registry import PendingModel
from dhyan.studio.training_job import TrainingJob
from dhyan.version import __version__

NAMES = ("bahdanau", "transformer", "luong", "bottleneck")  # the first is the page's default
REPORT_SECONDS = 15.0
DEMO_RECIPES = files("dhyan.studio") / "demo_recipes"
PAIRS, VALID_PAIRS, LONGEST, CORE_SHARE, SEED = 60_000, 100, 12, 0.15, 1
NOTE_REPEATS, VARIANT_REPEATS = 100, 10  # of a sentence of the notes, and of its variants
INFORMAL_SHARE, INFORMAL_NOTE_SHARE = 0.15, 0.4
# Words with a capital letter only at the beginning of a sentence.
SENTENCE_OPENERS = frozenset(
    "A An And Are But Come Did Do Does He Her His How If In Is It My Nice On Our She That The "
    "Their There These They Think This Those Turn Was We Were What When Where Who Why You "
    "Your".split()
)


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
    paths = {"source": "train.en", "target": "train.hi"}
    paths |= {"valid_source": "valid.en", "valid_target": "valid.hi"}
    settings: dict[str, object] = {f"data.{key}": str(corpus / file) for key, file in paths.items()}
    settings["data.allow_leakage"] = True
    return settings | {"data.source_language": "en", "data.target_language": "hi"}


def _recipe(name: str) -> Recipe:
    with as_file(DEMO_RECIPES / f"{name}.toml") as file:
        return load_recipe(str(file))


def _is_trained(folder: Path, name: str) -> bool:
    """Whether the last step's checkpoint exists."""
    return folder.exists() and max(steps_in(folder), default=0) >= _recipe(name).training.steps


def write_corpus(folder: Path) -> Path:
    """Write training and validation texts into a folder, unless it exists."""
    if folder.exists():
        return folder
    rng = random.Random(SEED)
    generated = generate_sentences("train", seed=SEED, max_words=LONGEST, core_share=CORE_SHARE)
    train = distinct(generated, lambda pair: pair.english, PAIRS)
    pairs = [informal(pair.english, pair.hindi, rng, INFORMAL_SHARE) for pair in train]
    for variants in note_sentences():
        repeats = chain([NOTE_REPEATS], repeat(VARIANT_REPEATS))
        for times, (english, hindi) in zip(repeats, variants, strict=False):
            pairs += [informal(english, hindi, rng, INFORMAL_NOTE_SHARE) for _ in range(times)]
    rng.shuffle(pairs)
    note_translations = {hindi for variants in note_sentences() for _, hindi in variants}
    held_out = generate_sentences("valid", seed=SEED, max_words=LONGEST, core_share=CORE_SHARE)
    unseen = (pair for pair in held_out if pair.hindi not in note_translations)
    distinct_pairs = distinct(unseen, lambda pair: pair.english, VALID_PAIRS)
    valid = [(pair.english, pair.hindi) for pair in distinct_pairs]
    folder.parent.mkdir(parents=True, exist_ok=True)
    with atomic_folder(folder) as partial:
        _write(partial, "train", pairs)
        _write(partial, "valid", valid)
    return folder


def note_sentences() -> list[list[tuple[str, str]]]:
    """The sentences of the notes, each followed by its variants."""
    lines = (DEMO_RECIPES / "notes.txt").read_text(encoding="utf-8").splitlines()
    return [list(_variants(line)) for line in lines if not line.startswith("#")]


def _variants(line: str) -> Iterator[tuple[str, str]]:
    """All combinations of the words of a template's slots; ~ is a space within a word."""
    pair, *slots = line.split(" | ")
    english, hindi = pair.split(" = ")
    names = [slot.partition(": ")[0] for slot in slots]
    words = [[pair.split("/") for pair in slot.partition(": ")[2].split()] for slot in slots]
    for combination in product(*words):
        sides = [
            dict(zip(names, side, strict=True)) for side in zip(*combination, strict=True)
        ] or [
            {},
            {},
        ]
        yield (
            english.format(**sides[0]).replace("~", " "),
            hindi.format(**sides[1]).replace("~", " "),
        )


def informal(english: str, hindi: str, rng: random.Random, share: float) -> tuple[str, str]:
    """The pair, in a share of all cases as people type it."""
    if rng.random() >= share:
        return english, hindi
    if english.split()[0] in SENTENCE_OPENERS:
        english = english[0].lower() + english[1:]
    return (english.rstrip(".?"), hindi.rstrip("।?")) if rng.random() < 0.5 else (english, hindi)


def _write(folder: Path, name: str, pairs: Sequence[tuple[str, str]]) -> None:
    for side, language in enumerate(("en", "hi")):
        text = "".join(f"{pair[side]}\n" for pair in pairs)
        (folder / f"{name}.{language}").write_text(text, encoding="utf-8")
