"""A sentence while it is being made: its chances, its ideas, its phrases."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from dhyan.data.primer.core_vocabulary import common, core_words
from dhyan.data.primer.hindi_morphology import FF, MM, ONE, F, M
from dhyan.data.primer.sentence_pair import ROOT, Wanted, Word

Choice = TypeVar("Choice")

SELF, SEVERAL, OTHER = 0, 1, 2  # I; you, we, they and plurals; he, she, it: what English verbs ask


class Draft:
    """Draws everything from one seed.

    `novel` lets it pair words that training never pairs; `core` is the share of the words
    that it draws from, those that go with the most others.
    """

    __slots__ = (
        "core",
        "familiar",
        "honoured",
        "met",
        "mood",
        "novel",
        "parents",
        "random",
        "source",
        "unseen",
        "wanted",
    )

    def __init__(self, seed: int, *, novel: bool = False, core: float = 1.0) -> None:
        self.source = Random(seed)
        self.random = self.source.random
        self.novel = novel
        self.core = core
        self.clear()

    def clear(self) -> None:
        """Begin another sentence, with the chances that come next."""
        self.parents: list[int] = []
        self.unseen = False
        self.wanted: list[Wanted] = []
        self.met: list[object] = []
        self.mood = "present"
        self.honoured: set[str] = set()  # the pronouns of those spoken of in the plural
        self.familiar: set[str] = set()  # and of the others

    def idea(self, parent: int = ROOT) -> int:
        """A new idea that hangs on another."""
        self.parents.append(parent)
        return len(self.parents) - 1

    def open(self, label: str) -> bool:
        """Whether a pronoun could be of someone honoured as well as of someone who is not."""
        key, _, honour = label.partition(", ")
        return key in (self.familiar if honour else self.honoured)

    def one(self, choices: Sequence[Choice]) -> Choice:
        """One of several, all as likely."""
        return choices[int(self.random() * len(choices))]

    def chance(self, share: float) -> bool:
        """True as often as the share says."""
        return self.random() < share

    def word(self, choices: tuple[Choice, ...]) -> Choice:
        """One of a list of words, the first ones more often: half of all draws are of a quarter."""
        known = common(choices, self.core) if self.core < 1 else choices
        return known[int(self.random() ** 2 * len(known))]

    def fresh(self, choices: tuple[Choice, ...]) -> Choice:
        """A word that has not been drawn so for this sentence."""
        while (found := self.word(choices)) in self.met:
            pass
        self.met.append(found)
        return found

    def partner(self, choices: tuple[Choice, ...], held_out: frozenset[Choice]) -> Choice:
        """A word that goes with another; one held out only in a novel draft, and there at once."""
        if self.novel and not self.unseen and (held := self._held(choices, held_out)):
            self.unseen = True
            return self.one(held)
        found = self.word(choices)
        if found in held_out and not self.novel:
            return self.word(tuple(one for one in choices if one not in held_out))
        return found

    def _held(self, choices: tuple[Choice, ...], held_out: frozenset[Choice]) -> list[Choice]:
        """The words of a list that are held out, though training knows them otherwise."""
        core = core_words(self.core)
        return [one for one in choices if one in held_out and one in core]


@dataclass(slots=True)
class Phrase:
    """Someone or something, said in both languages and ready for its place in a clause.

    `who` and `form` are what a Hindi verb agrees with, `number` is what an English one does, and
    `label` the pronoun that would take its place. `before` and `after` are Hindi relative clauses,
    for either end of the clause it stands in.
    """

    english: list[Word]
    hindi: list[Word]
    who: int = ONE
    form: int = M
    number: int = OTHER
    label: str = "it"
    before: list[Word] = field(default_factory=list)
    after: list[Word] = field(default_factory=list)
    person: bool = False
    lives: bool = False
    idea: int = ROOT

    @property
    def bare(self) -> bool:
        """Whether no marker follows it: a marker only goes with it, as its noun does not."""
        return not self.hindi or self.hindi[-1][2]


def form_of(*, feminine: bool, plural: bool) -> int:
    """What an adjective or a verb takes beside such a noun."""
    return (FF if plural else F) if feminine else (MM if plural else M)


def label_of(*, person: bool, feminine: bool, plural: bool) -> str:
    """The English pronoun for it."""
    if plural:
        return "they"
    return ("she" if feminine else "he") if person else "it"


def sign(mark: str) -> Word:
    """A comma, full stop or the like."""
    return (mark, ROOT, False)
