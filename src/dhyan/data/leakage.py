"""Train/test leakage: test sentences that occur in the training text, exactly or nearly."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal
from unicodedata import is_normalized

from dhyan.config import Data
from dhyan.data.corpus_files import read_files, test_files
from dhyan.data.filters import invisible_classes, split_words
from dhyan.data.pairs import Occurrences, Pair
from dhyan.data.read_text import printable
from dhyan.errors import UserError
from dhyan.text.normalize import normalize

logger = logging.getLogger(__name__)

NGRAM = 8  # words in a row that near copies share
EDGE = 3  # words: of two sentences that differ in one word, the first or the last so many agree
COVERAGE = 0.5  # the share of a test sentence that must lie in shared n-grams
MAX_SHARED = 30  # test sentences with the same n-gram; one that is more common is a set phrase
MAX_REMEMBERED_PAIRS = 100_000  # training pairs remembered, so that their duplicates are skipped
MIN_WORDS = 4  # shorter sentences may occur in both texts by chance
CHANCE_SHARE = 0.1  # of a test that may do so

MatchKind = Literal["exact", "folded", "near"]
MatchSide = Literal["source", "target", "pair"]
MATCH_KINDS: dict[MatchKind, str] = {  # the strongest first
    "exact": "word for word",
    "folded": "but for case, spaces and punctuation",
    "near": f"nearly: all but one word, or half of it in {NGRAM}-grams",
}
_RANK = {kind: rank for rank, kind in enumerate(MATCH_KINDS)}
_UNSPACED_SCRIPTS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
)
REMEDY = "take them out of one of the two, or go on all the same with --allow-leakage"

Ngram = tuple[str, ...]


@dataclass(frozen=True)
class Match:
    """A test sentence that occurs in the training text: how, and where."""

    kind: MatchKind
    location: str


@dataclass(frozen=True)
class LeakageReport:
    """The matches of a test in a training text, by the number of the test sentence."""

    test_locations: tuple[str, ...]
    short: frozenset[int]
    matches: dict[MatchSide, dict[int, Match]]

    def count(self, side: MatchSide, kind: MatchKind) -> int:
        """How many sentences match in this way; each counts once, as its strongest match."""
        return sum(match.kind == kind for match in self.matches[side].values())

    def occurrences(self, side: MatchSide) -> Occurrences:
        """How many sentences match on this side, and the first of them."""
        occurrences = Occurrences()
        for number, match in sorted(self.matches[side].items()):
            occurrences.add(f"{self.test_locations[number]} = {match.location}")
        return occurrences

    @property
    def all(self) -> dict[int, Match]:
        """Every test sentence that matches on either side, with its strongest match."""
        strongest: dict[int, Match] = {}
        for matches in self.matches.values():
            for number, match in matches.items():
                _add_match(strongest, number, match)
        return dict(sorted(strongest.items()))

    @property
    def significant(self) -> bool:
        """Whether scores on this test would mislead: more matches than chance explains."""
        matches = self.all
        long = matches.keys() - self.short
        return bool(long) or len(matches) > CHANCE_SHARE * len(self.test_locations)

    def __str__(self) -> str:
        matches = self.all
        counts = {kind: sum(match.kind == kind for match in matches.values()) for kind in _RANK}
        kinds = ", ".join(f"{n:,} {MATCH_KINDS[kind]}" for kind, n in counts.items() if n)
        number, first = next(iter(matches.items()))
        return (
            f"{len(matches):,} of {len(self.test_locations):,} test sentences occur in the training "
            f"text ({kinds}; first {self.test_locations[number]} = {first.location})"
        )


class LeakageDetector:
    """Searches training texts for the sentences of tests, in one pass over each text."""

    def __init__(self) -> None:
        self._test_locations: list[str] = []
        self._short: set[int] = set()
        self._indices = _SentenceIndex(), _SentenceIndex()
        self._matches: dict[MatchSide, dict[int, Match]] = {"source": {}, "target": {}, "pair": {}}
        self._matched_pairs: set[tuple[str, str]] = set()

    def add_test(self, pairs: Iterable[Pair], name: str) -> None:
        """Search for these sentences too; `name` is that of their file."""
        self._matched_pairs.clear()
        for pair in pairs:
            number = len(self._test_locations)
            self._test_locations.append(f"{name}:{pair.line}")
            long = [
                index.add(number, text)
                for index, text in zip(self._indices, (pair.source, pair.target), strict=True)
            ]
            if not any(long):
                self._short.add(number)

    def scan(self, pairs: Iterable[Pair], name: str) -> None:
        """Search a training text; `name` is that of its file."""
        for _ in self.scan_while_reading(pairs, name):
            pass

    def scan_while_reading(self, pairs: Iterable[Pair], name: str) -> Iterator[Pair]:
        """Search a training text, and pass its pairs on."""
        source_index, target_index = self._indices
        for pair in pairs:
            yield pair
            if (pair.source, pair.target) in self._matched_pairs:
                continue  # a duplicate matches what the first one matched
            source, target = source_index.matches(pair.source), target_index.matches(pair.target)
            if not (source or target):
                continue
            if len(self._matched_pairs) < MAX_REMEMBERED_PAIRS:
                self._matched_pairs.add((pair.source, pair.target))
            location = f"{name}:{pair.line}"
            both = {
                number: max(source[number], target[number], key=_RANK.__getitem__)
                for number in source & target.keys()
            }
            sides: dict[MatchSide, dict[int, MatchKind]] = {
                "source": source,
                "target": target,
                "pair": both,
            }
            for side, kinds in sides.items():
                for number, kind in kinds.items():
                    _add_match(self._matches[side], number, Match(kind, location))

    def report(self) -> LeakageReport:
        """The matches so far."""
        return LeakageReport(tuple(self._test_locations), frozenset(self._short), self._matches)


def check_leakage(
    data: Data, validation: Sequence[Pair], training: Iterable[tuple[str, Iterable[Pair]]]
) -> None:
    """Refuse to train on sentences of the validation or test set that the recipe names.

    `training` holds the training texts by their names. Where leakage is allowed, it is logged.
    """
    detector, has_test = LeakageDetector(), False
    if data.valid_source:
        detector.add_test(validation, printable(data.valid_source))
        has_test = True
    if files := test_files(data):
        detector.add_test(read_files(files, stream=False).pairs, printable(data.test_source))
        has_test = True
    if not has_test:
        return
    for name, pairs in training:
        detector.scan(pairs, printable(Path(name)))
    report = detector.report()
    if report.significant and not data.allow_leakage:
        raise UserError(f"{report}; {REMEDY}")
    if report.all:
        reason = "allowed" if report.significant else "short sentences, as expected by chance"
        logger.warning(f"{report}: {reason}")


@dataclass
class _SentenceIndex:
    """One side of the test sentences, found by all their words, all but one, or n-grams."""

    _normalized: dict[int, str] = field(default_factory=dict)
    _words: dict[int, list[str]] = field(default_factory=dict)
    _folded: dict[str, list[int]] = field(default_factory=dict)
    _ngrams: dict[Ngram, list[tuple[int, int]]] = field(default_factory=dict)
    _edges: set[Ngram] = field(default_factory=set)
    _deletions: dict[int, list[int]] = field(default_factory=dict)

    def add(self, number: int, text: str) -> bool:
        """Add a sentence; returns whether it is too long to occur elsewhere by chance."""
        normalized, words = normalize(text), fold_words(text)
        self._normalized[number], self._words[number] = normalized, words
        self._folded.setdefault(" ".join(words) or normalized, []).append(number)
        for position, ngram in enumerate(_ngrams(words)):
            positions = self._ngrams.setdefault(ngram, [])
            if len(positions) < MAX_SHARED:
                positions.append((number, position))
        if NGRAM <= len(words) < 2 * NGRAM:  # a longer one shares an n-gram after any one change
            self._edges |= _edges(words)
            for key in _deletion_hashes(words):
                numbers = self._deletions.setdefault(key, [])
                if len(numbers) < MAX_SHARED:
                    numbers.append(number)
        return len(words) >= MIN_WORDS

    def matches(self, text: str) -> dict[int, MatchKind]:
        """The numbers of the test sentences that a training sentence matches, and how."""
        words = fold_words(text)
        kinds: dict[int, MatchKind] = {}
        if len(words) >= NGRAM and (shared := self._ngrams.keys() & _ngrams(words)):
            kinds |= self._covered_by(shared)
        if NGRAM - 1 <= len(words) <= 2 * NGRAM and not self._edges.isdisjoint(_edges(words)):
            kinds |= self._one_word_away(words)
        for number in self._folded.get(" ".join(words) or normalize(text), ()):
            kinds[number] = "exact" if self._normalized[number] == normalize(text) else "folded"
        return kinds

    def _one_word_away(self, words: list[str]) -> Iterator[tuple[int, MatchKind]]:
        candidates = {n for key in _deletion_hashes(words) for n in self._deletions.get(key, ())}
        for number in candidates:
            test_words = self._words[number]
            if _shared_ends(test_words, words) + 1 >= max(len(test_words), len(words)):
                yield number, "near"

    def _covered_by(self, shared: Iterable[Ngram]) -> Iterator[tuple[int, MatchKind]]:
        covered: dict[int, set[int]] = {}
        for ngram in shared:
            for number, position in self._ngrams[ngram]:
                covered.setdefault(number, set()).update(range(position, position + NGRAM))
        for number, positions in covered.items():
            if len(positions) >= COVERAGE * len(self._words[number]):
                yield number, "near"


def fold_words(text: str) -> list[str]:
    """The words of a normalised text, case-folded and without punctuation.

    In scripts without spaces between words, each character counts as a word.
    """
    if not is_normalized("NFC", text) or any(invisible_classes(text)):
        text = normalize(text)  # otherwise it would not change any word
    text = text.casefold()
    if _UNSPACED_SCRIPTS.search(text):
        text = _UNSPACED_SCRIPTS.sub(r" \g<0> ", text)
    return split_words(text)


def _shared_ends(first: list[str], second: list[str]) -> int:
    """How many words agree, counted from the start and from the end."""
    shorter = min(len(first), len(second))
    prefix = next((i for i in range(shorter) if first[i] != second[i]), shorter)
    rest = shorter - prefix
    suffix = next((i for i in range(rest) if first[-1 - i] != second[-1 - i]), rest)
    return prefix + suffix


def _edges(words: list[str]) -> set[Ngram]:
    """The first and the last words; one of the two stays when a word is changed."""
    return {("first", *words[:EDGE]), ("last", *words[-EDGE:])}


def _deletion_hashes(words: list[str]) -> set[int]:
    """Hashes of the sentence and of the sentence without each word.

    Two sentences that differ by one substitution, deletion or insertion share one of them.
    """
    return {
        hash(tuple(words)),
        *(hash((*words[:index], *words[index + 1 :])) for index in range(len(words))),
    }


def _ngrams(words: list[str]) -> Iterator[Ngram]:
    return zip(*(words[start:] for start in range(NGRAM)), strict=False)


def _add_match(matches: dict[int, Match], number: int, match: Match) -> None:
    """Add a match, unless a stronger one is there."""
    previous = matches.get(number)
    if previous is None or _RANK[match.kind] < _RANK[previous.kind]:
        matches[number] = match
