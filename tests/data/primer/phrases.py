"""A sentence of the primer by its ideas: who does what, read from its words alone."""

from collections import Counter
from typing import NamedTuple

from dhyan.data.primer import SentencePair
from dhyan.data.primer.lexicon import Noun
from tests.data.primer.tables import (
    AGAIN,
    CALLED,
    FEMALE,
    HE,
    MALE,
    MARKERS,
    POINTERS,
    SHE,
    SUBJECTS,
    THEY_HE,
    THEY_SHE,
    WHICH,
    Act,
    Words,
    acts,
    names,
    nouns,
)

ACTS, NOUNS, NAMES = acts(), nouns(), names()
OWN = {"I": "my", "we": "our", "you": "your", "he": "his", "she": "her", "they": "their"}
GOES: tuple[Words, ...] = (("went", "to"), ("came", "to"))
GENDER = {SHE: FEMALE, HE: MALE}


class Someone(NamedTuple):
    """Who or what: the cells a verb may show for it, its case, the shapes of its adjectives.

    `whose` is what would be its own, and `several` whether Hindi counts one (1) or more (2).
    """

    cells: int
    case: str
    whose: str = ""
    shapes: int = 0
    several: int = 0


class Sentence:
    """One sentence by its ideas; `wrong` is what does not agree, `seen` all that was looked at.

    `english` and `named` are the words that name an idea, from `first` and up to `last`; `around`
    and `loose` are those that go with it, and `below` are the ideas that hang on it.
    """

    def __init__(self, twin: SentencePair, seen: Counter[str]) -> None:
        self.parents, self.seen = twin.parents, seen
        self.wrong: list[tuple[str, str]] = []
        self.hindi = twin.words[1]
        self.english: dict[int, Words] = {}
        self.first: dict[int, int] = {}
        self.around: dict[int, list[str]] = {}
        for place, (word, idea, named) in enumerate(twin.words[0]):
            if named:
                self.english[idea] = (*self.english.get(idea, ()), word)
                self.first.setdefault(idea, place)
            else:
                self.around.setdefault(idea, []).append(word)
        self.named: dict[int, Words] = {}
        self.last: dict[int, int] = {}
        self.loose: dict[int, list[tuple[int, str]]] = {}
        for place, (word, idea, named) in enumerate(self.hindi):
            if named:
                self.named[idea] = (*self.named.get(idea, ()), word)
                self.last[idea] = place
            else:
                self.loose.setdefault(idea, []).append((place, word))
        self.below: dict[int, list[int]] = {}
        for idea, parent in enumerate(twin.parents):
            self.below.setdefault(parent, []).append(idea)
        self.someones: dict[int, Someone | None] = {}
        self.subjects: dict[int, Someone | None] = {}
        self.done: set[int] = set()  # verbs whose subject has ने, and may

    def note(self, what: str, *, right: bool, why: object = "") -> None:
        self.seen[what] += 1
        if not right:
            self.wrong.append((what, str(why)))

    def acts(self, idea: int) -> list[Act]:
        """The forms of verbs that an idea may be; none, if it is no verb."""
        return ACTS.get((self.english.get(idea, ()), self.named.get(idea, ())), [])

    def someone(self, idea: int) -> Someone | None:
        """Who or what an idea is, if it is a noun, a name or a pronoun."""
        if idea not in self.someones:
            self.someones[idea] = self._someone(idea)
        return self.someones[idea]

    def _someone(self, idea: int) -> Someone | None:
        english, hindi = self.english.get(idea), self.named.get(idea)
        if not english or not hindi or (english, hindi) in ACTS:
            return None
        if english in NOUNS:
            return self._noun(idea, english, hindi)
        if len(english) > 1:
            return None
        if english[0] in NAMES:
            return self._name(idea, NAMES[english[0]][1])
        found = SUBJECTS.get((english[0], hindi[0]))
        return Someone(*found, OWN.get(english[0], "")) if found and len(hindi) == 1 else None

    def _noun(self, idea: int, english: Words, hindi: Words) -> Someone | None:
        case = self.case(idea)
        known = [(noun, many) for noun, many in NOUNS[english] if hindi in noun.hindi]
        if not known:
            return None
        fits = [(noun, many) for noun, many in known if noun.hindi[2 * many + bool(case)] == hindi]
        self.note("oblique", right=bool(fits), why=(hindi, case))
        cells = shapes = several = 0
        whose = set()
        for noun, many in fits or known:
            whose.add(_whose(noun, many))
            spoken = bool(many or noun.honorific)
            several |= 1 << spoken
            if noun.feminine:
                cells |= THEY_SHE if spoken else SHE
                shapes |= 8 if spoken else 4
            else:
                cells |= THEY_HE if spoken else HE
                shapes |= 2 if spoken else 16 if case else 1
        found = Someone(cells, case, whose.pop() if len(whose) == 1 else "", shapes, several)
        for place, word in self.loose.get(idea, ()):
            if place < self.last[idea]:
                self.points("that", word, found)
            elif place > self.last[idea] and word in AGAIN:
                return found._replace(case=AGAIN[word])
        return found

    def _name(self, idea: int, cells: int) -> Someone:
        """A person by name, or two: together masculine, unless both are women."""
        for other in self.below.get(idea, ()):
            name = NAMES.get(self.english.get(other, ("",))[0])
            if name:
                both = THEY_SHE if cells == name[1] == SHE else THEY_HE
                return Someone(both, self.case(other), "their")
        return Someone(cells, self.case(idea), "her" if cells == SHE else "his")

    def case(self, idea: int) -> str:
        """The postposition after it; "to" for a goal that needs none."""
        place = self.last[idea] + 1
        if place < len(self.hindi):
            word, other, named = self.hindi[place]
            if word in MARKERS and ((other == idea and not named) or self.above(other) == idea):
                return word
        above = self.parents[idea]
        goes = self.english.get(above) in GOES and self.first[idea] > self.first[above]
        return "to" if goes or "to" in self.around.get(idea, ()) else ""

    def above(self, idea: int) -> int:
        return self.parents[idea] if idea >= 0 else -1

    def points(self, english: str, hindi: str, noun: Someone) -> None:
        said = [
            forms[noun.case != ""]
            for many, forms in enumerate(POINTERS[english])
            if forms and noun.several & 1 << many
        ]
        self.note("pointers", right=hindi in said, why=(hindi, noun))

    def bare(self, verb: int) -> list[Someone]:
        """What hangs on a verb with neither postposition nor name to call by."""
        found = []
        for idea in self.below.get(verb, ()):
            one = self.someone(idea)
            if one and not one.case and not self.called(idea):
                found.append(one)
        return found

    def called(self, idea: int) -> bool:
        """Whether it only says whom one speaks to."""
        place = self.last[idea] + 1
        return self.hindi[place][0] == "," and not self.loose.get(idea)

    def group(self, verb: int) -> list[str]:
        """What follows the verb's own last word."""
        found = []
        for word, idea, _ in self.hindi[self.last[verb] + 1 :]:
            if word == "नहीं":
                continue
            if idea < 0 or (idea != verb and self.parents[idea] != verb):
                break
            found.append(word)
        return found

    def subject(self, verb: int) -> Someone | None:
        """Who does it."""
        if verb not in self.subjects:
            self.subjects[verb] = self._subject(verb)
        return self.subjects[verb]

    def _subject(self, verb: int) -> Someone | None:
        found, nearest = None, -1
        for idea in self.below.get(verb, ()):
            place = self.first.get(idea, -1)
            if nearest < place < self.first[verb]:
                one = self.someone(idea)
                if one and not self.called(idea):
                    found, nearest = one, place
        if found:
            return self._speaking(found, verb)
        return self._relative(verb) or self._left_out(verb)

    def _speaking(self, found: Someone, verb: int) -> Someone:
        """The gender of I and you, where someone is quoted or called."""
        if found.cells not in (3, 12, 192):
            return found
        above = self.above(verb)
        if (
            found.cells == 3
            and self.english.get(above) == ("said",)
            and (one := self.subject(above))
        ):
            return found._replace(cells=found.cells & GENDER[one.cells])
        for idea in self.below.get(verb, ()):
            word = self.english.get(idea, ("",))[0]
            gender = CALLED.get(word) or (NAMES[word][1] if word in NAMES else 0)
            if gender and self.called(idea):
                return found._replace(cells=found.cells & GENDER.get(gender, gender))
        return found

    def _relative(self, verb: int) -> Someone | None:
        """The noun that the clause tells apart, if the clause says what it does."""
        head = self.above(verb)
        noun = self.someone(head) if head >= 0 else None
        if noun is None:
            return None
        for idea in (*self.below.get(verb, ()), *self.below[head]):
            word = self.named.get(idea, ("",))[0]
            if word in WHICH:
                case = WHICH[word]
                return noun._replace(case=self.case(head) if case == "?" else case)
        return None

    def _left_out(self, verb: int) -> Someone | None:
        """The subject of the clause before, which may be taken up by a pronoun."""
        one = self.subject(above) if (above := self.above(verb)) in self.first else None
        if one:
            for idea in (verb, *self.below.get(verb, ())):
                for _, word in self.loose.get(idea, ()):
                    if word in ("वह", "उसने"):
                        return one._replace(case=AGAIN[word])
        return one

    def object(self, verb: int, subject: Someone) -> int:
        """The cells of the bare object, or of nothing."""
        for idea in self.below.get(verb, ()):
            one = self.someone(idea)
            if one and not one.case and one is not subject and not self.called(idea):
                return one.cells
        head = self.above(verb)
        noun = self.someone(head) if head >= 0 else None
        if noun:
            for idea in self.below[head]:
                if self.named.get(idea) == ("जो",):
                    return noun.cells
        return HE


def _whose(noun: Noun, many: int) -> str:
    """What would be its own."""
    if many or noun.pair:
        return "their"
    if noun.domain not in ("people", "family"):
        return "its"
    return "her" if noun.feminine else "his"
