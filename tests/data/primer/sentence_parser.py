"""Parser of primer sentences: subjects, objects and verbs by node, from the words alone."""

from collections import Counter
from typing import NamedTuple

from dhyan.data.primer import SentencePair
from dhyan.data.primer.lexicon import Noun
from tests.data.primer.agreement_tables import (
    CORRELATIVES,
    DEMONSTRATIVES,
    FEMALE,
    HE,
    MALE,
    MARKERS,
    RELATIVES,
    SHE,
    SUBJECTS,
    THEY_HE,
    THEY_SHE,
    VOCATIVES,
    VerbForm,
    Words,
    names,
    nouns,
    verb_forms,
)

VERB_FORMS, NOUNS, NAMES = verb_forms(), nouns(), names()
OWN = {"I": "my", "we": "our", "you": "your", "he": "his", "she": "her", "they": "their"}
GOES: tuple[Words, ...] = (("went", "to"), ("came", "to"))
GENDER = {SHE: FEMALE, HE: MALE}
# The shapes of a predicate adjective, by the cells of its subject.
PREDICATE_SHAPES = {HE: 1, THEY_HE: 2, SHE: 4, THEY_SHE: 8}


class Nominal(NamedTuple):
    """A nominal: the cells a verb may show for it, its case, the shapes of its adjectives.

    `whose` is its English possessive, `numbers` its Hindi number: singular (1), plural (2), both (3).
    """

    cells: int
    case: str
    whose: str = ""
    shapes: int = 0
    numbers: int = 0


class Sentence:
    """A sentence by nodes; `wrong` is what does not agree, `counts` counts every check.

    `english` and `hindi_words` are the content words of a node, from `first` and up to `last`;
    `english_function_words` and `function_words` are the others, `children` the nodes below it.
    """

    def __init__(self, pair: SentencePair, counts: Counter[str]) -> None:
        self.parents, self.counts = pair.parents, counts
        self.wrong: list[tuple[str, str]] = []
        self.hindi = pair.words[1]
        self.english: dict[int, Words] = {}
        self.first: dict[int, int] = {}
        self.english_function_words: dict[int, list[str]] = {}
        for position, (word, node, is_content) in enumerate(pair.words[0]):
            if is_content:
                self.english[node] = (*self.english.get(node, ()), word)
                self.first.setdefault(node, position)
            else:
                self.english_function_words.setdefault(node, []).append(word)
        self.hindi_words: dict[int, Words] = {}
        self.last: dict[int, int] = {}
        self.function_words: dict[int, list[tuple[int, str]]] = {}
        for position, (word, node, is_content) in enumerate(self.hindi):
            if is_content:
                self.hindi_words[node] = (*self.hindi_words.get(node, ()), word)
                self.last[node] = position
            else:
                self.function_words.setdefault(node, []).append((position, word))
        self.children: dict[int, list[int]] = {}
        for node, parent in enumerate(pair.parents):
            self.children.setdefault(parent, []).append(node)
        self.nominals: dict[int, Nominal | None] = {}
        self.subjects: dict[int, Nominal | None] = {}
        self.ergative_verbs: set[int] = set()  # verbs whose subject has ने, and may

    def record(self, what: str, *, right: bool, why: object = "") -> None:
        self.counts[what] += 1
        if not right:
            self.wrong.append((what, str(why)))

    def verb_forms(self, node: int) -> list[VerbForm]:
        """The verb forms that a node may be; none, if it is no verb."""
        return VERB_FORMS.get((self.english.get(node, ()), self.hindi_words.get(node, ())), [])

    def nominal(self, node: int) -> Nominal | None:
        """The nominal of a node, if it is a noun, a name or a pronoun."""
        if node not in self.nominals:
            self.nominals[node] = self._nominal(node)
        return self.nominals[node]

    def _nominal(self, node: int) -> Nominal | None:
        english, hindi = self.english.get(node), self.hindi_words.get(node)
        if not english or not hindi or (english, hindi) in VERB_FORMS:
            return None
        if english in NOUNS:
            return self._noun(node, english, hindi)
        if len(english) > 1:
            return None
        if english[0] in NAMES:
            return self._name(node, NAMES[english[0]][1])
        pronoun = SUBJECTS.get((english[0], hindi[0]))
        if not pronoun or len(hindi) != 1:
            return None
        cells, case = pronoun
        shapes = sum(shape for bit, shape in PREDICATE_SHAPES.items() if cells & bit)
        return Nominal(cells, case, OWN.get(english[0], ""), shapes)

    def _noun(self, node: int, english: Words, hindi: Words) -> Nominal | None:
        case = self.case(node)
        candidates = [(noun, plural) for noun, plural in NOUNS[english] if hindi in noun.hindi]
        if not candidates:
            return None
        fits = [
            (noun, plural)
            for noun, plural in candidates
            if noun.hindi[2 * plural + bool(case)] == hindi
        ]
        self.record("oblique", right=bool(fits), why=(hindi, case))
        cells = shapes = numbers = 0
        whose = set()
        for noun, plural in fits or candidates:
            whose.add(_whose(noun, plural))
            hindi_plural = bool(plural or noun.honorific)
            numbers |= 1 << hindi_plural
            if noun.feminine:
                cells |= THEY_SHE if hindi_plural else SHE
                shapes |= 8 if hindi_plural else 4
            else:
                cells |= THEY_HE if hindi_plural else HE
                shapes |= 2 if hindi_plural else 16 if case else 1
        noun_phrase = Nominal(cells, case, whose.pop() if len(whose) == 1 else "", shapes, numbers)
        for position, word in self.function_words.get(node, ()):
            if position < self.last[node]:
                self.check_demonstrative("that", word, noun_phrase)
            elif position > self.last[node] and word in CORRELATIVES:
                return noun_phrase._replace(case=CORRELATIVES[word])
        return noun_phrase

    def _name(self, node: int, cells: int) -> Nominal:
        """A name, or two coordinated names: masculine, unless both are feminine."""
        for other in self.children.get(node, ()):
            name = NAMES.get(self.english.get(other, ("",))[0])
            if name:
                both = THEY_SHE if cells == name[1] == SHE else THEY_HE
                return Nominal(both, self.case(other), "their")
        shapes = PREDICATE_SHAPES[cells]
        return Nominal(cells, self.case(node), "her" if cells == SHE else "his", shapes)

    def case(self, node: int) -> str:
        """The postposition of a node; "to" for a goal that needs none."""
        position = self.last[node] + 1
        if position < len(self.hindi):
            word, other, is_content = self.hindi[position]
            if word in MARKERS and (
                (other == node and not is_content) or self.parent(other) == node
            ):
                return word
        parent = self.parents[node]
        goes = self.english.get(parent) in GOES or any(
            form.verb.marker == "oblique" for form in self.verb_forms(parent)
        )
        goes = goes and self.first[node] > self.first[parent]
        return "to" if goes or "to" in self.english_function_words.get(node, ()) else ""

    def parent(self, node: int) -> int:
        return self.parents[node] if node >= 0 else -1

    def check_demonstrative(self, english: str, hindi: str, noun: Nominal) -> None:
        forms = [
            forms[noun.case != ""]
            for plural, forms in enumerate(DEMONSTRATIVES[english])
            if forms and noun.numbers & 1 << plural
        ]
        self.record("pointers", right=hindi in forms, why=(hindi, noun))

    def unmarked(self, verb: int) -> list[Nominal]:
        """The nominals of a verb without postposition, except vocatives."""
        result = []
        for node in self.children.get(verb, ()):
            nominal = self.nominal(node)
            if nominal and not nominal.case and not self.is_vocative(node):
                result.append(nominal)
        return result

    def is_vocative(self, node: int) -> bool:
        """Whether a node is a vocative."""
        position = self.last[node] + 1
        return self.hindi[position][0] == "," and not self.function_words.get(node)

    def auxiliaries(self, verb: int) -> list[str]:
        """The words that follow the last word of the verb itself."""
        result = []
        for word, node, _ in self.hindi[self.last[verb] + 1 :]:
            if word == "नहीं":
                continue
            if node < 0 or (node != verb and self.parents[node] != verb):
                break
            result.append(word)
        return result

    def subject(self, verb: int) -> Nominal | None:
        """The subject of a verb."""
        if verb not in self.subjects:
            self.subjects[verb] = self._subject(verb)
        return self.subjects[verb]

    def _subject(self, verb: int) -> Nominal | None:
        subject, nearest = None, -1
        for node in self.children.get(verb, ()):
            position = self.first.get(node, -1)
            if nearest < position < self.first[verb]:
                nominal = self.nominal(node)
                if nominal and not self.is_vocative(node):
                    subject, nearest = nominal, position
        if subject:
            return self._with_gender(subject, verb)
        return self._relative(verb) or self._omitted(verb)

    def _with_gender(self, pronoun: Nominal, verb: int) -> Nominal:
        """I and you with the gender of the speaker or the addressee."""
        if pronoun.cells not in (3, 12, 192):
            return pronoun
        parent = self.parent(verb)
        if (
            pronoun.cells == 3
            and self.english.get(parent) == ("said",)
            and (speaker := self.subject(parent))
        ):
            return pronoun._replace(cells=pronoun.cells & GENDER[speaker.cells])
        for node in self.children.get(verb, ()):
            word = self.english.get(node, ("",))[0]
            gender = VOCATIVES.get(word) or (NAMES[word][1] if word in NAMES else 0)
            if gender and self.is_vocative(node):
                return pronoun._replace(cells=pronoun.cells & GENDER.get(gender, gender))
        return pronoun

    def _relative(self, verb: int) -> Nominal | None:
        """The head noun of a relative clause, if it is the subject of the clause."""
        head = self.parent(verb)
        noun = self.nominal(head) if head >= 0 else None
        if noun is None:
            return None
        for node in (*self.children.get(verb, ()), *self.children[head]):
            word = self.hindi_words.get(node, ("",))[0]
            if word in RELATIVES:
                case = RELATIVES[word]
                return noun._replace(case=self.case(head) if case == "?" else case)
        return None

    def _omitted(self, verb: int) -> Nominal | None:
        """The subject of the clause before, which a pronoun may resume."""
        nominal = self.subject(parent) if (parent := self.parent(verb)) in self.first else None
        if nominal:
            for node in (verb, *self.children.get(verb, ())):
                for _, word in self.function_words.get(node, ()):
                    if word in ("वह", "उसने"):
                        return nominal._replace(case=CORRELATIVES[word])
        return nominal

    def object_cells(self, verb: int, subject: Nominal) -> int:
        """The cells of the unmarked object, or of the default agreement."""
        for node in self.children.get(verb, ()):
            nominal = self.nominal(node)
            if (
                nominal
                and not nominal.case
                and nominal is not subject
                and not self.is_vocative(node)
            ):
                return nominal.cells
        head = self.parent(verb)
        noun = self.nominal(head) if head >= 0 else None
        if noun:
            for node in self.children[head]:
                if self.hindi_words.get(node) == ("जो",):
                    return noun.cells
        return HE


def _whose(noun: Noun, plural: int) -> str:
    """The English possessive of a noun."""
    if plural or noun.pair:
        return "their"
    if noun.domain not in ("people", "family"):
        return "its"
    return "her" if noun.feminine else "his"
