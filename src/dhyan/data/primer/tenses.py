"""What is wanted of a verb: when, in which mode, asked or denied."""

from enum import IntEnum
from typing import NamedTuple

from dhyan.data.primer.word_classes import Verb


class Tense(IntEnum):
    """When, and how seen."""

    HABIT = 0  # eats, खाता है
    NOW = 1  # is eating, खा रहा है
    PAST = 2  # ate, खाया
    DONE = 3  # has eaten, खाया है
    BEFORE = 4  # had eaten, खाया था
    THEN = 5  # was eating, खा रहा था
    ONCE = 6  # used to eat, खाता था
    LATER = 7  # will eat, खाएगा
    PROVIDED = 8  # if he eats, अगर वह खाएगा


class Mode(IntEnum):
    """How the doing stands to the doer."""

    PLAIN = 0
    CAN = 1  # can eat, खा सकता है
    WANTS = 2  # wants to eat, खाना चाहता है
    HAS_TO = 3  # has to eat, को खाना है
    SHOULD = 4  # should eat, को खाना चाहिए
    BEGAN = 5  # began to eat, खाने लगा


PERFECTIVE = frozenset((Tense.PAST, Tense.DONE, Tense.BEFORE))
TO_WHOM = frozenset((Mode.HAS_TO, Mode.SHOULD))  # the doer takes को
UNMISTAKABLE = {Tense.HABIT: Tense.NOW, Tense.PAST: Tense.BEFORE}


class Plan(NamedTuple):
    """What is wanted of a clause; `alone` leaves out whatever it can do without."""

    verb: Verb
    tense: Tense
    room: int = 0
    mode: Mode = Mode.PLAIN
    negated: bool = False
    asks: str = ""
    fronts: bool = False
    alone: bool = False

    @property
    def inverted(self) -> bool:
        """Whether English puts its auxiliary before the subject."""
        return self.asks not in ("", "who")

    @property
    def case(self) -> str:
        """How Hindi marks the doer: ने after what was done, को where something is due."""
        if self.mode in TO_WHOM:
            return "को"
        done = self.mode == Mode.PLAIN and self.tense in PERFECTIVE and self.verb.ergative
        return "ने" if done else ""


def clear(verb: Verb, tense: Tense) -> Tense:
    """The tense, or one like it if English would not tell it from another: they read."""
    same = verb.english.past == verb.english.base
    return UNMISTAKABLE.get(tense, tense) if same else tense
