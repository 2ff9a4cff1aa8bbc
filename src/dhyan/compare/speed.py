"""Training and translation speed of compared models, measured with one model at a time."""

import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from dhyan.atomic_folder import to_json_bytes
from dhyan.checkpoint import replace_file
from dhyan.compare.evaluate import read_json
from dhyan.compare.plan import Entry, Plan
from dhyan.compare.test_sets import EvaluationSet
from dhyan.config import Training
from dhyan.config.declare_settings import settings_of
from dhyan.run import load, train
from dhyan.run.environment import measurement_environment, set_threads
from dhyan.run.load import choose_device
from dhyan.training.events import Stepped

FILE = "speed.json"
BURSTS, STEPS = 6, 4  # the first burst warms up; the result is the median of the others
TRANSLATED, WARM = 200, 8


def measure_speed(
    plan: Plan, entry: Entry, test_set: EvaluationSet, *, device: str, threads: int
) -> dict[str, Any]:
    """Measure training tokens and translated sentences per second; written to speed.json."""
    set_threads(threads)
    speed = {
        "environment": measurement_environment(str(choose_device(device))),
        "training_tokens_per_second": training_speed(entry, device=device, threads=threads),
        "sentences_per_second": translating_speed(plan.run_folder(entry), test_set, device=device),
    }
    replace_file(plan.run_folder(entry) / FILE, to_json_bytes(speed))
    return speed


def read_speed(plan: Plan, entry: Entry, *, device: str, threads: int) -> dict[str, Any] | None:
    """The measured speed, if it is of this machine, these threads and versions."""
    set_threads(threads)
    speed = read_json(plan.run_folder(entry) / FILE)
    now = measurement_environment(str(choose_device(device)))
    same = speed and all(speed["environment"][key] == now[key] for key in ("machine", "versions"))
    return speed if same else None


def training_speed(entry: Entry, *, device: str, threads: int) -> float:
    """Target tokens per second of training steps, in a temporary folder."""
    of_schedules = {
        name: setting.default
        for name, setting in settings_of(Training).items()
        if setting.depends_on == "schedule"
    }
    training = replace(
        entry.recipe.training,
        **of_schedules,
        schedule="constant",
        steps=BURSTS * STEPS + 1,
        report_every=STEPS,
        validate_every=2 * BURSTS * STEPS,
        save_every=2 * BURSTS * STEPS,
    )
    recipe, speeds = replace(entry.recipe, training=training), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        for event in train(recipe, Path(folder) / "burst", device=device, threads=threads):
            if isinstance(event, Stepped):
                speeds.append(event.tokens / event.seconds)
            if len(speeds) == BURSTS:
                break
    return median(speeds[1:])


def translating_speed(run_folder: Path, test_set: EvaluationSet, *, device: str) -> float:
    """Sentences per second, over a sample of the test set, with the beam of the recipe."""
    translator = load(run_folder, device=device)
    step = max(1, len(test_set.examples) // TRANSLATED)
    sources = [example.source for example in test_set.examples[::step]][:TRANSLATED]
    translator(sources[:WARM])
    start = perf_counter()
    translator(sources)
    return len(sources) / (perf_counter() - start)
