"""Checkpoint probes: one sentence through the checkpoints of a run, its attention and output."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from dhyan.checkpoint import find_checkpoint, steps_in
from dhyan.errors import UserError
from dhyan.studio.request_job import cancellable_lock
from dhyan.studio.traces import check_length

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translation, Translator

MAX_CACHED = 200
Target = Literal["expected", "best", "output"]


@dataclass(frozen=True)
class Probe:
    """A checkpoint's own translation, and its attention as the JSON of a trace.

    `target` is the source of the attention's rows: the expected translation, the output of the
    run's best checkpoint, or the checkpoint's own output.
    """

    step: int
    translation: str
    correct: bool | None
    target: Target
    trace: str


class CheckpointProbes:
    """Probes of checkpoints, one at a time, with a cache."""

    def __init__(self) -> None:
        self._cache: OrderedDict[Any, Any] = OrderedDict()
        self._lock = threading.Lock()

    def probe(
        self, run: Path, step: int, text: str, expected: str = "", *, finished: bool
    ) -> Probe:
        """Force the same target words through every checkpoint, so that attentions compare.

        They are the expected translation where it is known; else that of the best checkpoint, once
        the run is finished.
        """
        if step not in steps_in(run):
            raise UserError(f"there is no checkpoint of step {step}; choose another one")
        with cancellable_lock(self._lock):
            words = expected
            if not words and finished:
                best = find_checkpoint(run)
                words = self._cached((best, text), lambda: _translate(_load(best), text).text)
            target: Target = "expected" if expected else "best" if finished else "output"
            key = (run, step, text, words)
            return self._cached(key, lambda: _probe(run, step, text, words, target))

    def _cached(self, key: Any, make: Callable[[], Any]) -> Any:
        if key in self._cache:
            self._cache.move_to_end(key)
        else:
            self._cache[key] = make()
            while len(self._cache) > MAX_CACHED:
                self._cache.popitem(last=False)
        return self._cache[key]


def _probe(run: Path, step: int, text: str, words: str, target: Target) -> Probe:
    from dhyan.decoding.translator import Translation
    from dhyan.insight.trace import trace_translation

    translator = _load(run / f"step-{step}")
    output = _translate(translator, text)
    forced = output
    if words:
        forced = Translation(words, 0.0, True, tuple(translator.target.encode(words)))
    trace = trace_translation(translator, text, forced, model=f"{run.name}, step {step}")
    correct = output.text == words if target == "expected" else None
    return Probe(step, output.text, correct, target, trace.to_json())


def _load(folder: Path) -> "Translator":
    from dhyan.run import load

    return load(folder, device="cpu").without_files()


def _translate(translator: "Translator", text: str) -> "Translation":
    tokens = check_length(translator, text)
    [translation] = translator(text, beam=1, nbest=1, max_length=2 * tokens + 10)
    return translation
