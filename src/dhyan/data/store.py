"""Token stores on disk: flat files of ids and offsets that are mapped, not read."""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import BinaryIO

import numpy as np
from jaxtyping import Shaped

from dhyan.data.examples import Examples, Sentences

SIDES = ("source", "target")
FILES = tuple(f"{side}.{what}" for side in SIDES for what in ("ids", "offsets"))


class Writer:
    """Pairs of ids, appended to the files of a store.

    Ids are four bytes each and offsets eight, the low byte first.
    """

    def __init__(self, files: Mapping[str, BinaryIO]) -> None:
        self.tokens = dict.fromkeys(SIDES, 0)
        self._files = files
        for side in SIDES:
            self._files[f"{side}.offsets"].write(bytes(8))

    def add(self, source: list[int], target: list[int]) -> None:
        """One more pair, special ids included."""
        for side, ids in zip(SIDES, (source, target), strict=True):
            self.tokens[side] += len(ids)
            self._files[f"{side}.ids"].write(np.array(ids, "<i4").tobytes())
            self._files[f"{side}.offsets"].write(self.tokens[side].to_bytes(8, "little"))


@contextmanager
def new_store(folder: Path) -> Iterator[Writer]:
    """Write a store into a folder; it is complete when the context ends."""
    with ExitStack() as held:
        yield Writer({name: held.enter_context(open(folder / name, "wb")) for name in FILES})


def open_store(folder: Path) -> Examples:
    """The examples of a store; only what a batch needs is ever read."""
    source, target = (
        Sentences(
            _mapped(folder / f"{side}.ids", "<i4"), _mapped(folder / f"{side}.offsets", "<i8")
        )
        for side in SIDES
    )
    return Examples(source, target)


def _mapped(path: Path, kind: str) -> Shaped[np.ndarray, " N"]:
    return np.asarray(np.memmap(path, dtype=kind, mode="r"))
