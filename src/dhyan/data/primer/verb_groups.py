"""Verbs in their tenses: what English does with auxiliaries, Hindi with endings."""

from typing import NamedTuple

from dhyan.data.primer.hindi_morphology import COPULA, MM, ONE, RAHA, WAS, F, M, hindi_verb
from dhyan.data.primer.sentence_builder import OTHER, Draft, Phrase
from dhyan.data.primer.sentence_pair import Word
from dhyan.data.primer.tenses import Mode, Plan, Tense
from dhyan.data.primer.word_classes import Verb

BE, BEEN = ("am", "are", "is"), ("was", "were", "was")
HAVE, DO = ("have", "have", "has"), ("do", "do", "does")
SAKNA, CHAHNA, LAGNA = map(hindi_verb, ("सकना", "चाहना", "लगना"))


class Group(NamedTuple):
    """The words of a verb: an English auxiliary, which questions put first, and the rest."""

    auxiliary: list[Word]
    english: list[Word]
    hindi: list[Word]


class Shown(NamedTuple):
    """What a verb shows: the number of its English subject, and what it agrees with in Hindi."""

    number: int
    who: int
    form: int


def shown(plan: Plan, subject: Phrase, object: Phrase | None) -> Shown:
    """Hindi agrees with a bare doer, else with a noun in the verb or a bare object, or nothing."""
    if not plan.case:
        return Shown(subject.number, subject.who, subject.form)
    if plan.verb.agrees:
        return Shown(subject.number, ONE, F if plan.verb.agrees == "f" else M)
    if object and object.bare:
        return Shown(subject.number, object.who, object.form)
    return Shown(subject.number, ONE, M)


def verb_group(draft: Draft, plan: Plan, idea: int, shows: Shown, asked: list[Word]) -> Group:
    """The verb in both languages; Hindi puts what is `asked`, where or why, right before it."""
    if plan.mode != Mode.PLAIN:
        return _with_mode(draft, plan, idea, shows, asked)
    helper = draft.idea(idea)
    auxiliary, english = _english(plan, idea, helper, shows.number)
    main, *rest = _hindi(plan.verb, plan.tense, shows)
    hindi = _begun(plan.verb, idea, asked)
    if plan.negated:
        no = draft.idea(idea)
        english.insert(0, ("not", no, True))
        hindi.append(("नहीं", no, True))
    hindi.append((main, idea, True))
    if rest:
        *going, last = rest
        hindi += [(word, idea, False) for word in going]
        shared = bool(auxiliary) and auxiliary[0][2]
        hindi.append((last, helper if shared else idea, shared))
    return Group(auxiliary, english, hindi)


def _english(plan: Plan, idea: int, helper: int, number: int) -> tuple[list[Word], list[Word]]:
    """The auxiliary, which means as much as its Hindi one in the compound tenses, and the verb."""
    forms, helped = plan.verb.english, plan.negated or plan.inverted
    match plan.tense:
        case Tense.HABIT | Tense.PROVIDED if not helped:
            return [], _named(forms.third if number == OTHER else forms.base, idea)
        case Tense.PAST if not helped:
            return [], _named(forms.past, idea)
        case Tense.HABIT | Tense.PROVIDED | Tense.PAST | Tense.LATER:
            first = {Tense.PAST: "did", Tense.LATER: "will"}.get(plan.tense, DO[number])
            return [(first, idea, False)], _named(forms.base, idea)
        case Tense.ONCE:
            used: list[Word] = [("used", idea, False), ("to", idea, False)]
            return [], used + _named(forms.base, idea)
    helpers = {Tense.NOW: BE, Tense.THEN: BEEN, Tense.DONE: HAVE}.get(plan.tense, ("had",) * 3)
    rest = forms.ing if plan.tense in (Tense.NOW, Tense.THEN) else forms.participle
    return [(helpers[number], helper, True)], _named(rest, idea)


def _hindi(verb: Verb, tense: Tense, shows: Shown) -> tuple[str, ...]:
    """The verb, and what follows it."""
    forms, form = verb.hindi, shows.form
    end = COPULA[shows.who] if tense in (Tense.HABIT, Tense.NOW, Tense.DONE) else WAS[form]
    match tense:
        case Tense.PAST:
            return (forms.perfective[form],)
        case Tense.LATER | Tense.PROVIDED:
            return (forms.future[shows.who][form >= F],)
        case Tense.HABIT | Tense.ONCE:
            return forms.habitual[form], end
        case Tense.NOW | Tense.THEN if not verb.rests:
            return forms.stem, RAHA[form], end
        case Tense.NOW | Tense.THEN if verb.object_nouns:  # wearing: पहने हुए
            return forms.perfective[MM], "हुए", end
    return forms.perfect[form], end


def _with_mode(draft: Draft, plan: Plan, idea: int, shows: Shown, asked: list[Word]) -> Group:
    """The verb under another that says what the doer can, wants or has to do, in the present."""
    other, forms, mode = draft.idea(idea), plan.verb.hindi, plan.mode
    number, who, form = shows
    base, to = _named(plan.verb.english.base, idea), ("to", idea, False)
    auxiliary: list[Word] = []
    joined: tuple[str, ...]
    helped = plan.negated or plan.inverted
    match mode:
        case Mode.CAN:
            auxiliary, english = [("can", other, True)], base
            said, joined = forms.stem, (SAKNA.habitual[form], COPULA[who])
        case Mode.SHOULD:
            auxiliary, english = [("should", other, True)], base
            said, joined = forms.infinitive[form], ("चाहिए",)
        case Mode.WANTS:
            auxiliary = [(DO[number], other, False)] if helped else []
            wants = "wants" if number == OTHER and not helped else "want"
            english = [(wants, other, True), to, *base]
            said, joined = forms.infinitive[M], (CHAHNA.habitual[form], COPULA[who])
        case Mode.HAS_TO:
            auxiliary = [(DO[number], other, False)] if helped else []
            english = [("have" if helped else HAVE[number], other, True), to, *base]
            said, joined = forms.infinitive[form], (COPULA[who],)
        case _:
            english = [("began", other, True), to, *base]
            said, joined = forms.infinitive[MM], (LAGNA.perfective[form],)
    hindi = [*_begun(plan.verb, idea, asked), (said, idea, True)]
    hindi += [(word, other, place == 0) for place, word in enumerate(joined)]
    if plan.negated:
        start = len(forms.before) + len(asked)
        _deny(draft, auxiliary, english, hindi, Place(start, mode, other))
    return Group(auxiliary, english, hindi)


class Place(NamedTuple):
    """Where a denial goes, and what it denies."""

    start: int
    mode: Mode
    idea: int


def _deny(
    draft: Draft, auxiliary: list[Word], english: list[Word], hindi: list[Word], place: Place
) -> None:
    """Put in not and नहीं: before the verb, but after what one does not want to do."""
    where = place.start + (place.mode == Mode.WANTS)
    if place.mode == Mode.CAN:
        auxiliary[0] = ("cannot", place.idea, True)
        hindi.insert(where, ("नहीं", place.idea, False))
        return
    no = draft.idea(place.idea)
    english.insert(0, ("not", no, True))
    hindi.insert(where, ("नहीं", no, True))


def _begun(verb: Verb, idea: int, asked: list[Word]) -> list[Word]:
    """What stands before the verb itself; a question word comes after a noun that is part of it."""
    before: list[Word] = [(word, idea, True) for word in verb.hindi.before]
    noun_within = verb.agrees and (verb.marker or not verb.object_nouns)
    return before + asked if noun_within else asked + before


def _named(words: tuple[str, ...], idea: int) -> list[Word]:
    return [(word, idea, True) for word in words]
