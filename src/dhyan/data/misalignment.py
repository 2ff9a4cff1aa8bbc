"""Where two files of unequal length part: the first line that no longer fits its translation."""

import re
from array import array
from pathlib import Path

import numpy as np
from jaxtyping import Float

from dhyan.data.read_text import raw_lines

LONGEST = 2**16 - 1
_NUMBERS = re.compile(rb"\d{1,15}")

Costs = Float[np.ndarray, " N"]


def first_parted(source: Path, target: Path) -> int:
    """The number of the line from which on the two files fit better if one is moved.

    The lines that are missing are taken to be missing in one place. Lines fit if they are about as
    long as their translations, in the measure of the whole, have the same numbers in them, and are
    blank together.
    """
    ours, theirs = _Looks(source), _Looks(target)
    few, many = sorted((ours, theirs), key=len)
    gap = len(many) - len(few)
    before = _costs(few, many, 0)
    after = _costs(few, many, gap)
    from_here = np.concatenate((np.cumsum(after[::-1])[::-1], [0.0]))
    until_here = np.concatenate(([0.0], np.cumsum(before)))
    return int(np.argmin(until_here + from_here)) + 1


class _Looks:
    """What can be seen of the lines of a file without knowing the language."""

    def __init__(self, path: Path) -> None:
        self.lengths, self.numbers = array("H"), array("I")
        for line in raw_lines(path):
            text = line.strip()
            self.lengths.append(min(len(text.decode("utf-8", "replace")), LONGEST))
            self.numbers.append(hash(tuple(map(int, _NUMBERS.findall(text[:1000])))) % 2**32)

    def __len__(self) -> int:
        return len(self.lengths)


def _costs(few: _Looks, many: _Looks, gap: int) -> Costs:
    """How badly each line fits the one that stands `gap` lines further on."""
    one = np.array(few.lengths, np.float64)
    other = np.array(many.lengths, np.float64)
    measure = np.log((one.sum() + 1) / (other.sum() + 1))
    beside = other[gap : gap + len(one)]
    unlike = np.abs(np.log((one + 1) / (beside + 1)) - measure)
    there = np.array(many.numbers)[gap : gap + len(one)]
    return np.minimum(unlike, 2.0) + 2.0 * (np.array(few.numbers) != there)
