"""Nouns told apart by a clause: English lets it follow, Hindi has जो … वह."""

from functools import cache

from dhyan.data.primer.clauses import doing, marker_of
from dhyan.data.primer.held_out_pairs import held_objects
from dhyan.data.primer.hindi_morphology import MANY, ONE
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.noun_phrases import PERSONS, noun_phrase
from dhyan.data.primer.sentence_builder import (
    OTHER,
    SEVERAL,
    Draft,
    Phrase,
    form_of,
    label_of,
    sign,
)
from dhyan.data.primer.sentence_pair import Word
from dhyan.data.primer.tenses import Tense
from dhyan.data.primer.word_classes import Noun, Verb

# By number: who or which is meant, bare and before a marker; and who is taken up again.
WHICH = (("जो", "जिस"), ("जो", "जिन"))
WHO_DID = {("", 0): "जो", ("ने", 0): "जिसने", ("को", 0): "जिसे"} | {
    ("", 1): "जो", ("ने", 1): "जिन्होंने", ("को", 1): "जिन्हें",
}  # fmt: skip
AGAIN = {("", 0): "वह", ("ने", 0): "उसने", ("को", 0): "उसे"} | {
    ("", 1): "वे", ("ने", 1): "उन्होंने", ("को", 1): "उन्हें",
}  # fmt: skip
TENSES = {
    "present": (Tense.HABIT, Tense.NOW, Tense.DONE),
    "past": (Tense.PAST, Tense.THEN, Tense.BEFORE),
    "future": (Tense.HABIT, Tense.NOW),
}


@cache
def actions_of(noun: Noun) -> tuple[Verb, ...]:
    """What it may do."""
    return tuple(verb for verb in read_lexicon().verbs if noun in verb.subject_nouns)


@cache
def actions_on(noun: Noun) -> tuple[Verb, ...]:
    """What people may do to it, where Hindi leaves it unmarked."""
    return tuple(
        verb
        for verb in read_lexicon().verbs
        if noun in verb.object_nouns
        and noun not in held_objects(verb)
        and verb.named
        and not marker_of(verb, noun)
    )


@cache
def tellable(verb: Verb) -> tuple[Noun, ...]:
    """The doers that a clause may tell apart; kin are told apart by whose they are."""
    doers = verb.subject_nouns
    return tuple(noun for noun in doers if noun.domain != "family" and actions_of(noun))


def told_subject(draft: Draft, verb: Verb, case: str, idea: int, room: int) -> Phrase:
    """The boy who reads the book: जो लड़का किताब पढ़ता है, वह …"""
    noun = draft.word(tellable(verb))
    head = draft.idea(idea)
    plural = not (noun.mass or noun.pair or noun.honorific) and draft.chance(0.3)
    many = plural or noun.honorific
    form = form_of(feminine=noun.feminine, plural=many)
    number = SEVERAL if plural or noun.pair else OTHER
    person = noun.domain in PERSONS
    label = label_of(person=person, feminine=noun.feminine, plural=plural)

    def which(draft: Draft, verb: Verb, marked: str, idea: int, room: int) -> Phrase:
        who = draft.idea(idea)
        shape = (2 if plural else 0) + bool(marked)
        hindi: list[Word] = [(WHICH[many][bool(marked)], who, True)]
        hindi += [(word, head, True) for word in noun.hindi[shape]]
        if marked:
            hindi.append((marked, head, False))
        english: list[Word] = [("who" if person else "that", who, True)]
        return Phrase(
            english, hindi, MANY if many else ONE, form, number, label, person=person, lives=True
        )

    inner = doing(
        draft,
        draft.one(TENSES[draft.mood]),
        room,
        parent=head,
        verb=draft.word(actions_of(noun)),
        subject=which,
        fronts=False,
    )
    words = noun.plural if plural or noun.pair else noun.english
    named: list[Word] = [("the", head, False), *((word, head, True) for word in words)]
    return Phrase(
        english=[*named, *inner.english],
        hindi=[(AGAIN[case, many], head, False)],
        who=MANY if many else ONE,
        form=form,
        number=number,
        label=label,
        before=[*inner.hindi, sign(",")],
        person=person,
        lives=person or noun.domain == "animals",
        idea=head,
    )


def told_object(draft: Draft, verb: Verb, idea: int, subject: Phrase, room: int) -> Phrase:
    """The book that Ravi bought, or reads: वह किताब …, जो रवि ने ख़रीदी, or जिसे रवि पढ़ता है."""
    noun = draft.partner(verb.object_nouns, held_objects(verb))
    does, suffers = actions_of(noun), actions_on(noun)
    found = noun_phrase(
        draft,
        noun,
        idea,
        marker=marker_of(verb, noun),
        room=0,
        own=subject.label,
        that=noun.domain != "family" and bool(does or suffers),
        few=True,
    )
    if not does and not suffers:
        return found
    mine = Phrase([], [], found.who, found.form, found.number, "")
    by_itself = bool(does) and (noun.domain in PERSONS or not suffers)
    who = draft.idea(found.idea)
    person = noun.domain in PERSONS
    relative: Word = ("who" if person else "that", who, True)
    many = noun.honorific

    def which(draft: Draft, verb: Verb, marked: str, idea: int, room: int) -> Phrase:
        said: Word = (WHO_DID[marked, many], who, True)
        return Phrase(
            [], [said], found.who, found.form, found.number, found.label, person=person, lives=True
        )

    tense = draft.one(TENSES[draft.mood])
    if by_itself:
        inner = doing(
            draft,
            tense,
            room,
            parent=found.idea,
            verb=draft.word(does),
            subject=which,
            fronts=False,
        )
        hindi = inner.hindi
    else:
        inner = doing(
            draft,
            tense,
            room,
            parent=found.idea,
            verb=draft.word(suffers),
            object=lambda *_: mine,
            fronts=False,
        )
        by_agent = inner.about.hindi[-1][0].endswith("ने")  # otherwise जो might be who does it
        hindi = [("जो" if by_agent else WHO_DID["को", many], who, True), *inner.hindi]
    found.english = [*found.english, relative, *inner.english]
    found.after = [sign(","), *hindi]
    return found
