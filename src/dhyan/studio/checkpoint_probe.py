"""One sentence through the checkpoints of a run: where each of them looks, and what it says."""

import threading
from collections import OrderedDict
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from dhyan.checkpoint import find_checkpoint, steps_in
from dhyan.errors import UserError
from dhyan.studio.schemas import MOST_TOKENS

MOST_KEPT = 200
Rows = Literal["answer", "best", "own"]


@dataclass(frozen=True)
class Probed:
    """The attention of a checkpoint as the JSON of a trace, and what it says itself.

    `rows` tells whose words ask in the picture: the correct answer's, those of the run's best
    checkpoint, or the checkpoint's own.
    """

    step: int
    said: str
    right: bool | None
    rows: Rows
    trace: str


class Probes:
    """Sentences put to checkpoints, one at a time; the last answers are remembered."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, Any] = OrderedDict()
        self._guard = threading.Lock()

    def ask(self, run: Path, step: int, text: str, answer: str = "", *, settled: bool) -> Probed:
        """Follow the attention over the same words at every checkpoint, so that they compare.

        These are the words of the correct answer, where it is known; else those the best
        checkpoint says, once the run is settled.
        """
        if step not in steps_in(run):
            raise UserError(f"there is no checkpoint of step {step}; choose another one")
        with self._guard:
            said = answer
            if not said and settled:
                best = find_checkpoint(run)
                said = self._remembered((best, text), lambda: _said(best, text))
            rows: Rows = "answer" if answer else "best" if settled else "own"
            key = (run, step, text, said)
            return self._remembered(key, lambda: _probe(run, step, text, said, rows))

    def _remembered(self, key: Any, make: Any) -> Any:
        if key in self._kept:
            self._kept.move_to_end(key)
        else:
            self._kept[key] = make()
            while len(self._kept) > MOST_KEPT:
                self._kept.popitem(last=False)
        return self._kept[key]


def _said(folder: Path, text: str) -> str:
    return _translated(_loaded(folder), text).text


def _probe(run: Path, step: int, text: str, told: str, rows: Rows) -> Probed:
    from dhyan.decoding.translator import Translation
    from dhyan.insight.trace import trace_translation

    translator = _loaded(run / f"step-{step}")
    own = _translated(translator, text)
    forced = own
    if told:
        forced = Translation(told, 0.0, True, tuple(translator.target.encode(told)))
    found = trace_translation(translator, text, forced, model=f"{run.name}, step {step}")
    right = own.text == told if rows == "answer" else None
    return Probed(step, own.text, right, rows, found.to_json())


def _loaded(folder: Path) -> Any:
    from dhyan.run import load

    return load(folder, device="cpu")


def _translated(translator: Any, text: str) -> Any:
    tokens = len(translator.encode(text)) - 1
    if not 0 < tokens <= MOST_TOKENS:
        raise UserError(f"{tokens} tokens; the page takes from 1 to {MOST_TOKENS}")
    [said] = translator(text, beam=1, nbest=1, max_length=2 * tokens + 10)
    return said
