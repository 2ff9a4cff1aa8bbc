"""The models the page can ask: found by name, loaded when first asked, one question at a time."""

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dhyan.errors import UserError
from dhyan.studio.model_cards import Card, card
from dhyan.studio.saved_trace import Saved, read_saved
from dhyan.studio.training_status import Coming

if TYPE_CHECKING:
    from dhyan.decoding.translator import Translator
    from dhyan.insight.trace import Trace

MOST_TRACES = 50


@dataclass
class Book:
    """A model by its name and folder, loaded at the first question; or a trace from its file."""

    name: str
    folder: Path
    lock: threading.Lock = field(default_factory=threading.Lock)
    translator: "Translator | None" = None
    saved: Saved | None = None

    def card(self) -> Card:
        """What the page says of it."""
        return self.saved.card(self.name) if self.saved else card(self.name, self.folder)

    @contextmanager
    def opened(self) -> "Iterator[Translator]":
        """The translator, for one question at a time."""
        if self.saved:
            raise self.saved.alone()
        with self.lock:
            if self.translator is None:
                from dhyan.run import load

                self.translator = load(self.folder)
            yield self.translator


class Shelf:
    """Models in the order they were named, and the last traces made with them.

    After the models stand traces that were saved, each read from its file.
    """

    def __init__(self, folders: Sequence[Path], traces: Sequence[Path] = ()) -> None:
        names = _names([*folders, *(path.with_suffix("") for path in traces)])
        found = [(folder, None) for folder in folders] + [(one, read_saved(one)) for one in traces]
        self.books = {
            name: Book(name, place, saved=saved)
            for name, (place, saved) in zip(names, found, strict=True)
        }
        self.coming: Callable[[], Sequence[Coming]] = tuple  # models on their way, if any
        self._traces: OrderedDict[Any, Trace] = OrderedDict()
        self._guard = threading.Lock()

    def add(self, name: str, folder: Path) -> None:
        """Put one more model on it, after the others."""
        if name in self.books:
            raise UserError(f"there is a model {name!r} already: choose another name")
        self.books = {**self.books, name: Book(name, folder)}

    def book(self, name: str) -> Book:
        """The model of a name; the first, if none is named."""
        if not self.books and self.coming():
            raise UserError("no model is ready yet: the first will be in a minute or two")
        if not self.books:
            raise UserError(
                "there is no model here: start the studio with a folder of `dhyan train`"
            )
        if not name:
            return next(iter(self.books.values()))
        if name not in self.books:
            raise UserError(f"there is no model {name!r}; there are {', '.join(self.books)}")
        return self.books[name]

    def trace(self, key: Any, make: "Callable[[], Trace]") -> "Trace":
        """What was made for this key, or what is made now."""
        with self._guard:
            if key in self._traces:
                self._traces.move_to_end(key)
                return self._traces[key]
        found = make()
        with self._guard:
            self._traces[key] = found
            while len(self._traces) > MOST_TRACES:
                self._traces.popitem(last=False)
        return found


def _names(folders: Sequence[Path]) -> list[str]:
    """The last part of each path; with the part before it where two would be the same."""
    whole = [folder.absolute() for folder in folders]
    short = [folder.name for folder in whole]
    return [
        name if short.count(name) == 1 else f"{folder.parent.name}-{name}"
        for name, folder in zip(short, whole, strict=True)
    ]
