"""Sentences of a test that stand in a training text, word for word or nearly."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Literal
from unicodedata import is_normalized

from dhyan.data.invisible_characters import unseen
from dhyan.data.length_filters import words
from dhyan.data.pairs import Noted, Pair
from dhyan.text.normalize import normalize

RUN = 8  # words in a row that near copies share
ENDS = 3  # words at one end at least that a sentence keeps when one of its words is changed
COVER = 0.5  # the share of a test sentence that lies in such runs
OFTEN = 30  # places of a test that share a run or all words but one: more is everyone's phrase
MOST_KNOWN = 100_000  # training pairs remembered, so that their like need not be looked at again
SHORT = 4  # fewer words than these may stand in both by chance
BY_CHANCE = 0.1  # the share of a test that may do so

Kind = Literal["exact", "folded", "near"]
Where = Literal["source", "target", "pair"]
KINDS: dict[Kind, str] = {
    "exact": "word for word",
    "folded": "but for case, spaces and punctuation",
    "near": f"nearly: all but one word, or half of it in runs of {RUN}",
}
_STRENGTH = {kind: strength for strength, kind in enumerate(KINDS)}
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
)

Gram = tuple[str, ...]


@dataclass(frozen=True)
class Copy:
    """A test sentence found again: how, and where it stands in the training text."""

    kind: Kind
    place: str


@dataclass(frozen=True)
class Leaks:
    """What of a test stands in a training text, by its number in the test."""

    tests: tuple[str, ...]  # the place of each
    short: frozenset[int]
    found: dict[Where, dict[int, Copy]]

    def count(self, where: Where, kind: Kind) -> int:
        """How many were found in this way; each counts once, in the strongest."""
        return sum(copy.kind == kind for copy in self.found[where].values())

    def noted(self, where: Where) -> Noted:
        """How many were found there, and the first of them."""
        noted = Noted()
        for number, copy in sorted(self.found[where].items()):
            noted.add(f"{self.tests[number]} = {copy.place}")
        return noted

    @property
    def all(self) -> dict[int, Copy]:
        """Every test sentence that was found by either side, in the strongest way."""
        together: dict[int, Copy] = {}
        for found in self.found.values():
            for number, copy in found.items():
                _keep(together, number, copy)
        return dict(sorted(together.items()))

    @property
    def telling(self) -> bool:
        """Whether scores on this test would mislead: more was found than chance explains."""
        found = self.all
        return bool(found.keys() - self.short) or len(found) > BY_CHANCE * len(self.tests)

    def __str__(self) -> str:
        found = self.all
        counts = {kind: sum(copy.kind == kind for copy in found.values()) for kind in KINDS}
        ways = ", ".join(f"{n:,} {KINDS[kind]}" for kind, n in counts.items() if n)
        number, first = next(iter(found.items()))
        return (
            f"{len(found):,} of {len(self.tests):,} test sentences stand in the training text "
            f"({ways}; first {self.tests[number]} = {first.place})"
        )


class Lookout:
    """Looks for the sentences of tests in training texts, in one pass over each."""

    def __init__(self) -> None:
        self._places: list[str] = []
        self._short: set[int] = set()
        self._sides = _Side(), _Side()
        self._found: dict[Where, dict[int, Copy]] = {"source": {}, "target": {}, "pair": {}}
        self._known: set[tuple[str, str]] = set()

    def expect(self, tests: Iterable[Pair], name: str) -> None:
        """Look for these too; `name` is that of their file."""
        self._known.clear()
        for pair in tests:
            number = len(self._places)
            self._places.append(f"{name}:{pair.line}")
            long = [
                side.add(number, text)
                for side, text in zip(self._sides, (pair.source, pair.target), strict=True)
            ]
            if not any(long):
                self._short.add(number)

    def see(self, pairs: Iterable[Pair], name: str) -> None:
        """Go through a training text; `name` is that of its file."""
        for _ in self.passing(pairs, name):
            pass

    def passing(self, pairs: Iterable[Pair], name: str) -> Iterator[Pair]:
        """The pairs of a training text, looked at as they go by."""
        ours, theirs = self._sides
        for pair in pairs:
            yield pair
            if (pair.source, pair.target) in self._known:
                continue  # it gives nothing away that its like has not
            one, other = ours.copies(pair.source), theirs.copies(pair.target)
            if not (one or other):
                continue
            if len(self._known) < MOST_KNOWN:
                self._known.add((pair.source, pair.target))
            place = f"{name}:{pair.line}"
            both = {n: max(one[n], other[n], key=_STRENGTH.__getitem__) for n in one & other.keys()}
            ways: dict[Where, dict[int, Kind]] = {"source": one, "target": other, "pair": both}
            for where, copies in ways.items():
                for number, kind in copies.items():
                    _keep(self._found[where], number, Copy(kind, place))

    def leaks(self) -> Leaks:
        """What has been found so far."""
        return Leaks(tuple(self._places), frozenset(self._short), self._found)


@dataclass
class _Side:
    """One side of the tests, to be found by all its words or by runs of them."""

    _normal: dict[int, str] = field(default_factory=dict)
    _words: dict[int, list[str]] = field(default_factory=dict)
    _folded: dict[str, list[int]] = field(default_factory=dict)
    _runs: dict[Gram, list[tuple[int, int]]] = field(default_factory=dict)
    _edges: set[Gram] = field(default_factory=set)
    _nearly: dict[int, list[int]] = field(default_factory=dict)

    def add(self, number: int, text: str) -> bool:
        """Remember a sentence; whether it is too long to stand elsewhere by chance."""
        clean, said = normalize(text), folded(text)
        self._normal[number], self._words[number] = clean, said
        self._folded.setdefault(" ".join(said) or clean, []).append(number)
        for at, run in enumerate(_runs(said)):
            places = self._runs.setdefault(run, [])
            if len(places) < OFTEN:
                places.append((number, at))
        if RUN <= len(said) < 2 * RUN:  # a longer one shares a run, whichever word is changed
            self._edges |= _edges(said)
            for most in _nearly(said):
                numbers = self._nearly.setdefault(most, [])
                if len(numbers) < OFTEN:
                    numbers.append(number)
        return len(said) >= SHORT

    def copies(self, text: str) -> dict[int, Kind]:
        """The numbers of the sentences that this one gives away, and how."""
        said = folded(text)
        found: dict[int, Kind] = {}
        if len(said) >= RUN and (shared := self._runs.keys() & _runs(said)):
            found |= self._in_runs(shared)
        if RUN - 1 <= len(said) <= 2 * RUN and not self._edges.isdisjoint(_edges(said)):
            found |= self._but_for_one(said)
        for number in self._folded.get(" ".join(said) or normalize(text), ()):
            found[number] = "exact" if self._normal[number] == normalize(text) else "folded"
        return found

    def _but_for_one(self, said: list[str]) -> Iterator[tuple[int, Kind]]:
        known = {number for most in _nearly(said) for number in self._nearly.get(most, ())}
        for number in known:
            own = self._words[number]
            if _alike(own, said) + 1 >= max(len(own), len(said)):
                yield number, "near"

    def _in_runs(self, shared: Iterable[Gram]) -> Iterator[tuple[int, Kind]]:
        covered: dict[int, set[int]] = {}
        for run in shared:
            for number, at in self._runs[run]:
                covered.setdefault(number, set()).update(range(at, at + RUN))
        for number, places in covered.items():
            if len(places) >= COVER * len(self._words[number]):
                yield number, "near"


def folded(text: str) -> list[str]:
    """The words of a text in its normal form, in small letters and without punctuation.

    Where a script leaves no spaces between words, each of its letters counts as one.
    """
    if not is_normalized("NFC", text) or any(unseen(text)):
        text = normalize(text)  # else it would change no word
    text = text.casefold()
    if _UNSPACED.search(text):
        text = _UNSPACED.sub(r" \g<0> ", text)
    return words(text)


def _alike(one: list[str], other: list[str]) -> int:
    """How many words are the same from the start and from the end."""
    short = min(len(one), len(other))
    front = next((at for at in range(short) if one[at] != other[at]), short)
    back = next(
        (at for at in range(short - front) if one[-1 - at] != other[-1 - at]), short - front
    )
    return front + back


def _edges(said: list[str]) -> set[Gram]:
    """The first words and the last: one of the two stays when a word is changed."""
    return {("first", *said[:ENDS]), ("last", *said[-ENDS:])}


def _nearly(said: list[str]) -> set[int]:
    """A number for all the words, and for all but each one.

    Whether a word was changed, left out or put in, two sentences then share one of them.
    """
    return {hash(tuple(said)), *(hash((*said[:at], *said[at + 1 :])) for at in range(len(said)))}


def _runs(said: list[str]) -> Iterator[Gram]:
    return zip(*(said[start:] for start in range(RUN)), strict=False)


def _keep(found: dict[int, Copy], number: int, copy: Copy) -> None:
    """Note a copy, unless a stronger one is known."""
    known = found.get(number)
    if known is None or _STRENGTH[copy.kind] < _STRENGTH[known.kind]:
        found[number] = copy
