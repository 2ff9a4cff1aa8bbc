"""Sentences that a cue decides: the same one after two others, of which each gives it a reading.

Training has sentences such as these, but none with the same person and thing in them. As in
training, the first word already tells the two apart: a name, or “the”.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import count as numbers
from itertools import islice

from dhyan.data.primer import Twin
from dhyan.data.primer.sentence_builder import Draft
from dhyan.data.primer.templates import Template, filled, templates
from dhyan.decoding.translator import Translator
from dhyan.lessons.trained_model import CORE, knows_every_word

DOER = "{A} had"  # how the cue begins in which the one who does it has the thing
OF = "B"  # the slot of the other person
SEED = 7_000_000_000
TRIES = 40  # pairs looked at for each that is wanted


@dataclass(frozen=True)
class Cued:
    """X had a telescope, or the astronomer had it; then X saw the astronomer with the telescope."""

    doer: Twin
    other: Twin

    @property
    def both(self) -> tuple[Twin, Twin]:
        """The two, that of the doer first."""
        return self.doer, self.other


def cued(translator: Translator, count: int, *, core: float = CORE) -> list[Cued]:
    """So many different pairs that the model knows the words of, or as many as it does."""
    found: dict[str, Cued] = {}
    for one in islice(_drawn(core), TRIES * count):
        texts = [one.doer.english, one.other.english]
        if texts[0] not in found and all(knows_every_word(translator, text) for text in texts):
            found[texts[0]] = one
        if len(found) == count:
            break
    return list(found.values())


def _drawn(core: float) -> Iterator[Cued]:
    """One after the other of every kind, its persons those of the other kinds."""
    kinds = _kinds()
    persons = dict.fromkeys(one for pair in kinds for one in _persons(pair[0]))
    for number in numbers():
        pair = kinds[number % len(kinds)]
        own = _persons(pair[0])
        strange = "+".join(one for one in persons if one not in own)
        yield Cued(*(_filled(one, strange, SEED + number, core) for one in pair))


def _kinds() -> list[tuple[Template, Template]]:
    """Both templates of every kind that has a cue, that of the doer first."""
    found: dict[str, list[Template]] = {}
    for one in templates("attachment"):
        if one.right:
            found.setdefault(one.about, []).append(one)
    pairs = [
        sorted(own, key=lambda one: not one.english.startswith(DOER)) for own in found.values()
    ]
    return [(first, second) for first, second in pairs]


def _persons(template: Template) -> list[str]:
    return dict(template.slots)[OF].split("+")


def _filled(template: Template, persons: str, seed: int, core: float) -> Twin:
    slots = tuple((slot, persons if slot == OF else kind) for slot, kind in template.slots)
    return filled(Draft(seed, core=core), replace(template, slots=slots))
