"""Model registry: the studio's models by name, loaded on first use, one request at a time."""

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dhyan.errors import UserError
from dhyan.model_check import read_training_sentences
from dhyan.studio.model_cards import ModelCard, model_card
from dhyan.studio.request_job import cancellable_lock, report
from dhyan.studio.saved_trace import SavedTrace, read_saved_trace

if TYPE_CHECKING:
    from dhyan.data.training_sentences import TrainingSentences
    from dhyan.decoding.translator import Translator
    from dhyan.insight.trace import Trace

MAX_CACHED_TRACES = 50


@dataclass
class RegisteredModel:
    """A model by its name and folder, or a saved trace by its file."""

    name: str
    path: Path
    saved: SavedTrace | None = None
    _lock: threading.Lock = field(default_factory=threading.Lock)
    _translator: "Translator | None" = None

    def card(self) -> ModelCard:
        """The model card."""
        return self.saved.card(self.name) if self.saved else model_card(self.name, self.path)

    @cached_property
    def training_sentences(self) -> "TrainingSentences | None":
        """The sentences it was trained on; None if they are not known."""
        return None if self.saved else read_training_sentences(self.path)

    @contextmanager
    def translator(self) -> "Iterator[Translator]":
        """The translator, loaded if necessary, for one request at a time."""
        if self.saved:
            raise self.saved.needs_model()
        with cancellable_lock(self._lock):
            if self._translator is None:
                self._translator = self._load()
            yield self._translator

    def _load(self) -> "Translator":
        if "torch" not in sys.modules:
            report("pytorch")
        from dhyan.run import load

        report("weights")
        return load(self.path).without_files()


class ModelRegistry:
    """Models in the order they were named, then saved traces; and a cache of the last traces."""

    def __init__(self, folders: Sequence[Path], traces: Sequence[Path] = ()) -> None:
        names = _unique_names([*folders, *(path.with_suffix("") for path in traces)])
        paths: list[tuple[Path, SavedTrace | None]] = [(folder, None) for folder in folders]
        paths += [(path, read_saved_trace(path)) for path in traces]
        self.models = {
            name: RegisteredModel(name, path, saved)
            for name, (path, saved) in zip(names, paths, strict=True)
        }
        self._traces: OrderedDict[Any, Trace] = OrderedDict()
        self._lock = threading.Lock()

    def add(self, name: str, folder: Path) -> None:
        """Add a model after the others."""
        if name in self.models:
            raise UserError(f"there is a model {name!r} already: choose another name")
        self.models = {**self.models, name: RegisteredModel(name, folder)}

    def get(self, name: str) -> RegisteredModel:
        """The model of a name; the first, if the name is empty."""
        if not self.models:
            raise UserError(
                "there is no model here: train one with `dhyan train`, and start the studio again"
            )
        if not name:
            return next(iter(self.models.values()))
        if name not in self.models:
            raise UserError(f"there is no model {name!r}; there are {', '.join(self.models)}")
        return self.models[name]

    def cached_trace(self, key: Any, make: "Callable[[], Trace]") -> "Trace":
        """The trace of a key from the cache, or a new one."""
        with self._lock:
            if key in self._traces:
                self._traces.move_to_end(key)
                return self._traces[key]
        trace = make()
        with self._lock:
            self._traces[key] = trace
            while len(self._traces) > MAX_CACHED_TRACES:
                self._traces.popitem(last=False)
        return trace


def _unique_names(paths: Sequence[Path]) -> list[str]:
    """The last part of each path; with the part before it where two would be the same, and for `run`.

    `dhyan demo` writes its model to `demo/run`.
    """
    absolute = [path.absolute() for path in paths]
    short = [path.name for path in absolute]
    return [
        name if short.count(name) == 1 and name != "run" else f"{path.parent.name}-{name}"
        for name, path in zip(short, absolute, strict=True)
    ]
