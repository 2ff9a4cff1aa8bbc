"""Leakage: validation or test sentences that occur in the training text, exactly or nearly."""

import logging
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Literal
from unicodedata import is_normalized

from dhyan.config import Data
from dhyan.data.corpus_files import read_files, test_files
from dhyan.data.filters import invisible_classes, split_words
from dhyan.data.pairs import Pair, Side
from dhyan.data.read_report import Occurrences
from dhyan.data.text_lines import printable
from dhyan.errors import UserError, spell_option
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
HeldOut = Literal["validation", "test"]
MATCH_KINDS: dict[MatchKind, str] = {  # the strongest first
    "exact": "word for word",
    "folded": "but for case, spaces and punctuation",
    "near": f"nearly: all but one word, or half of it in {NGRAM}-grams",
}
_RANK = {kind: rank for rank, kind in enumerate(MATCH_KINDS)}
_UNSPACED_SCRIPTS = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff]"
)
Ngram = tuple[str, ...]


@dataclass(frozen=True)
class Match:
    """A test sentence that occurs in the training text: how, and where, on the side that matches."""

    kind: MatchKind
    test_location: str
    location: str

    def __str__(self) -> str:
        return f"{self.test_location} = {self.location}"


@dataclass(frozen=True)
class LeakageReport:
    """The matches of a held-out set in a training text, by the number of its sentence."""

    held_out: HeldOut
    sentences: int
    short: frozenset[int]
    matches: dict[MatchSide, dict[int, Match]]

    def count(self, side: MatchSide, kind: MatchKind) -> int:
        """How many sentences match in this way; each counts once, as its strongest match."""
        return sum(match.kind == kind for match in self.matches[side].values())

    def occurrences(self, side: MatchSide) -> Occurrences:
        """How many sentences match on this side, and the first of them."""
        occurrences = Occurrences()
        for _, match in sorted(self.matches[side].items()):
            occurrences.add(str(match))
        return occurrences

    @property
    def all(self) -> dict[int, Match]:
        """Every sentence that matches on either side, with its strongest match."""
        strongest: dict[int, Match] = {}
        for matches in self.matches.values():
            for number, match in matches.items():
                _add_match(strongest, number, match)
        return dict(sorted(strongest.items()))

    @property
    def significant(self) -> bool:
        """Whether scores on this set would mislead: more matches than chance explains."""
        matches = self.all
        return bool(matches.keys() - self.short) or self._exceeds_chance(len(matches))

    @property
    def to_drop(self) -> set[int]:
        """The sentences whose copies must not be trained on; not the short, if few match."""
        matches = set(self.all)
        short = matches & self.short
        return matches if self._exceeds_chance(len(short)) else matches - short

    def _exceeds_chance(self, count: int) -> bool:
        return count > CHANCE_SHARE * self.sentences

    def __str__(self) -> str:
        matches = self.all
        counts = {kind: sum(match.kind == kind for match in matches.values()) for kind in _RANK}
        kinds = ", ".join(f"{n:,} {MATCH_KINDS[kind]}" for kind, n in counts.items() if n)
        first = next(iter(matches.values()))
        return (
            f"{len(matches):,} of {self.sentences:,} {self.held_out} sentences occur in the "
            f"training text ({kinds}; first {first})"
        )


class LeakageDetector:
    """Searches training texts for held-out sentences, in one pass over each text.

    Only `sides` of text are compared: labels and tags occur everywhere, and pictures are no words.
    """

    def __init__(self, sides: Sequence[Side] = ("source", "target")) -> None:
        self._sides = sides
        self._locations: list[dict[MatchSide, str]] = []
        self._numbers: dict[HeldOut, list[int]] = {}
        self._short: set[int] = set()
        self._indices = _SentenceIndex(), _SentenceIndex()
        self._matches: dict[MatchSide, dict[int, Match]] = {"source": {}, "target": {}, "pair": {}}
        self._matched_pairs: dict[tuple[str, str], frozenset[int]] = {}

    def add_test(
        self, pairs: Iterable[Pair], name: str, target_name: str = "", held_out: HeldOut = "test"
    ) -> None:
        """Search for these sentences too; the names are those of their files, or of one table."""
        self._matched_pairs.clear()
        for pair in pairs:
            number = len(self._locations)
            self._locations.append(_locations(pair, name, target_name))
            self._numbers.setdefault(held_out, []).append(number)
            long = [
                index.add(number, text)
                for index, text in zip(self._indices, self._texts(pair), strict=True)
                if text
            ]
            if not any(long):
                self._short.add(number)

    def scan(
        self, pairs: Iterable[Pair], name: str, target_name: str = ""
    ) -> dict[int, frozenset[int]]:
        """Search a training text; the names are those of its files, or of one table.

        Returns the positions of the pairs that hold a held-out sentence, with its numbers.
        """
        leaks: dict[int, frozenset[int]] = {}
        for position, pair in enumerate(pairs):
            if numbers := self._search(pair, name, target_name):
                leaks[position] = numbers
        return leaks

    def scan_while_reading(
        self, pairs: Iterable[Pair], name: str, target_name: str = ""
    ) -> Iterator[Pair]:
        """Search a training text, and pass its pairs on."""
        for pair in pairs:
            yield pair
            self._search(pair, name, target_name)

    def _search(self, pair: Pair, name: str, target_name: str) -> frozenset[int]:
        """The numbers of the held-out sentences that a training pair holds on either side."""
        source_index, target_index = self._indices
        if (pair.source, pair.target) in self._matched_pairs:
            return self._matched_pairs[pair.source, pair.target]  # a duplicate matches the same
        source_text, target_text = self._texts(pair)
        source = source_index.matches(source_text) if source_text else {}
        target = target_index.matches(target_text) if target_text else {}
        numbers = frozenset((*source, *target))
        if not numbers:
            return numbers
        if len(self._matched_pairs) < MAX_REMEMBERED_PAIRS:
            self._matched_pairs[pair.source, pair.target] = numbers
        locations = _locations(pair, name, target_name)
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
                match = Match(kind, self._locations[number][side], locations[side])
                _add_match(self._matches[side], number, match)
        return numbers

    def _texts(self, pair: Pair) -> tuple[str, str]:
        """The sides that are compared; empty for one that is not."""
        return (
            pair.source if "source" in self._sides else "",
            pair.target if "target" in self._sides else "",
        )

    def report(self, held_out: HeldOut = "test") -> LeakageReport:
        """The matches of a held-out set so far."""
        numbers = self._numbers.get(held_out, [])
        members = frozenset(numbers)
        matches: dict[MatchSide, dict[int, Match]] = {
            side: {number: match for number, match in kinds.items() if number in members}
            for side, kinds in self._matches.items()
        }
        return LeakageReport(held_out, len(numbers), members & self._short, matches)

    def reports(self) -> list[LeakageReport]:
        """The reports of every held-out set."""
        return [self.report(held_out) for held_out in self._numbers]


def find_leaks(
    data: Data,
    validation: Sequence[Pair],
    training: Iterable[tuple[str, str, Iterable[Pair]]],
    sides: Sequence[Side] = ("source", "target"),
) -> list[frozenset[int]]:
    """The positions of the pairs to drop from each training text, with `data.drop_leaks`.

    `training` holds the names of source and target of each training text, and its pairs. Without
    `data.drop_leaks`, sentences of the validation or test set that the recipe names are an error,
    or logged if leakage is allowed. Only `sides` of text are compared.
    """
    training = list(training)
    detector = _held_out_detector(data, validation, sides)
    if detector is None:
        return [frozenset() for _ in training]
    leaks = [
        detector.scan(pairs, printable(source), printable(target))
        for source, target, pairs in training
    ]
    reports = [report for report in detector.reports() if report.all]
    significant = [report for report in reports if report.significant]
    if significant and not (data.allow_leakage or data.drop_leaks):
        drop, allow = (
            spell_option(f"data.{name}", True) for name in ("drop_leaks", "allow_leakage")
        )
        remedy = f"take them out of training with {drop}, or train all the same with {allow}"
        raise UserError(f"{'; '.join(map(str, significant))}; {remedy}")
    for report in reports:
        action = "their training pairs are dropped" if data.drop_leaks else "allowed"
        chance = "short sentences, as expected by chance"
        logger.warning(f"{report}: {action if report.significant else chance}")
    if not data.drop_leaks:
        return [frozenset() for _ in training]
    dropped = frozenset[int]().union(*(report.to_drop for report in reports))
    return [
        frozenset(position for position, numbers in text.items() if numbers & dropped)
        for text in leaks
    ]


def _held_out_detector(
    data: Data, validation: Sequence[Pair], sides: Sequence[Side]
) -> LeakageDetector | None:
    """A detector of the validation and test sets that a recipe names; None if it names none."""
    if not (data.valid_source or data.test_source):
        return None
    detector = LeakageDetector(sides)
    if data.valid_source:
        names = printable(data.valid_source), printable(data.valid_target)
        detector.add_test(validation, *names, held_out="validation")
    if files := test_files(data):
        names = printable(data.test_source), printable(data.test_target)
        detector.add_test(read_files(files, stream=False).pairs, *names)
    return detector


def _locations(pair: Pair, name: str, target_name: str) -> dict[MatchSide, str]:
    """The line of a pair in the file of each side; a pair is named by its source."""
    source = f"{name}:{pair.line}"
    return {"source": source, "target": f"{target_name or name}:{pair.line}", "pair": source}


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
