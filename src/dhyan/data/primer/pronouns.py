"""Pronouns of both languages, and the markers that stand after Hindi nouns."""

from dataclasses import dataclass

from dhyan.data.primer.hindi_morphology import MANY, ONE, YOU, I, adjective_forms
from dhyan.data.primer.sentence_builder import OTHER, SELF, SEVERAL, Draft, Phrase, form_of
from dhyan.data.primer.sentence_pair import Word


@dataclass(frozen=True, slots=True)
class Pronoun:
    """One pronoun in all its cases; `whose` is the genitive, which agrees as an adjective does."""

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
    "I": _pronoun("I me my", "मैं मैंने मुझे मुझ मेरा", I, SELF),
    "we": _pronoun("we us our", "हम हमने हमें हम हमारा", MANY, SEVERAL),
    "you": _pronoun("you you your", "तुम तुमने तुम्हें तुम तुम्हारा", YOU, SEVERAL),
    "you, sir": _pronoun("you you your", "आप आपने आपको आप आपका", MANY, SEVERAL),
    "he": _pronoun("he him his", "वह उसने उसे उस उसका", ONE, OTHER),
    "she": _pronoun("she her her", "वह उसने उसे उस उसका", ONE, OTHER),
    "they": _pronoun("they them their", "वे उन्होंने उन्हें उन उनका", MANY, SEVERAL),
    # one speaks of in the plural whom one respects
    "he, sir": _pronoun("he him his", "वे उन्होंने उन्हें उन उनका", MANY, OTHER),
    "she, madam": _pronoun("she her her", "वे उन्होंने उन्हें उन उनका", MANY, OTHER),
}
OWN = adjective_forms("अपना")

BARE, AGENT, DATIVE = "", "ने", "को"


def pronoun_phrase(draft: Draft, key: str, parent: int, case: str, *, feminine: bool) -> Phrase:
    """A pronoun as a subject: bare, as an agent or as one to whom things happen."""
    found = PRONOUNS[key]
    idea = draft.idea(parent)
    said = {BARE: found.direct, AGENT: found.agent, DATIVE: found.dative}[case]
    plural = found.who in (YOU, MANY)
    return Phrase(
        english=[(found.subject, idea, True)],
        hindi=[(said, idea, True)],
        who=found.who,
        form=form_of(feminine=feminine, plural=plural),
        number=found.number,
        label=key,
        person=True,
        lives=True,
        idea=idea,
    )


def object_pronoun(draft: Draft, key: str, parent: int, marker: str, whose: int) -> Phrase:
    """A pronoun as an object; `whose` is the form of the genitive, where the verb asks for one."""
    found = PRONOUNS[key]
    idea = draft.idea(parent)
    hindi: list[Word]
    if marker in ("का", "की", "के"):
        hindi = [(found.whose[whose], idea, True)]
    elif marker == "को":
        hindi = [(found.dative, idea, True)]
    elif marker == "से":
        hindi = [(found.oblique + "से", idea, True)]
    else:
        hindi = [(found.oblique, idea, True), (marker, idea, False)]
    return Phrase([(found.object, idea, True)], hindi, person=True, label=key, idea=idea)
