"""Clauses of doing: someone, a verb, and what it is done to."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

from dhyan.data.primer.adverbials import Setting, setting
from dhyan.data.primer.held_out_pairs import held_objects
from dhyan.data.primer.hindi_morphology import MANY, F
from dhyan.data.primer.lexicon import read_lexicon
from dhyan.data.primer.noun_phrases import LIVING, noun_phrase, someone
from dhyan.data.primer.pronouns import object_pronoun, pronoun_phrase
from dhyan.data.primer.sentence_builder import SEVERAL, Draft, Phrase, form_of
from dhyan.data.primer.sentence_pair import ROOT, Word
from dhyan.data.primer.tenses import Mode, Plan, Tense, clear
from dhyan.data.primer.verb_groups import Group, shown, verb_group
from dhyan.data.primer.word_classes import Noun, Verb


@dataclass(slots=True)
class Clause:
    """A clause in both languages, with the one it is about."""

    english: list[Word]
    hindi: list[Word]
    about: Phrase
    idea: int = ROOT
    verb: list[Word] = field(default_factory=list)  # in Hindi, where it shows what it agrees with
    trails: bool = False  # whether its Hindi ends in a relative clause


Subject = Callable[[Draft, Verb, str, int, int], Phrase]
Object = Callable[[Draft, Verb, int, Phrase, int], Phrase]


def some_subject(draft: Draft, verb: Verb, case: str, idea: int, room: int) -> Phrase:
    """Whoever may do it: someone by name, by a pronoun, by a noun, or two together."""
    dice = draft.random()
    if verb.named and dice < 0.5:
        if dice < 0.36:
            return someone(draft, idea, case)
        key = "he" if dice < 0.41 else "she" if dice < 0.46 else "we"
        if draft.open(key):
            return someone(draft, idea, case)
        return pronoun_phrase(draft, key, idea, case, feminine=key == "she")
    if verb.named and dice < 0.57 and room > 1:
        return two_names(draft, idea, case)
    return noun_phrase(draft, draft.word(verb.subject_nouns), idea, marker=case, room=room)


def two_names(draft: Draft, idea: int, case: str) -> Phrase:
    """Two people by name; they are masculine together unless both are feminine."""
    one = someone(draft, idea)
    joined = draft.idea(one.idea)
    other = someone(draft, one.idea, case)
    return Phrase(
        english=[*one.english, ("and", joined, True), *other.english],
        hindi=[*one.hindi, ("और", joined, True), *other.hindi],
        who=MANY,
        form=form_of(feminine=one.form == other.form == F, plural=True),
        number=SEVERAL,
        label="they",
        person=True,
        idea=one.idea,
    )


def marker_of(verb: Verb, noun: Noun) -> str:
    """How Hindi marks this object of this verb: persons and animals by को, things not at all."""
    return verb.marker or ("को" if noun.domain in LIVING else "")


def some_object(draft: Draft, verb: Verb, idea: int, subject: Phrase, room: int) -> Phrase:
    """Whatever it may be done to."""
    noun = draft.partner(verb.object_nouns, held_objects(verb))
    marker = marker_of(verb, noun)
    if noun.domain == "people" and marker and draft.chance(0.15):
        key = "he" if subject.label.startswith("she") or draft.chance(0.5) else "she"
        if draft.open(key):
            return someone(draft, idea, marker)
        return object_pronoun(draft, key, idea, marker, whose=_whose(marker))
    known = None
    if noun.domain == "animals" and not verb.marker:  # only one spoken of before is marked
        known = draft.chance(0.6)
        marker = marker if known else ""
    return noun_phrase(draft, noun, idea, marker=marker, room=room, own=subject.label, known=known)


def _whose(marker: str) -> int:
    return {"का": 0, "के": 1}.get(marker, 2)


def doing(
    draft: Draft,
    tense: Tense,
    room: int,
    *,
    parent: int = ROOT,
    verb: Verb | None = None,
    subject: Subject = some_subject,
    object: Object = some_object,
    mode: Mode = Mode.PLAIN,
    negated: bool = False,
    asks: str = "",
    fronts: bool = True,
    alone: bool = False,
) -> Clause:
    """Someone does something; `room` is about how many more words there may be than it needs.

    `asks` makes it a question: "whether", "who", "what", "how many", "where", "when" or "why".
    `fronts` lets a time come first; `alone` adds neither time nor place.
    """
    verb = verb or draft.word(read_lexicon().verbs)
    if not (negated or asks):
        tense = clear(verb, tense)
    if asks == "when" and tense == Tense.DONE:
        tense = Tense.PAST
    plan = Plan(verb, tense, room, mode, negated, asks, fronts, alone)
    idea, share = draft.idea(parent), room // 2
    if asks == "who":
        doer = asked_subject(draft, plan.case, idea)
    else:
        doer = subject(draft, verb, plan.case, idea, share)
    patient, front = None, list[Word]()
    if asks in ("what", "how many"):
        patient, front = asked_object(draft, verb, asks, idea)
    elif verb.object_nouns:
        patient = object(draft, verb, idea, doer, share)
    around = setting(draft, plan, doer, idea)
    group = verb_group(draft, plan, idea, shown(plan, doer, patient), around.before_verb)
    said = _assembled(doer, patient, group, around, front, inverted=plan.inverted)
    said.idea = idea
    if asks == "whether":
        said.hindi.insert(0, ("क्या", draft.idea(idea), True))
    return said


def asked_subject(draft: Draft, case: str, idea: int) -> Phrase:
    """Who?"""
    who = draft.idea(idea)
    said = {"": "कौन", "ने": "किसने", "को": "किसे"}[case]
    return Phrase([("who", who, True)], [(said, who, True)], person=True, label="", idea=who)


def asked_object(draft: Draft, verb: Verb, asks: str, idea: int) -> tuple[Phrase, list[Word]]:
    """What, or how many of them? English puts it first, Hindi leaves it where an object stands."""
    what = draft.idea(idea)
    if asks == "what":
        return Phrase([], [("क्या", what, True)], idea=what), [("what", what, True)]
    noun = draft.word(counted(verb))
    many = draft.idea(what)
    front = [("how", many, True), ("many", many, True)] + [(w, what, True) for w in noun.plural]
    said = "कितनी" if noun.feminine else "कितने"
    hindi = [(said, many, True)] + [(w, what, True) for w in noun.hindi[2]]
    form = form_of(feminine=noun.feminine, plural=True)
    return Phrase([], hindi, who=MANY, form=form, number=SEVERAL, idea=what), front


@cache
def counted(verb: Verb) -> tuple[Noun, ...]:
    """The objects one can ask the number of."""
    if verb.marker:
        return ()
    return tuple(
        noun
        for noun in verb.object_nouns
        if noun not in held_objects(verb)
        and not (noun.mass or noun.pair or noun.only or noun.domain in LIVING)
    )


def _assembled(
    doer: Phrase,
    patient: Phrase | None,
    group: Group,
    around: Setting,
    front: list[Word],
    *,
    inverted: bool,
) -> Clause:
    """Everything in its order: English asks by its auxiliary first, Hindi ends in its verb."""
    english = [*around.english_first, *front]
    if inverted:
        english += [*group.auxiliary, *doer.english]
    else:
        english += [*doer.english, *group.auxiliary]
    english += group.english
    hindi = [*doer.before, *around.hindi_first, *doer.hindi, *around.hindi_between]
    if patient:
        english += patient.english
        hindi += patient.hindi
    english += around.english_last
    hindi += group.hindi
    if patient:
        hindi += patient.after
    trails = patient is not None and bool(patient.after)
    return Clause(english, hindi, doer, ROOT, group.hindi, trails)
