"""Noun phrases and pronouns: determiners, possessors, adjectives, case markers and agreement."""

from dataclasses import dataclass
from functools import cache
from typing import NamedTuple

from dhyan.data.primer.english_morphology import a_or_an
from dhyan.data.primer.hindi_morphology import GENITIVE, HE, THEY, YOU, I, adjective_forms
from dhyan.data.primer.lexicon import Name, Noun, read_lexicon
from dhyan.data.primer.sentence_builder import (
    FIRST_SINGULAR,
    PLURAL,
    THIRD_SINGULAR,
    Phrase,
    SentenceBuilder,
    form_of,
    pronoun_of,
)
from dhyan.data.primer.sentence_pair import Word
from dhyan.data.primer.vocabulary_subsets import held_out_adjectives
from dhyan.data.synthetic import english_number, hindi_number


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A pronoun in all its cases; `whose` is the genitive, which agrees as an adjective does."""

    subject: str
    object: str
    possessive: str
    direct: str
    agent: str  # with ने
    dative: str  # with को
    oblique: str  # before other postpositions
    whose: tuple[str, ...]
    who: int
    number: int


def _pronoun(english: str, hindi: str, who: int, number: int) -> Pronoun:
    subject, object, possessive = english.split()
    direct, agent, dative, oblique, whose = hindi.split()
    forms = adjective_forms(whose)
    return Pronoun(subject, object, possessive, direct, agent, dative, oblique, forms, who, number)


PRONOUNS = {
    "I": _pronoun("I me my", "मैं मैंने मुझे मुझ मेरा", I, FIRST_SINGULAR),
    "we": _pronoun("we us our", "हम हमने हमें हम हमारा", THEY, PLURAL),
    "you": _pronoun("you you your", "तुम तुमने तुम्हें तुम तुम्हारा", YOU, PLURAL),
    "you, sir": _pronoun("you you your", "आप आपने आपको आप आपका", THEY, PLURAL),
    "he": _pronoun("he him his", "वह उसने उसे उस उसका", HE, THIRD_SINGULAR),
    "she": _pronoun("she her her", "वह उसने उसे उस उसका", HE, THIRD_SINGULAR),
    "it": _pronoun("it it its", "वह उसने उसे उस उसका", HE, THIRD_SINGULAR),
    "they": _pronoun("they them their", "वे उन्होंने उन्हें उन उनका", THEY, PLURAL),
    # honorific plural
    "he, sir": _pronoun("he him his", "वे उन्होंने उन्हें उन उनका", THEY, THIRD_SINGULAR),
    "she, madam": _pronoun("she her her", "वे उन्होंने उन्हें उन उनका", THEY, THIRD_SINGULAR),
}
OWN = adjective_forms("अपना")

BARE, AGENT, DATIVE = "", "ने", "को"


def pronoun_phrase(
    builder: SentenceBuilder, key: str, parent: int, case: str, *, feminine: bool
) -> Phrase:
    """A pronoun as a subject: direct, ergative or dative."""
    phrase = PRONOUNS[key]
    node = builder.add_node(parent)
    hindi_form = {BARE: phrase.direct, AGENT: phrase.agent, DATIVE: phrase.dative}[case]
    plural = phrase.who in (YOU, THEY)
    return Phrase(
        english=[(phrase.subject, node, True)],
        hindi=[(hindi_form, node, True)],
        who=phrase.who,
        form=form_of(feminine=feminine, plural=plural),
        number=phrase.number,
        pronoun=key,
        person=key != "it",
        animate=key != "it",
        node=node,
    )


def object_pronoun(
    builder: SentenceBuilder, key: str, parent: int, marker: str, whose: int
) -> Phrase:
    """A pronoun as an object; `whose` is the genitive's form, where the verb takes one."""
    phrase = PRONOUNS[key]
    node = builder.add_node(parent)
    hindi: list[Word]
    if marker in ("का", "की", "के"):
        hindi = [(phrase.whose[whose], node, True)]
    elif marker == "को":
        hindi = [(phrase.dative, node, True)]
    elif marker == "से":
        hindi = [(phrase.oblique + "से", node, True)]
    else:
        hindi = [(phrase.oblique, node, True), (marker, node, False)]
    return Phrase([(phrase.object, node, True)], hindi, person=True, pronoun=key, node=node)


DEMONSTRATIVES = {  # near and far: English, then Hindi by direct and oblique
    ("this", False): ("यह", "इस"),
    ("this", True): ("ये", "इन"),
    ("that", False): ("वह", "उस"),
    ("that", True): ("वे", "उन"),
}
PLURALS = {"this": "these", "that": "those"}
POSSESSORS = ("he", "she", "we", "they")
PERSONS = frozenset(("people", "family"))
PUBLIC = frozenset(("people", "places", "nature"))  # without a possessor
WITHOUT_ARTICLE = frozenset(("games", "ideas"))  # chess and science have no article
LIVING = frozenset(("people", "family", "animals"))
SOME = ((("some",), "कुछ"), (("many",), "कई"))


def name_phrase(builder: SentenceBuilder, parent: int, marker: str = "") -> Phrase:
    """A name that is new in the sentence."""
    name: Name = builder.sample_new(read_lexicon().names)
    node = builder.add_node(parent)
    label = pronoun_of(person=True, feminine=name.gender == "f", plural=False)
    builder.plain_pronouns.add(label)
    hindi = [(name.hindi, node, True)]
    if marker:
        hindi.append((marker, node, False))
    return Phrase(
        english=[(name.english, node, True)],
        hindi=hindi,
        form=form_of(feminine=name.gender == "f", plural=False),
        pronoun=label,
        person=True,
        animate=True,
        node=node,
    )


class NounPhrasePlan(NamedTuple):
    """Choices that decide the determiner of a noun phrase.

    `shape` is the form of an adjective beside the noun, `own` the pronoun of the subject if it may
    be the possessor, `definite`, if set, whether the noun was mentioned before, and `negated` whether
    it is the object of a negated verb (not a book, कोई किताब नहीं).
    """

    noun: Noun
    node: int
    plural: bool
    oblique: bool
    shape: int
    room: int
    own: str
    definite: bool | None
    negated: bool = False


def noun_phrase(
    builder: SentenceBuilder,
    noun: Noun,
    parent: int,
    *,
    marker: str = "",
    oblique: bool = False,
    room: int = 4,
    own: str = "",
    definite: bool | None = None,
    few: bool = False,
    that: bool = False,
    negated: bool = False,
) -> Phrase:
    """A noun with determiner and adjective.

    A marker puts it into the oblique case and follows it. `few` keeps it singular, `that` announces a
    relative clause by a demonstrative in Hindi, and `negated` makes "a" कोई.
    """
    node = builder.add_node(parent)
    oblique = oblique or bool(marker)
    single = few or negated or noun.mass or noun.pair or noun.only or noun.honorific
    plural = not single and builder.flip(0.28)
    hindi_plural = plural or noun.honorific  # what Hindi agrees with
    shape = _shape(noun.feminine, hindi_plural, oblique)
    if that:
        english: list[Word] = [("the", node, False)]
        hindi: list[Word] = [(DEMONSTRATIVES["that", hindi_plural][oblique], node, False)]
    else:
        plan = NounPhrasePlan(noun, node, plural, oblique, shape, room, own, definite, negated)
        english, hindi = _determiner(builder, plan)
    if noun.adjectives and room > 1 and builder.flip(0.35):
        adjective = builder.sample_partner(noun.adjectives, held_out_adjectives(noun))
        quality = builder.add_node(node)
        english += [(word, quality, True) for word in adjective.english]
        hindi += [(word, quality, True) for word in adjective.hindi[shape]]
    english_forms = noun.plural if plural or noun.pair else noun.english
    english += [(word, node, True) for word in english_forms]
    if english[0][0] == "a":
        english[0] = (a_or_an(english[1][0]), english[0][1], True)
    hindi += [(word, node, True) for word in noun.hindi[(2 if plural else 0) + oblique]]
    if marker:
        hindi.append((marker, node, False))
    person = noun.domain in PERSONS
    if person:
        (builder.honorific_pronouns if noun.honorific else builder.plain_pronouns).add(
            "she" if noun.feminine else "he"
        )
    return Phrase(
        english=english,
        hindi=hindi,
        who=THEY if hindi_plural else HE,
        form=form_of(feminine=noun.feminine, plural=hindi_plural),
        number=PLURAL if plural or noun.pair else THIRD_SINGULAR,
        pronoun=_label(noun, person=person, plural=plural),
        person=person,
        animate=person or noun.domain == "animals",
        node=node,
    )


def _label(noun: Noun, *, person: bool, plural: bool) -> str:
    label = pronoun_of(person=person, feminine=noun.feminine, plural=plural or noun.pair)
    if noun.honorific and not plural:
        return {"he": "he, sir", "she": "she, madam"}.get(label, label)
    return label


def _shape(feminine: bool, plural: bool, oblique: bool) -> int:
    """The form of an adjective beside such a noun."""
    if feminine:
        return 3 if plural else 2
    return 1 if plural else 4 if oblique else 0


def _determiner(builder: SentenceBuilder, plan: NounPhrasePlan) -> tuple[list[Word], list[Word]]:
    """The determiner: an article, a demonstrative, a quantifier, a possessor, or nothing."""
    noun, node = plan.noun, plan.node
    if noun.domain == "family":
        return _possessor(builder, plan)
    dice = builder.random()
    if plan.definite is not None:
        dice = 0.74 * dice if plan.definite else 0.74 + 0.22 * dice
    free = plan.room > 0 or plan.definite is False
    bare = noun.mass and noun.domain in WITHOUT_ARTICLE
    definite = noun.only or (noun.mass and noun.domain in PUBLIC)
    if not bare and (dice < 0.5 or definite or not free):
        return [("the", node, False)], []
    if 0.62 <= dice < 0.74 and noun.domain not in PUBLIC and not bare:
        return _possessor(builder, plan)
    if noun.mass or noun.pair:
        return [], []
    own = builder.add_node(node)
    if dice < 0.62 or plan.definite:
        words, hindi_form = _demonstrative(plan, proximal=dice < 0.57)
    else:
        words, hindi_form = _quantifier(builder, dice, plan)
    return [(word, own, True) for word in words], [(hindi_form, own, True)]


def _demonstrative(plan: NounPhrasePlan, *, proximal: bool) -> tuple[tuple[str, ...], str]:
    """This, that, these or those; "this" after he and she, to avoid वह वह किताब."""
    word = "this" if proximal or plan.own in ("he", "she", "they") else "that"
    hindi_form = DEMONSTRATIVES[word, plan.plural or plan.noun.honorific][plan.oblique]
    return (PLURALS[word] if plan.plural else word,), hindi_form


def _quantifier(
    builder: SentenceBuilder, dice: float, plan: NounPhrasePlan
) -> tuple[tuple[str, ...], str]:
    """A quantifier: a, every, some, many, or a number."""
    if plan.negated:
        return ("a",), "किसी" if plan.oblique else "कोई"
    if not plan.plural:
        return (("every",), "हर") if dice > 0.97 else (("a",), "एक")
    if dice < 0.85:
        return builder.choose(SOME)
    few = builder.flip(0.8)
    return _number(2 + int(9 * builder.random()) if few else 11 + int(88 * builder.random()))


def indefinite_phrase(
    builder: SentenceBuilder, noun: Noun, node: int, *, negated: bool = False
) -> Phrase:
    """An indefinite noun phrase: a book, some books, milk."""
    return noun_phrase(builder, noun, node, room=0, definite=False, negated=negated)


def locative_phrase(
    builder: SentenceBuilder, location: Noun, node: int, room: int
) -> tuple[list[Word], list[Word]]:
    """A locative phrase: in, on or at a place."""
    phrase = noun_phrase(builder, location, node, oblique=True, room=room, few=True)
    where = builder.add_node(phrase.node)
    preposition, postposition = location.adpositions or ("in", "में")
    return [(preposition, where, True), *phrase.english], [
        *phrase.hindi,
        (postposition, where, True),
    ]


@cache
def _number(number: int) -> tuple[tuple[str, ...], str]:
    return (english_number(number).replace(" ", "-"),), hindi_number(number)


def _possessor(builder: SentenceBuilder, plan: NounPhrasePlan) -> tuple[list[Word], list[Word]]:
    """A possessor; the subject's own is the reflexive अपना in Hindi."""
    owner, shape = builder.add_node(plan.node), plan.shape
    if builder.flip(0.45):
        name = builder.sample_new(read_lexicon().names)
        builder.plain_pronouns.add("she" if name.gender == "f" else "he")
        hindi_form: list[Word] = [(name.hindi, owner, True), (GENITIVE[shape], owner, True)]
        return [(name.english + "'s", owner, True)], hindi_form
    subject = PRONOUNS.get(plan.own) if plan.own != "it" else None
    phrase = subject if subject and builder.flip(0.6) else PRONOUNS[builder.choose(POSSESSORS)]
    if (
        phrase.subject in builder.honorific_pronouns and phrase is not subject
    ):  # otherwise the possessor is ambiguous
        phrase = PRONOUNS["we"]
    own = subject is not None and phrase.possessive == subject.possessive
    return [(phrase.possessive, owner, True)], [
        ((OWN if own else phrase.whose)[shape], owner, True)
    ]
