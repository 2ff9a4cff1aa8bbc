"""A sentence of the primer read again from its words, and whatever in it does not agree."""

from collections import Counter
from typing import NamedTuple

from dhyan.data.primer import Twin
from dhyan.data.primer.kinds import Noun
from tests.primer.tables import (
    AGAIN, ALL, BEFORE, BEING, CALLED, FEMALE, HE, HELPERS, MALE, MARKERS, POINTERS, PRESENT, SHAPES,
    SHE, SUBJECTS, THEY_HE, THEY_SHE, WHICH, WHOSE, WITHIN, Act, Words, acts, adjectives, names,
    nouns, pairs,
)  # fmt: skip

ACTS, NOUNS, ADJECTIVES, NAMES, PAIRS = acts(), nouns(), adjectives(), names(), pairs()
STATES = frozenset((*BEING, "पसंद", "चाहिए", "लगी", "बुख़ार", "ज़ुकाम", "सिरदर्द"))
ENGLISH_STATES = frozenset(
    "am is are was were be have has had like likes liked want wants wanted".split()
)
FEELINGS = frozenset("hungry thirsty fever cold headache".split())
AGENTS = frozenset(word for (_, word), (_, case) in SUBJECTS.items() if case == "ने")
AGENTS |= {word for word, case in WHICH.items() if case == "ने"} | {"ने"}
OWN = {"I": "my", "we": "our", "you": "your", "he": "his", "she": "her", "they": "their"}
TOLD = {"का": "m", "की": "f"}  # रवि का स्वागत, रवि की मदद
GOES = (("went", "to"), ("came", "to"))
WAYS = dict.fromkeys(GOES, "में पर") | {("returned", "from"): "से", ("stopped", "near"): "के"}
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


class Reading:
    """One sentence; `wrong` lists what does not agree, and `seen` counts what was looked at."""

    def __init__(self, twin: Twin, seen: Counter[str]) -> None:
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

    def check(self) -> None:
        """Look at every idea that both languages name."""
        for idea, hindi in self.named.items():
            english = self.english.get(idea)
            if english is None:
                continue
            pair = english, hindi
            self._linked(english, hindi)
            above = self.parents[idea]
            if self.someone(idea) and above in self.first:
                self._marked(idea, above)
            if pair in ACTS and (pair not in ADJECTIVES or idea in self.below):
                self._acts(idea, ACTS[pair])
            elif hindi[-1] in STATES and (english[-1] in ENGLISH_STATES or english[-1] in FEELINGS):
                if not self._helps(idea, above):
                    self._is(idea, hindi)
            elif above >= 0:
                self._goes_with(idea, above, english, hindi)
        for word, idea, _ in self.hindi:
            if word in AGENTS:
                self._agent(idea)

    def _agent(self, idea: int) -> None:
        """ने stands only where something was done, by that one or by the one it is told apart by."""
        above = self._above(idea)
        near = {idea, above, self._above(above), *self.below.get(idea, ())}
        if self.named.get(idea, ("",))[0] in WHICH:
            near.update(self.below[above])
        self._note("agents", right=not self.done.isdisjoint(near), why=self.named.get(idea))

    def _helps(self, idea: int, above: int) -> bool:
        """Whether it is only a helper: nothing hangs on it, and what it hangs on is done."""
        if idea in self.below or above < 0:
            return False
        return (self.english.get(above), self.named.get(above)) in ACTS

    def _note(self, what: str, *, right: bool, why: object = "") -> None:
        self.seen[what] += 1
        if not right:
            self.wrong.append((what, str(why)))

    def _linked(self, english: Words, hindi: Words) -> None:
        right = (english, hindi) in PAIRS
        if not right and len(english) == 1:
            word = english[0]
            if word.endswith("'s"):
                right = (
                    len(hindi) == 2 and NAMES[word[:-2]][0] == hindi[0] and hindi[1] in "का के की"
                )
            elif word in WHOSE:
                right = hindi[0][:-1] in WHOSE[word].split() and hindi[0][-1] in SHAPES
        self._note("links", right=right, why=(english, hindi))

    # Nouns, names and pronouns

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

    def _case(self, idea: int) -> str:
        """The postposition after it; "to" for a goal that needs none."""
        place = self.last[idea] + 1
        if place < len(self.hindi):
            word, other, named = self.hindi[place]
            if word in MARKERS and ((other == idea and not named) or self._above(other) == idea):
                return word
        above = self.parents[idea]
        goes = self.english.get(above) in GOES and self.first[idea] > self.first[above]
        return "to" if goes or "to" in self.around.get(idea, ()) else ""

    def _above(self, idea: int) -> int:
        return self.parents[idea] if idea >= 0 else -1

    def _noun(self, idea: int, english: Words, hindi: Words) -> Someone | None:
        case = self._case(idea)
        known = [(noun, many) for noun, many in NOUNS[english] if hindi in noun.hindi]
        if not known:
            return None
        fits = [(noun, many) for noun, many in known if noun.hindi[2 * many + bool(case)] == hindi]
        self._note("oblique", right=bool(fits), why=(hindi, case))
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
                self._points("that", word, found)
            elif place > self.last[idea] and word in AGAIN:
                return found._replace(case=AGAIN[word])
        return found

    def _points(self, english: str, hindi: str, noun: Someone) -> None:
        said = [
            forms[noun.case != ""]
            for many, forms in enumerate(POINTERS[english])
            if forms and noun.several & 1 << many
        ]
        self._note("pointers", right=hindi in said, why=(hindi, noun))

    def _name(self, idea: int, cells: int) -> Someone:
        """A person by name, or two: together masculine, unless both are women."""
        for other in self.below.get(idea, ()):
            name = NAMES.get(self.english.get(other, ("",))[0])
            if name:
                both = THEY_SHE if cells == name[1] == SHE else THEY_HE
                return Someone(both, self._case(other), "their")
        return Someone(cells, self._case(idea), "her" if cells == SHE else "his")

    def _marked(self, idea: int, verb: int) -> None:
        """An object has the marker that its verb asks for, and one to whom it is done को."""
        ways = ACTS.get((self.english[verb], self.named.get(verb, ())))
        after = self.last[idea] + 1
        word, other, named = self.hindi[after] if after < len(self.hindi) else ("", -1, True)
        if (
            not ways
            or named
            or other != idea
            or word not in MARKERS
            or self.subject(verb) is self.someone(idea)
        ):
            return
        way = WAYS.get(self.english[verb], "").split()
        right = any(
            word == "को"
            or word in way
            or (word == act.verb.marker and TOLD.get(word, act.verb.agrees) == act.verb.agrees)
            for act in ways
        )
        self._note("markers", right=right, why=(self.named[idea], word))

    # What goes with a noun

    def _goes_with(self, idea: int, above: int, english: Words, hindi: Words) -> None:
        noun = self.someone(above)
        if english == ("that",):
            told = noun or self.someone(self._above(above))
            self._note("that", right=bool(told) == (hindi != ("कि",)), why=hindi)
        if noun is None:
            if shapes := ADJECTIVES.get((english, hindi)):
                self._said_of(above, shapes, hindi)
        elif not noun.shapes:
            return
        elif shapes := ADJECTIVES.get((english, hindi)):
            self._note("adjectives", right=bool(shapes & noun.shapes), why=(hindi, noun))
        elif english[0] in WHOSE or english[0].endswith("'s"):
            right = bool(SHAPES.get(hindi[-1][-1], 0) & noun.shapes)
            self._note("owners", right=right, why=(hindi, noun))
            self._own(above, english[0], hindi[0])
        elif english[0] in POINTERS and hindi[0] not in WHICH:
            self._points(english[0], hindi[0], noun)
        elif english == ("how", "many"):
            right = bool(SHAPES[hindi[0][-1]] & noun.shapes)
            self._note("how many", right=right, why=(hindi, noun))

    def _own(self, noun: int, whose: str, hindi: str) -> None:
        """What is the subject's own is अपना, and nothing else is, least of all the subject."""
        verb, said = self._above(noun), hindi.startswith("अपन")
        subject = None
        if (self.english.get(verb), self.named.get(verb)) in ACTS:
            subject = self.subject(verb)
        if subject is None or subject is self.someone(noun):
            right = not said or verb < 0 or subject is None and whose == "your"  # open your door
        elif subject.whose:
            right = (whose == subject.whose) == said
        else:
            return
        self._note("own", right=right, why=(subject, whose, hindi))

    def _said_of(self, verb: int, shapes: int, hindi: Words) -> None:
        """The house is big."""
        if self.english.get(verb, ("",))[-1] not in ENGLISH_STATES:
            return
        bare = self._bare(verb)
        right = len(bare) == 1 and bool(bare[0].shapes & shapes)
        self._note("predicates", right=right, why=(hindi, bare))

    # Verbs

    def _bare(self, verb: int) -> list[Someone]:
        """What hangs on a verb with neither postposition nor name to call by."""
        found = []
        for idea in self.below.get(verb, ()):
            one = self.someone(idea)
            if one and not one.case and not self._called(idea):
                found.append(one)
        return found

    def _called(self, idea: int) -> bool:
        """Whether it only says whom one speaks to."""
        place = self.last[idea] + 1
        return self.hindi[place][0] == "," and not self.loose.get(idea)

    def _group(self, verb: int) -> list[str]:
        """What follows the verb's own last word."""
        found = []
        for word, idea, _ in self.hindi[self.last[verb] + 1 :]:
            if word == "नहीं":
                continue
            if idea < 0 or (idea != verb and self.parents[idea] != verb):
                break
            found.append(word)
        return found

    def _is(self, verb: int, hindi: Words) -> None:
        """Being, having, liking, wanting and feeling agree with the one bare noun there is."""
        shown = [word for word in (*hindi, *self._group(verb)) if word in HELPERS or word in BEING]
        cells = WITHIN.get(hindi[0], 0)
        if not cells:
            bare = self._bare(verb)
            cells = bare[0].cells if len(bare) == 1 else 0
        for word in shown:
            cells &= HELPERS.get(word) or BEING[word]
        self._note("states", right=bool(cells), why=shown)
        self._held(verb)

    def _held(self, verb: int) -> None:
        """One has something के पास, and likes, wants or feels it को."""
        word = self.english[verb][-1]
        near = [place for place, said in self.loose.get(verb, ()) if said == "पास"]
        if near:
            self._note("holders", right=self.hindi[near[0] - 1][0][-1] == "े", why="पास")
        elif word in FEELINGS or word[:4] in ("like", "want"):
            cases = [one.case for idea in self.below.get(verb, ()) if (one := self.someone(idea))]
            self._note("holders", right=cases.count("को") == 1, why=cases)

    def subject(self, verb: int) -> Someone | None:
        """Who does it."""
        if verb not in self.subjects:
            self.subjects[verb] = self._subject(verb)
        return self.subjects[verb]

    def _subject(self, verb: int) -> Someone | None:
        found, nearest = None, -1
        for idea in self.below.get(verb, ()):
            place = self.first.get(idea, -1)
            if nearest < place < self.first[verb] and (one := self.someone(idea)):
                if not self._called(idea):
                    found, nearest = one, place
        if found:
            return self._speaking(found, verb)
        return self._relative(verb) or self._left_out(verb)

    def _speaking(self, found: Someone, verb: int) -> Someone:
        """The gender of I and you, where someone is quoted or called."""
        if found.cells not in (3, 12, 192):
            return found
        above = self._above(verb)
        if (
            found.cells == 3
            and self.english.get(above) == ("said",)
            and (one := self.subject(above))
        ):
            return found._replace(cells=found.cells & GENDER[one.cells])
        for idea in self.below.get(verb, ()):
            word = self.english.get(idea, ("",))[0]
            gender = CALLED.get(word) or (NAMES[word][1] if word in NAMES else 0)
            if gender and self._called(idea):
                return found._replace(cells=found.cells & GENDER.get(gender, gender))
        return found

    def _relative(self, verb: int) -> Someone | None:
        """The noun that the clause tells apart, if the clause says what it does."""
        head = self._above(verb)
        noun = self.someone(head) if head >= 0 else None
        if noun is None:
            return None
        for idea in (*self.below.get(verb, ()), *self.below[head]):
            word = self.named.get(idea, ("",))[0]
            if word in WHICH:
                case = WHICH[word]
                return noun._replace(case=self._case(head) if case == "?" else case)
        return None

    def _left_out(self, verb: int) -> Someone | None:
        """The subject of the clause before, which may be taken up by a pronoun."""
        one = self.subject(above) if (above := self._above(verb)) in self.first else None
        if one:
            for idea in (verb, *self.below.get(verb, ())):
                for _, word in self.loose.get(idea, ()):
                    if word in ("वह", "उसने"):
                        return one._replace(case=AGAIN[word])
        return one

    def _object(self, verb: int, subject: Someone) -> int:
        """The cells of the bare object, or of nothing."""
        for idea in self.below.get(verb, ()):
            one = self.someone(idea)
            if one and not one.case and one is not subject and not self._called(idea):
                return one.cells
        head = self._above(verb)
        noun = self.someone(head) if head >= 0 else None
        if noun:
            for idea in self.below[head]:
                if self.named.get(idea) == ("जो",):
                    return noun.cells
        return HE

    def _acts(self, verb: int, ways: list[Act]) -> None:
        """The helpers fit the verb's form, the subject its case, and all agree with one noun."""
        group = self._group(verb)
        first = group[0] if group else ""
        kinds = BEFORE.get(first, "").split()
        fits = [act for act in ways if act.kind in kinds]
        self._note("helpers", right=bool(fits), why=(self.named[verb], group))
        if not fits:
            return
        subject = self.subject(verb)
        if subject is None:
            self._note("requests", right=any(act.kind == "imperative" for act in fits), why=verb)
            return
        cased = [act for act in fits if _asked(act) == subject.case]
        self._note(
            "ने" if subject.case == "ने" else "doers",
            right=bool(cased),
            why=(subject, self.named[verb], group),
        )
        if cased and subject.case == "ने":
            self.done.add(verb)
        for act in cased:
            cells = act.cells & self._controller(act, verb, subject)
            for word in group:
                cells &= HELPERS[word] if word in HELPERS else 0
            if cells:
                break
        else:
            if cased:
                self._note("verbs", right=False, why=(subject, self.named[verb], group))
        self.seen["verbs"] += 1

    def _controller(self, act: Act, verb: int, subject: Someone) -> int:
        """What the verb agrees with: a bare subject, a noun of its own, a bare object, or nothing."""
        if not subject.case:
            return subject.cells
        if act.verb.agrees:
            return SHE if act.verb.agrees == "f" else HE
        return self._object(verb, subject)


def _asked(act: Act) -> str:
    """The case that a form of a verb asks of its subject."""
    if act.kind == "due":
        return "को"
    return "ने" if act.verb.ergative and act.kind in ("perfective", "perfect") else ""


def _whose(noun: Noun, many: int) -> str:
    """What would be its own."""
    if many or noun.pair:
        return "their"
    if noun.domain not in ("people", "family"):
        return "its"
    return "her" if noun.feminine else "his"
