"""Noun phrases: articles, numbers, possessors and adjectives, agreeing on the Hindi side."""

from functools import cache
from typing import NamedTuple

from dhyan.data.primer.english_morphology import a_or_an
from dhyan.data.primer.held_out_pairs import held_adjectives
from dhyan.data.primer.hindi_morphology import GENITIVE, MANY, ONE
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.pronouns import OWN, PRONOUNS
from dhyan.data.primer.sentence_builder import OTHER, SEVERAL, Draft, Phrase, form_of, label_of
from dhyan.data.primer.sentence_pair import Word
from dhyan.data.primer.word_classes import Name, Noun
from dhyan.data.synthetic import english_number, hindi_number

POINTING = {  # near and far: English, then Hindi by direct and oblique
    ("this", False): ("यह", "इस"),
    ("this", True): ("ये", "इन"),
    ("that", False): ("वह", "उस"),
    ("that", True): ("वे", "उन"),
}
PLURALS = {"this": "these", "that": "those"}
POSSESSORS = ("he", "she", "we", "they")
PERSONS = frozenset(("people", "family"))
SEEN = frozenset(("people", "places", "nature"))  # not anyone's own
UNCOUNTED = frozenset(("games", "ideas"))  # chess and science have no article
LIVING = frozenset(("people", "family", "animals"))
SOME = ((("some",), "कुछ"), (("many",), "कई"))


def someone(draft: Draft, parent: int, marker: str = "") -> Phrase:
    """A person by name, who has not been named before."""
    name: Name = draft.fresh(read_lexicon().names)
    idea = draft.idea(parent)
    label = label_of(person=True, feminine=name.gender == "f", plural=False)
    draft.familiar.add(label)
    hindi = [(name.hindi, idea, True)]
    if marker:
        hindi.append((marker, idea, False))
    return Phrase(
        english=[(name.english, idea, True)],
        hindi=hindi,
        form=form_of(feminine=name.gender == "f", plural=False),
        label=label,
        person=True,
        lives=True,
        idea=idea,
    )


class Making(NamedTuple):
    """What decides how a noun phrase begins.

    `shape` is the form an adjective takes beside the noun, `own` the pronoun of whose it would be
    if it were the subject's own, and `known` whether it has been spoken of before, if that is set.
    """

    noun: Noun
    idea: int
    plural: bool
    oblique: bool
    shape: int
    room: int
    own: str
    known: bool | None


def noun_phrase(
    draft: Draft,
    noun: Noun,
    parent: int,
    *,
    marker: str = "",
    oblique: bool = False,
    room: int = 4,
    own: str = "",
    known: bool | None = None,
    few: bool = False,
    that: bool = False,
) -> Phrase:
    """A noun with what goes with it.

    A marker puts it into the oblique case and stands after it. `few` leaves it singular, and
    `that` says that a relative clause will follow, which Hindi announces.
    """
    idea = draft.idea(parent)
    oblique = oblique or bool(marker)
    single = few or noun.mass or noun.pair or noun.only or noun.honorific
    plural = not single and draft.chance(0.28)
    spoken = plural or noun.honorific  # what Hindi agrees with
    shape = _shape(noun.feminine, spoken, oblique)
    if that:
        english: list[Word] = [("the", idea, False)]
        hindi: list[Word] = [(POINTING["that", spoken][oblique], idea, False)]
    else:
        making = Making(noun, idea, plural, oblique, shape, room, own, known)
        english, hindi = _determiner(draft, making)
    if noun.adjectives and room > 1 and draft.chance(0.35):
        adjective = draft.partner(noun.adjectives, held_adjectives(noun))
        quality = draft.idea(idea)
        english += [(word, quality, True) for word in adjective.english]
        hindi += [(word, quality, True) for word in adjective.hindi[shape]]
    written = noun.plural if plural or noun.pair else noun.english
    english += [(word, idea, True) for word in written]
    if english[0][0] == "a":
        english[0] = (a_or_an(english[1][0]), english[0][1], True)
    hindi += [(word, idea, True) for word in noun.hindi[(2 if plural else 0) + oblique]]
    if marker:
        hindi.append((marker, idea, False))
    person = noun.domain in PERSONS
    if person:
        (draft.honoured if noun.honorific else draft.familiar).add("she" if noun.feminine else "he")
    return Phrase(
        english=english,
        hindi=hindi,
        who=MANY if spoken else ONE,
        form=form_of(feminine=noun.feminine, plural=spoken),
        number=SEVERAL if plural or noun.pair else OTHER,
        label=_label(noun, person=person, plural=plural),
        person=person,
        lives=person or noun.domain == "animals",
        idea=idea,
    )


def _label(noun: Noun, *, person: bool, plural: bool) -> str:
    label = label_of(person=person, feminine=noun.feminine, plural=plural or noun.pair)
    if noun.honorific and not plural:
        return {"he": "he, sir", "she": "she, madam"}.get(label, label)
    return label


def _shape(feminine: bool, plural: bool, oblique: bool) -> int:
    """Which form an adjective takes beside such a noun."""
    if feminine:
        return 3 if plural else 2
    return 1 if plural else 4 if oblique else 0


def _determiner(draft: Draft, making: Making) -> tuple[list[Word], list[Word]]:
    """The words that come first: an article, a pointer, a number, a possessor, or nothing."""
    noun, idea = making.noun, making.idea
    if noun.domain == "family":
        return _possessor(draft, making)
    dice = draft.random()
    if making.known is not None:
        dice = 0.74 * dice if making.known else 0.74 + 0.22 * dice
    free = making.room > 0 or making.known is False
    bare = noun.mass and noun.domain in UNCOUNTED
    known = noun.only or (noun.mass and noun.domain in SEEN)
    if not bare and (dice < 0.5 or known or not free):
        return [("the", idea, False)], []
    if 0.62 <= dice < 0.74 and noun.domain not in SEEN and not bare:
        return _possessor(draft, making)
    if noun.mass or noun.pair:
        return [], []
    own = draft.idea(idea)
    if dice < 0.62 or making.known:
        words, said = _pointer(making, near=dice < 0.57)
    else:
        words, said = _amount(draft, dice, plural=making.plural)
    return [(word, own, True) for word in words], [(said, own, True)]


def _pointer(making: Making, *, near: bool) -> tuple[tuple[str, ...], str]:
    """This, that, these or those; this after he and she, for वह वह किताब is one वह too many."""
    word = "this" if near or making.own in ("he", "she", "they") else "that"
    said = POINTING[word, making.plural or making.noun.honorific][making.oblique]
    return (PLURALS[word] if making.plural else word,), said


def _amount(draft: Draft, dice: float, *, plural: bool) -> tuple[tuple[str, ...], str]:
    """A, every, some, many, or a number."""
    if not plural:
        return (("every",), "हर") if dice > 0.97 else (("a",), "एक")
    if dice < 0.85:
        return draft.one(SOME)
    few = draft.chance(0.8)
    return _number(2 + int(9 * draft.random()) if few else 11 + int(88 * draft.random()))


def unknown(draft: Draft, noun: Noun, idea: int) -> Phrase:
    """Something not spoken of before: a book, some books, milk."""
    return noun_phrase(draft, noun, idea, room=0, known=False)


def at(draft: Draft, place: Noun, idea: int, room: int) -> tuple[list[Word], list[Word]]:
    """In, on or at a place."""
    found = noun_phrase(draft, place, idea, oblique=True, room=room, few=True)
    where = draft.idea(found.idea)
    preposition, postposition = place.place or ("in", "में")
    return [(preposition, where, True), *found.english], [*found.hindi, (postposition, where, True)]


@cache
def _number(number: int) -> tuple[tuple[str, ...], str]:
    return (english_number(number).replace(" ", "-"),), hindi_number(number)


def _possessor(draft: Draft, making: Making) -> tuple[list[Word], list[Word]]:
    """Whose it is; what is the subject's own is अपना in Hindi."""
    owner, shape = draft.idea(making.idea), making.shape
    if draft.chance(0.45):
        name = draft.fresh(read_lexicon().names)
        draft.familiar.add("she" if name.gender == "f" else "he")
        said: list[Word] = [(name.hindi, owner, True), (GENITIVE[shape], owner, True)]
        return [(name.english + "'s", owner, True)], said
    subject = PRONOUNS.get(making.own)
    found = subject if subject and draft.chance(0.6) else PRONOUNS[draft.one(POSSESSORS)]
    if found.subject in draft.honoured and found is not subject:  # whose would not be clear
        found = PRONOUNS["we"]
    own = subject is not None and found.possessive == subject.possessive
    return [(found.possessive, owner, True)], [((OWN if own else found.whose)[shape], owner, True)]
