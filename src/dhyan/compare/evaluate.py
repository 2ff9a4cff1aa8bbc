"""A trained model sits every test: what it says, what it looks at, and where it is right."""

import json
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from dhyan.atomic_folder import to_json_bytes
from dhyan.batch import Batch
from dhyan.checkpoint import find_checkpoint, replace_file
from dhyan.compare.alignment_quality import looked
from dhyan.compare.plan import Entry, Plan
from dhyan.compare.test_sets import Sheet, Sheets
from dhyan.compare.train_one import last_step, spent_on
from dhyan.data.batches import sorted_batches
from dhyan.data.encode import encode_validation
from dhyan.decoding.forced_decoding import evaluation_mode
from dhyan.decoding.translator import Translator
from dhyan.evaluation.accuracy_by_position import PARTS, accuracy_by_position
from dhyan.run import load
from dhyan.run.evaluate import examine
from dhyan.run.load import set_threads

FILE = "result.json"
Progress = Callable[[int], None]


def sit(
    plan: Plan,
    entry: Entry,
    tests: Sheets,
    *,
    device: str,
    threads: int,
    on_progress: Progress | None = None,
) -> dict[str, Any]:
    """All that is to be known of a model but its speed; kept in its folder as result.json."""
    home = plan.home(entry)
    set_threads(threads)
    translator = load(home, device=device)
    steps = last_step(home)
    result = {
        "name": entry.name,
        "about": entry.about,
        "parameters": entry.parameters,
        "steps": steps,
        "training_seconds": spent_on(home, steps),
        "best_step": int(find_checkpoint(home).name.removeprefix("step-")),
        "beam": translator.beam,
        "device": str(translator.device),
        "language": translator.language,
        "answers": {
            one.name: _answers(translator, entry, one, on_progress) for one in tests.sheets
        },
        "positions": _positions(translator, entry, tests.main),
        **looked(translator, entry.recipe, tests),
    }
    replace_file(home / FILE, to_json_bytes(result))
    return result


def sat(plan: Plan, entry: Entry) -> dict[str, Any] | None:
    """What is known of a model that has sat the tests."""
    return read_json(plan.home(entry) / FILE)


def read_json(path: Path) -> dict[str, Any] | None:
    """A file of the comparison's own, if it is there."""
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None


def _answers(
    translator: Translator, entry: Entry, sheet: Sheet, on_progress: Progress | None
) -> dict[str, Any]:
    exam = sheet.exam()
    exam.gold.clear()  # alignments are read by layer, elsewhere
    system = examine(translator, entry.name, exam, on_progress=on_progress)
    return {"said": system.said, "cut_off": system.cut_off, "empty": system.empty}


def _positions(translator: Translator, entry: Entry, sheet: Sheet) -> dict[str, Any]:
    """How often the next word is right, by its place in the sentence, told those before."""
    recipe, pairs = entry.recipe, sheet.exam().pairs
    examples = encode_validation(
        pairs,
        translator.source,
        translator.target,
        text=recipe.text,
        max_tokens=recipe.data.max_tokens,
    )
    batches = sorted_batches(examples, recipe.training.tokens_per_batch)

    def answered() -> Iterator[tuple[Float[Tensor, "B T V"], Batch]]:
        for batch in batches:
            here = batch.to(translator.device)
            yield translator.model(here), here

    with evaluation_mode(translator.model), torch.inference_mode():
        return {"parts": PARTS, **asdict(accuracy_by_position(answered()))}
