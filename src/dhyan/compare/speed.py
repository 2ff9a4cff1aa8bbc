"""How fast a model trains and translates when it has the machine to itself."""

import tempfile
from dataclasses import replace
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from dhyan.atomic_folder import to_json_bytes
from dhyan.checkpoint import replace_file
from dhyan.compare.environment import surroundings
from dhyan.compare.evaluate import read_json
from dhyan.compare.plan import Entry, Plan
from dhyan.compare.test_sets import Sheet
from dhyan.run import load, train
from dhyan.run.load import choose_device, set_threads
from dhyan.training.events import Stepped

FILE = "speed.json"
BURSTS, STEPS = 6, 4  # the first burst warms up; of the others the median is taken
TRANSLATED, WARM = 200, 8


def measure(plan: Plan, entry: Entry, sheet: Sheet, *, device: str, threads: int) -> dict[str, Any]:
    """Training tokens and translated sentences a second, and where; kept in the model's folder."""
    set_threads(threads)
    found = {
        "surroundings": surroundings(str(choose_device(device))),
        "training_tokens_per_second": training_speed(entry, device=device, threads=threads),
        "sentences_per_second": translating_speed(plan.home(entry), sheet, device=device),
    }
    replace_file(plan.home(entry) / FILE, to_json_bytes(found))
    return found


def measured(plan: Plan, entry: Entry, *, device: str, threads: int) -> dict[str, Any] | None:
    """What was measured before, if that was on this machine, with these threads and versions."""
    set_threads(threads)
    kept, now = read_json(plan.home(entry) / FILE), surroundings(str(choose_device(device)))
    alike = kept and all(kept["surroundings"][key] == now[key] for key in ("machine", "versions"))
    return kept if alike else None


def training_speed(entry: Entry, *, device: str, threads: int) -> float:
    """Target tokens a second in steps of training; nothing of them is kept."""
    training = replace(
        entry.recipe.training,
        schedule="constant",
        steps=BURSTS * STEPS + 1,
        report_every=STEPS,
        validate_every=2 * BURSTS * STEPS,
        save_every=2 * BURSTS * STEPS,
    )
    recipe, paces = replace(entry.recipe, training=training), list[float]()
    with tempfile.TemporaryDirectory() as folder:
        for event in train(recipe, Path(folder) / "burst", device=device, threads=threads):
            if isinstance(event, Stepped):
                paces.append(event.tokens / event.seconds)
            if len(paces) == BURSTS:
                break
    return median(paces[1:])


def translating_speed(home: Path, sheet: Sheet, *, device: str) -> float:
    """Sentences a second, of some that are spread over the test, with the beam of the recipe."""
    translator = load(home, device=device)
    step = max(1, len(sheet.questions) // TRANSLATED)
    sources = [one.source for one in sheet.questions[::step]][:TRANSLATED]
    translator(sources[:WARM])
    began = perf_counter()
    translator(sources)
    return len(sources) / (perf_counter() - began)
