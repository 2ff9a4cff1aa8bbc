"""State of one generated sentence pair: random choices, dependency tree, phrases."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random
from typing import TypeVar

from dhyan.data.primer.hindi_morphology import FF, HE, MM, F, M
from dhyan.data.primer.sentence_pair import ROOT, TranslationCheck, Word
from dhyan.data.primer.vocabulary_subsets import core_choices, core_words

Choice = TypeVar("Choice")

# English subject-verb agreement: I; you, we, they and plurals; he, she, it.
FIRST_SINGULAR, PLURAL, THIRD_SINGULAR = 0, 1, 2


class SentenceBuilder:
    """Random choices from one seed, and the dependency tree that both languages share.

    `held_out` allows pairs of words that training never has; `core_share` is the share of the lexicon
    that words are sampled from, those that combine with the most others.
    """

    __slots__ = (
        "checks",
        "core_share",
        "has_held_out_pair",
        "held_out",
        "honorific_pronouns",
        "parents",
        "plain_pronouns",
        "random",
        "source",
        "time",
        "used",
    )

    def __init__(self, seed: int, *, held_out: bool = False, core_share: float = 1.0) -> None:
        self.source = Random(seed)
        self.random = self.source.random
        self.held_out = held_out
        self.core_share = core_share
        self.clear()

    def clear(self) -> None:
        """Begin another sentence; the random numbers continue."""
        self.parents: list[int] = []
        self.has_held_out_pair = False
        self.checks: list[TranslationCheck] = []
        self.used: list[object] = []
        self.time = "present"
        self.honorific_pronouns: set[str] = set()  # of persons who take plural agreement
        self.plain_pronouns: set[str] = set()  # of the other persons

    def add_node(self, parent: int = ROOT) -> int:
        """A new node of the dependency tree, below another."""
        self.parents.append(parent)
        return len(self.parents) - 1

    def is_ambiguous(self, pronoun: str) -> bool:
        """Whether a pronoun could refer to a person with honorific agreement and to one without."""
        key, _, honorific = pronoun.partition(", ")
        return key in (self.plain_pronouns if honorific else self.honorific_pronouns)

    def choose(self, choices: Sequence[Choice]) -> Choice:
        """A uniform sample of several choices."""
        return choices[int(self.random() * len(choices))]

    def flip(self, prob: float) -> bool:
        """True with this probability."""
        return self.random() < prob

    def sample(self, choices: tuple[Choice, ...]) -> Choice:
        """A sample of a list, half of the time from its first quarter."""
        core = core_choices(choices, self.core_share) if self.core_share < 1 else choices
        return core[int(self.random() ** 2 * len(core))]

    def sample_new(self, choices: tuple[Choice, ...]) -> Choice:
        """A sample that this method has not returned for this sentence."""
        while (word := self.sample(choices)) in self.used:
            pass
        self.used.append(word)
        return word

    def sample_partner(self, choices: tuple[Choice, ...], held_out: frozenset[Choice]) -> Choice:
        """A sample of words to combine with another; a held-out word only where allowed."""
        if self.held_out and not self.has_held_out_pair:
            available = self._held_out_choices(choices, held_out)
            if available:
                self.has_held_out_pair = True
                return self.choose(available)
        word = self.sample(choices)
        if word in held_out and not self.held_out:
            return self.sample(tuple(choice for choice in choices if choice not in held_out))
        return word

    def _held_out_choices(
        self, choices: tuple[Choice, ...], held_out: frozenset[Choice]
    ) -> list[Choice]:
        """The held-out words of a list that training has in other pairs."""
        core = core_words(self.core_share)
        return [choice for choice in choices if choice in held_out and choice in core]


@dataclass(slots=True)
class Phrase:
    """A noun phrase in both languages, ready for its position in a clause.

    `who` and `form` are what a Hindi verb agrees with, `number` what an English verb agrees with,
    and `pronoun` the pronoun that could replace it. `before` and `after` are Hindi relative
    clauses, for either end of the clause.
    """

    english: list[Word]
    hindi: list[Word]
    who: int = HE
    form: int = M
    number: int = THIRD_SINGULAR
    pronoun: str = "it"
    before: list[Word] = field(default_factory=list)
    after: list[Word] = field(default_factory=list)
    person: bool = False
    animate: bool = False
    node: int = ROOT

    @property
    def unmarked(self) -> bool:
        """Whether no case marker follows it: a marker is a function word, a noun is not."""
        return not self.hindi or self.hindi[-1][2]


def form_of(*, feminine: bool, plural: bool) -> int:
    """The form of a Hindi adjective or verb that agrees with such a noun."""
    return (FF if plural else F) if feminine else (MM if plural else M)


def pronoun_of(*, person: bool, feminine: bool, plural: bool) -> str:
    """The English pronoun for such a noun."""
    if plural:
        return "they"
    return ("she" if feminine else "he") if person else "it"


def punctuation(mark: str) -> Word:
    """A comma, full stop or the like, outside the dependency tree."""
    return (mark, ROOT, False)
