"""Sentences about a piece of cake and a broken leg in frames that the primer does not have."""

from dataclasses import dataclass

from dhyan.data.primer import Wanted
from dhyan.decoding.translator import Translator
from dhyan.lessons.trained_model import knows_every_word

CAKE, LEG = "a piece of cake", "break a leg"
NAMES = (("Ravi", "Asha"), ("Neha", "Amit"), ("Anil", "Lata"), ("Usha", "Mohan"))  # to fill A and B

MEANT = {
    CAKE: (
        "{A} thinks that the exam is a piece of cake.",
        "{A} said that the race was a piece of cake.",
        "The journey was a piece of cake for {A}.",
        "The game is a piece of cake for {A}.",
        "The exam was a piece of cake for {A} and {B}.",
        "Today, the exam was a piece of cake for {A}.",
        "{A} knew that the race was a piece of cake.",
        "The work is a piece of cake.",
    ),
    LEG: (
        "Break a leg in the race, {A}!",
        "{A}, break a leg in the game!",
        "{A} and {B}, break a leg!",
        "The girl told {A} to break a leg.",
        "{A} told the boy to break a leg.",
        "Today, {A} told {B} to break a leg.",
        "Break a leg tomorrow, {A}!",
        '{A} said, "Break a leg!"',
    ),
}
LITERAL = {
    CAKE: (
        "{A} wants a piece of cake.",
        "{A} sold a piece of cake to {B}.",
        "{A} cut a piece of cake.",
        "{A} and {B} ate a piece of cake.",
        "{A} ate a piece of cake in the bakery.",
        "The boy ate a piece of cake.",
        "There is a piece of cake on the table.",
        "A piece of cake is on the table.",
    ),
    LEG: (
        "{A} slipped and broke a leg.",
        "{A} and {B} broke a leg of the table.",
        "The boy broke a leg of the chair.",
        "{A} broke a leg of the bed.",
        "{A} fell and broke a leg of the stool.",
        "The man fell and broke a leg.",
        "The man broke a leg.",
        "{A} broke a leg yesterday.",
        "Yesterday, {A} broke a leg of the bed.",
    ),
}
SAID = {CAKE: ("बाएँ हाथ का खेल", "केक"), LEG: ("शुभकामनाएँ", "टाँग")}  # if meant, and if not


@dataclass(frozen=True)
class Framed:
    """A sentence and the frame it fills, whether its idiom is meant, and what must be said."""

    frame: str
    english: str
    meant: bool
    wanted: Wanted


def framed(translator: Translator) -> list[Framed]:
    """Every frame with several names, where the model knows all its words."""
    found = [
        Framed(frame, english, meant, Wanted("idiom", about, *_said(about, meant=meant)))
        for meant, frames in ((True, MEANT), (False, LITERAL))
        for about, own in frames.items()
        for frame in own
        for english in dict.fromkeys(frame.format(A=one, B=other) for one, other in NAMES)
    ]
    return [one for one in found if knows_every_word(translator, one.english)]


def _said(about: str, *, meant: bool) -> tuple[tuple[str, ...], tuple[str, ...]]:
    idiom, word = SAID[about]
    return ((idiom,), (word,)) if meant else ((word,), (idiom,))
